"""From a finished pydantic-ai response to the neutral one."""

import json
import uuid
from collections.abc import Iterable
from dataclasses import replace

from pydantic import JsonValue
from pydantic_ai.messages import ModelResponse, ModelResponsePart, ToolCallPart

from turnwright.domain import messages as neutral
from turnwright.domain.errors import ModelRefused, ModelUnavailable
from turnwright.providers.record import write_record
from turnwright.providers.storable import storable_object, storable_text


def to_neutral(
    provider: str, request: neutral.ModelRequest, response: ModelResponse, text: str
) -> neutral.ModelResponse:
    """The response whose streamed text was `text`.

    Raises `ModelUnavailable` for a stream that ended without a word on why: providers' libraries
    take those for complete. Raises `ModelRefused` for one that a content filter ended.
    """
    finish_reason = _finish_reason(response)
    response = replace(response, parts=_with_own_ids(response.parts, request.messages))
    calls = tuple(
        neutral.ToolCall(id=part.tool_call_id, name=part.tool_name, arguments=_arguments(part))
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )
    return neutral.ModelResponse(
        text=text,
        tool_calls=calls,
        finish_reason="tool_calls" if calls else finish_reason,
        usage=neutral.Usage(
            input_tokens=response.usage.input_tokens,
            output_tokens=response.usage.output_tokens,
            cost_usd=_cost(response),
        ),
        opaque=write_record(provider, response),
    )


def _finish_reason(response: ModelResponse) -> str:
    own_word = (response.provider_details or {}).get("finish_reason")
    match response.finish_reason:
        case "content_filter":
            raise ModelRefused("the model or its content filter declined", label="content filter")
        case "error":
            raise ModelUnavailable(
                f"the provider broke the response off: {own_word}", label="response failed"
            )
        case None if own_word is None or response.state == "incomplete":
            raise ModelUnavailable(
                "the stream ended without a finish reason", label="stream cut short"
            )
        case None:
            return str(own_word)
        case reason:
            return reason


def _with_own_ids(
    parts: Iterable[ModelResponsePart], conversation: Iterable[neutral.Message]
) -> list[ModelResponsePart]:
    """The parts, each call with an id that no other call of the conversation has.

    Some servers give none, or count from 0 in every response; results are told apart by them.
    """
    taken = {call.id for message in conversation for call in message.tool_calls}
    named: list[ModelResponsePart] = []
    for part in parts:
        if isinstance(part, ToolCallPart):
            if not part.tool_call_id or part.tool_call_id in taken:
                part = replace(part, tool_call_id=f"call_{uuid.uuid4().hex}")  # noqa: PLW2901
            taken.add(part.tool_call_id)
        named.append(part)
    return named


def _arguments(part: ToolCallPart) -> dict[str, JsonValue] | str:
    """The object that the arguments are; a text that is none stays as it came."""
    if not isinstance(part.args, str):
        return storable_object(part.args_as_dict())
    if not part.args.strip():
        return {}
    try:
        parsed = json.loads(part.args, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return storable_text(part.args)
    return storable_object(parsed) if isinstance(parsed, dict) else storable_text(part.args)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _cost(response: ModelResponse) -> float | None:
    """What the round cost, where the price of the model is known."""
    if not response.model_name:
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):
        return None
