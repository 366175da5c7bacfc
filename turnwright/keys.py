"""Who calls the API: a tenant, a name, and what the key allows (CONTRACT.md, last section)."""

import hashlib
import secrets
from dataclasses import dataclass
from enum import StrEnum

PREFIX = "tw_"
"""Makes a key recognisable to people and to programs that look for leaked ones."""
RANDOM_BYTES = 32


class Scope(StrEnum):
    """What a key may be used for. None includes another."""

    READ = "read"
    WRITE = "write"
    OPERATE = "operate"


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Whoever sends a request. `key_id` is None where no keys are asked for."""

    tenant: str
    name: str | None
    scopes: frozenset[Scope]
    key_id: str | None


ANYBODY = Caller(tenant="default", name=None, scopes=frozenset(Scope), key_id=None)
"""The caller where the setting `auth` is `none`."""


def new_key() -> str:
    """A new key: 256 random bits."""
    return PREFIX + secrets.token_urlsafe(RANDOM_BYTES)


def digest(key: str) -> str:
    """What is stored of a key."""
    # A slow hash protects what people choose and others can guess. Nobody guesses 256 random
    # bits, so one SHA-256 is as safe, and cheap enough for every request.
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
