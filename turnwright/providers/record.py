"""A provider's own record of a response, as it is kept beside the log for the rest of the run."""

from importlib.metadata import version

from pydantic import ValidationError
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart

from turnwright.domain.messages import Opaque
from turnwright.providers.storable import storable_object

WRITER = f"pydantic-ai {version('pydantic-ai-slim')}"
"""The library's schema changes between versions: only the very version reads its records."""


def write_record(provider: str, response: ModelResponse) -> Opaque | None:
    """The record of `response`, or None when the neutral message says it all."""
    if all(_is_neutral(part) for part in response.parts):
        return None
    [data] = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    return Opaque(provider=provider, writer=WRITER, data=storable_object(data))


def read_record(provider: str, opaque: Opaque | None) -> ModelResponse | None:
    """The response that `opaque` records, if it is `provider`'s and this version wrote it."""
    if opaque is None or (opaque.provider, opaque.writer) != (provider, WRITER):
        return None
    try:
        [response] = ModelMessagesTypeAdapter.validate_python([opaque.data])
    except ValidationError:
        return None
    return response if isinstance(response, ModelResponse) else None


def _is_neutral(part: object) -> bool:
    """Ids alone are not worth a record: providers need them only beside reasoning."""
    return isinstance(part, TextPart | ToolCallPart) and not part.provider_details
