"""The neutral conversation: what any provider can be sent, in nobody's wire format.

Events store conversations in this schema, so that a run can start on one provider and the next
on another (CONTRACT.md, guarantee 5). What only one provider understands is an `Opaque`, and
lives beside it, inside one run.
"""

from typing import Any, Literal

from pydantic import JsonValue

from turnwright.domain.base import Frozen

Outcome = Literal["ok", "error", "denied", "cancelled", "unknown"]


class ToolCall(Frozen):
    """What a model asked for.

    `arguments` is the object the model gave; a text that is not a JSON object is kept as the
    string it was, so that the model can be shown its own mistake.
    """

    id: str
    name: str
    arguments: dict[str, JsonValue] | str


class Usage(Frozen):
    """Tokens of one model round, or of many added up."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class Opaque(Frozen):
    """A provider's own record of one response: encrypted reasoning, signatures, its ids.

    Given back to the same `provider` inside the same run, and to nobody else. `writer` names the
    library version that wrote `data`; a reader that does not know it falls back on the neutral
    message.
    """

    provider: str
    writer: str
    data: dict[str, Any]


class Message(Frozen):
    """One entry of a conversation.

    `user` and `assistant` carry text; an assistant entry may carry calls; a `tool` entry is the
    one result of the call it names. Every call in a conversation has exactly one result before
    the next user or assistant entry (guarantee 6).
    """

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    outcome: Outcome | None = None
    run_id: str
    sequence: int
    round: int | None = None
    """The model round that said this (assistant entries)."""
    opaque: Opaque | None = None


class ToolDefinition(Frozen):
    """A tool as a model is shown it. `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


class ModelRequest(Frozen):
    """One model round, complete: nothing else decides what is sent."""

    model: str
    """`provider:name`."""
    instructions: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    attempt: int = 1
    """Which attempt at this round this is, from 1."""


class ModelResponse(Frozen):
    """What came back of one complete round."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str
    """`stop`, `tool_calls` (whenever there are calls), `length`, or the provider's own word."""
    usage: Usage
    opaque: Opaque | None = None
