"""Short ways to write the conversations that these tests send."""

import json
from collections.abc import Mapping

from pydantic import JsonValue

from turnwright.domain.messages import (
    Message,
    ModelRequest,
    ModelResponse,
    Opaque,
    Outcome,
    ToolCall,
    ToolDefinition,
)
from turnwright.providers import Providers

WIRE_MODELS = (
    "openai:gpt-5",
    "openai-chat:gpt-4o",
    "anthropic:claude-sonnet-5",
    "google:gemini-2.5-flash",
)
"""One model of every provider over the network."""

WEATHER = ToolDefinition(
    name="weather",
    description="Current weather in a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
)


def user(text: str, run_id: str = "run_1") -> Message:
    return Message(role="user", text=text, run_id=run_id, sequence=1)


def assistant(
    text: str = "", *calls: ToolCall, run_id: str = "run_1", opaque: Opaque | None = None
) -> Message:
    return Message(
        role="assistant", text=text, tool_calls=calls, run_id=run_id, sequence=2, opaque=opaque
    )


def call(name: str, call_id: str = "call_0_0", **arguments: JsonValue) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


def result(
    text: str, call_id: str = "call_0_0", outcome: Outcome = "ok", run_id: str = "run_1"
) -> Message:
    return Message(
        role="tool", text=text, tool_call_id=call_id, outcome=outcome, run_id=run_id, sequence=3
    )


def asking(
    model: str, *messages: Message, tools: tuple[ToolDefinition, ...] = (), attempt: int = 1
) -> ModelRequest:
    return ModelRequest(
        model=model, instructions="Be brief.", messages=messages, tools=tools, attempt=attempt
    )


def scripted(*rounds: Mapping[str, JsonValue]) -> str:
    """The trigger that makes `scripted:script` perform these rounds."""
    return json.dumps({"rounds": list(rounds)})


async def say(models: Providers, request: ModelRequest) -> tuple[ModelResponse, list[str]]:
    """The response, and the pieces its text came in."""
    pieces: list[str] = []
    return await models.respond(request, pieces.append), pieces


def ignore(_: str) -> None:
    """For tests that do not look at the stream."""
