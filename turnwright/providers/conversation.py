"""From the neutral conversation to pydantic-ai's messages.

What another provider (or another version of the library) has written is left out here, so it
cannot reach the wire: a message either is the very record its own provider wrote, or is built
from neutral text and calls alone, with no ids, signatures or provider details (guarantee 5).
"""

from collections.abc import Mapping
from typing import Literal, assert_never

from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from turnwright.domain import messages as neutral
from turnwright.providers.record import read_record


def to_wire(provider: str, request: neutral.ModelRequest) -> list[ModelMessage]:
    """The conversation for `provider`, in a shape that providers accept.

    The library's repair joins neighbours of one role, as providers want them. (It would also give
    a call without a result one that says so; conversations that keep guarantee 6 have none.)
    """
    names = {call.id: call.name for message in request.messages for call in message.tool_calls}
    return repair_messages([_message(provider, message, names) for message in request.messages])


def parameters(request: neutral.ModelRequest) -> ModelRequestParameters:
    """What a request says beside its conversation: the instructions and the tools."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=tool.parameters,
            )
            for tool in request.tools
        ],
        instruction_parts=[InstructionPart(content=request.instructions)]
        if request.instructions
        else [],
    )


def _message(provider: str, message: neutral.Message, names: Mapping[str, str]) -> ModelMessage:
    match message.role:
        case "user":
            return ModelRequest(parts=[UserPromptPart(content=message.text)])
        case "tool":
            return ModelRequest(parts=[_result(message, names)])
        case "assistant":
            return read_record(provider, message.opaque) or _answer(message)
        case role:
            assert_never(role)


def _result(message: neutral.Message, names: Mapping[str, str]) -> ToolReturnPart:
    call_id = message.tool_call_id or ""
    return ToolReturnPart(
        tool_name=names.get(call_id, message.name or ""),
        content=message.text,
        tool_call_id=call_id,
        outcome=_outcome(message.outcome),
    )


def _outcome(
    outcome: neutral.Outcome | None,
) -> Literal["success", "failed", "denied", "interrupted"]:
    """A failure is marked on the wire where a provider can; the others say it in their text."""
    match outcome:
        case "ok" | None:
            return "success"
        case "error":
            return "failed"
        case "denied":
            return "denied"
        case "cancelled" | "unknown":
            return "interrupted"
        case _:
            assert_never(outcome)


def _answer(message: neutral.Message) -> ModelResponse:
    text = [TextPart(content=message.text)] if message.text else []
    calls = [
        ToolCallPart(tool_name=call.name, args=call.arguments, tool_call_id=call.id)
        for call in message.tool_calls
    ]
    return ModelResponse(parts=[*text, *calls])
