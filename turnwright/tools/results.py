"""What a model reads of a tool's return value."""

import re
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json, to_jsonable_python

from turnwright.tools.errors import Unrenderable

LIMIT: Final = 64 * 1024
"""Bytes of one result that a model is shown. The whole is kept in the store."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def render(value: object) -> str:
    """`value` as text: a string as it is, all else as compact JSON (None is `null`).

    Pydantic models, dataclasses, dates and the like are taken as pydantic serialises them. NUL and
    lone surrogates, which no store takes, become U+FFFD. Raises `Unrenderable`.
    """
    return clean(value if isinstance(value, str) else _as_json(value))


def clean(text: str) -> str:
    """`text` with U+FFFD for NUL and lone surrogates."""
    return _UNSTORABLE.sub("\ufffd", text)


def shorten(text: str, limit: int = LIMIT) -> tuple[str, bool, int]:
    """`text` within `limit` bytes of UTF-8, whether it was cut, and the bytes it had.

    Beginning and end stay, no character is cut in two, and a note says how much is left out.
    """
    data = text.encode()
    if len(data) <= limit:
        return text, False, len(data)
    # The note counts itself in, with as many digits as the whole size has.
    room = max(0, limit - len(_note(len(data), len(data)).encode()))
    head = data[: room - room // 4].decode(errors="ignore")
    tail = data[len(data) - room // 4 :].decode(errors="ignore")
    left_out = len(data) - len(head.encode()) - len(tail.encode())
    return head + _note(left_out, len(data)) + tail, True, len(data)


def _note(left_out: int, size: int) -> str:
    return f"\n\n[… {left_out} of {size} bytes left out here …]\n\n"


def _as_json(value: object) -> str:
    try:
        return to_json(value, inf_nan_mode="strings").decode()
    except ValueError as error:
        # It may be for lone surrogates alone, which pydantic cannot write.
        try:
            return to_json(_cleaned(to_jsonable_python(value)), inf_nan_mode="strings").decode()
        except (ValueError, RecursionError):
            raise Unrenderable(
                f"it returned {type(value).__name__!r}, which cannot be shown: {error}"
            ) from error


def _cleaned(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(item) for item in value]
        case dict():
            return {clean(key): _cleaned(item) for key, item in value.items()}
        case _:
            return value
