"""API keys: stored hashed, so that the database gives none away."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import insert, select, update

from turnwright.domain.errors import Invalid, NotFound
from turnwright.domain.ids import new_id
from turnwright.keys import Caller, Scope, digest, new_key
from turnwright.store.engine import Tx
from turnwright.store.tables import api_keys


@dataclass(frozen=True, kw_only=True)
class ApiKey:
    """What is known of a key; the key itself is known to its holder alone."""

    id: str
    tenant: str
    name: str | None
    scopes: tuple[Scope, ...]
    revoked: bool
    created_at: datetime


def create_key(tx: Tx, *, tenant: str, scopes: Iterable[str], name: str | None = None) -> str:
    """A new key, told this once. Raises `Invalid` for a scope that there is not, or none."""
    chosen = _scopes(scopes)
    if not tenant:
        raise Invalid("A key belongs to a tenant: name it.")
    key = new_key()
    tx.connection.execute(
        insert(api_keys).values(
            id=new_id("key"),
            tenant=tenant,
            name=name,
            scopes=list(chosen),
            digest=digest(key),
            revoked=False,
            created_at=tx.now,
        )
    )
    return key


def list_keys(tx: Tx) -> list[ApiKey]:
    """Every key, revoked ones included, oldest first."""
    rows = tx.connection.execute(select(api_keys).order_by(api_keys.c.id))
    return [
        ApiKey(
            id=row.id,
            tenant=row.tenant,
            name=row.name,
            scopes=tuple(Scope(scope) for scope in row.scopes),
            revoked=row.revoked,
            created_at=row.created_at,
        )
        for row in rows
    ]


def revoke_key(tx: Tx, key_id: str) -> None:
    """Make the key worthless from now on. Raises `NotFound`."""
    revoked = tx.connection.execute(
        update(api_keys).where(api_keys.c.id == key_id).values(revoked=True)
    )
    if revoked.rowcount == 0:
        raise NotFound(f"There is no key {key_id}.")


def find_caller(tx: Tx, key: str) -> Caller | None:
    """Whom a key lets in; None for a key that is unknown or revoked."""
    row = tx.connection.execute(
        select(api_keys).where(api_keys.c.digest == digest(key), api_keys.c.revoked.is_(False))
    ).one_or_none()
    if row is None:
        return None
    scopes = frozenset(Scope(scope) for scope in row.scopes)
    return Caller(tenant=row.tenant, name=row.name, scopes=scopes, key_id=row.id)


def _scopes(names: Iterable[str]) -> tuple[Scope, ...]:
    wanted = {name.strip() for name in names} - {""}
    unknown = wanted - set(Scope)
    if unknown or not wanted:
        known = ", ".join(Scope)
        raise Invalid(f"Scopes are {known}; not {', '.join(sorted(unknown)) or 'none'}.")
    return tuple(scope for scope in Scope if scope in wanted)
