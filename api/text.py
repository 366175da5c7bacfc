"""What callers may send as text, names and JSON: the same on every database.

SQLite and PostgreSQL disagree about NUL, lone surrogates and numbers that are none, so none of
them gets that far (DESIGN.md, decision 12).
"""

import json
import math
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, JsonValue
from pydantic_core import from_json

MAX_DEPTH: Final = 64
MAX_METADATA_BYTES: Final = 16 * 1024
MAX_NAME: Final = 200
MAX_NUMBER: Final = 2**53 - 1
"""The largest integer that every JSON reader reads as it was written."""


class UnreadableError(ValueError):
    """The body is not JSON that we take. The text says why, without a word of the body."""


def read_json(body: bytes) -> JsonValue:
    """The value in `body`. Raises `UnreadableError`.

    Refuses NUL and lone surrogates in any text, numbers that are not finite, and nesting deeper
    than 64.
    """
    try:
        value: JsonValue = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise UnreadableError(f"not readable as JSON: {error}") from None
    _check(value)
    return value


def _check(value: JsonValue) -> None:
    level: list[Any] = [value]
    depth = 0
    while level:
        deeper: list[Any] = []
        for item in level:
            match item:
                case dict():
                    deeper += item.keys()
                    deeper += item.values()
                case list():
                    deeper += item
                case str() if "\0" in item:
                    raise UnreadableError("text may not hold NUL")
                case float() if not math.isfinite(item):
                    raise UnreadableError("numbers have to be finite")
                case _:
                    pass
        depth += any(isinstance(item, dict | list) for item in level)
        if depth > MAX_DEPTH:
            raise UnreadableError(f"nested deeper than {MAX_DEPTH}")
        level = deeper


def _printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError("may hold printable characters only")
    return name


def _small(metadata: dict[str, JsonValue]) -> dict[str, JsonValue]:
    size = len(json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode())
    if size > MAX_METADATA_BYTES:
        raise ValueError(f"is {size} bytes as JSON; {MAX_METADATA_BYTES} are allowed")
    return metadata


Text = Annotated[str, Field(min_length=1)]
"""What people write. `read_json` has refused what no text may hold."""
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(_printable)]
"""A room, an agent, a model: 1 to 200 printable characters."""
Metadata = Annotated[dict[str, JsonValue], AfterValidator(_small)]
"""An object of the caller's own, of at most 16 KiB."""
AtLeastOne = Annotated[int, Field(ge=1, le=MAX_NUMBER)]
