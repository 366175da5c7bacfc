"""What a model says, made fit to be stored: PostgreSQL takes neither NUL nor lone surrogates."""

from pydantic import JsonValue

_REPLACEMENT = "\ufffd"


def storable_text(text: str) -> str:
    """`text` with what no store takes replaced, one character for one."""
    if "\0" in text:
        text = text.replace("\0", _REPLACEMENT)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = "".join(_REPLACEMENT if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def storable(value: JsonValue) -> JsonValue:
    """`storable_text` for every string inside `value`, keys included."""
    match value:
        case str():
            return storable_text(value)
        case list():
            return [storable(item) for item in value]
        case dict():
            return storable_object(value)
        case _:
            return value


def storable_object(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """`storable` for an object."""
    return {storable_text(key): storable(item) for key, item in value.items()}
