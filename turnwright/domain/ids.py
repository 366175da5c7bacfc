"""Identifiers: TypeIDs, a prefix that says what it names and a UUIDv7 that sorts by time."""

import re
from typing import Literal

from typeid import TypeID

Prefix = Literal["ses", "run", "msg", "qst", "apr", "evt", "key"]

_SUFFIX = "[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}"


def new_id(prefix: Prefix) -> str:
    """A new identifier, unique, later ones sorting after earlier ones."""
    return str(TypeID(prefix=prefix))


def id_pattern(prefix: Prefix) -> str:
    """The regular expression that identifiers of this kind match whole."""
    return f"^{prefix}_{_SUFFIX}$"


def is_id(prefix: Prefix, text: str) -> bool:
    """Whether `text` has the form of an identifier of this kind."""
    return re.fullmatch(f"{prefix}_{_SUFFIX}", text) is not None


def workflow_id(session_id: str) -> str:
    """The Temporal workflow id that guards a session's single active root run."""
    return f"session/{session_id}"
