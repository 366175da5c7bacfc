"""Cursors of lists: opaque to callers, checked when they come back."""

import base64
import binascii
import re
from collections.abc import Callable
from typing import TypeVar

from api.errors import invalid
from api.schemas import Page
from turnwright.domain.ids import Prefix, is_id

T = TypeVar("T")


def encode(value: str) -> str:
    """The cursor that goes on after `value`."""
    return base64.urlsafe_b64encode(value.encode()).rstrip(b"=").decode()


def decode(cursor: str | None) -> str | None:
    """The value that a cursor goes on after. Raises `Invalid`."""
    if cursor is None:
        return None
    value = decoded(cursor)
    if not value:
        raise invalid([{"loc": ["query", "cursor"], "msg": "is not a cursor of this list"}])
    return value


def decoded(cursor: str) -> str:
    """The value that was encoded; empty if none was."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        value = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, UnicodeError):
        return ""
    return value if encode(value) == cursor else ""


def decode_id(prefix: Prefix, cursor: str | None) -> str | None:
    """The identifier that a cursor goes on after. Raises `Invalid`."""
    value = decode(cursor)
    if value is not None and not is_id(prefix, value):
        raise invalid([{"loc": ["query", "cursor"], "msg": "is not a cursor of this list"}])
    return value


def decode_rank(cursor: str | None) -> int | None:
    """The rank that a cursor of a queue goes on after. Raises `Invalid`."""
    value = decode(cursor)
    if value is not None and not re.fullmatch(r"0|-?[1-9]\d{0,8}", value):
        raise invalid([{"loc": ["query", "cursor"], "msg": "is not a cursor of this list"}])
    return None if value is None else int(value)


def page(found: list[T], limit: int, *, last: Callable[[T], str]) -> Page[T]:
    """A page of at most `limit`, of one more that were looked for."""
    data = found[:limit]
    more = len(found) > limit
    return Page(data=data, next_cursor=encode(last(data[-1])) if more else None)
