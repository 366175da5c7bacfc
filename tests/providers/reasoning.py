"""What each provider streams when its model has reasoned, said something and called a tool.

Each answer holds a secret that only its own provider may ever be sent back.
"""

from dataclasses import dataclass

from pydantic import JsonValue

from tests.support.canned_server import server_sent


@dataclass(frozen=True)
class Reasoned:
    """A recorded answer of `model`, with what must come back in it and may go nowhere else."""

    model: str
    secret: str
    thought: str
    stream: bytes

    @property
    def provider(self) -> str:
        return self.model.partition(":")[0]


TEXT = "I will look."
CITY: dict[str, JsonValue] = {"city": "Paris"}

_MESSAGE: dict[str, JsonValue] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [],
}

_ANTHROPIC: list[dict[str, JsonValue]] = [
    {
        "type": "message_start",
        "message": {
            **_MESSAGE,
            "model": "claude-sonnet-5",
            "stop_reason": None,
            "usage": {"input_tokens": 10, "output_tokens": 1},
        },
    },
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "anthropic thought"},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": "anthropic-signature"},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": TEXT}},
    {"type": "content_block_stop", "index": 1},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": '{"city": "Paris"}'},
    },
    {"type": "content_block_stop", "index": 2},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 20},
    },
    {"type": "message_stop"},
]

_OPENAI_REASONING: dict[str, JsonValue] = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "openai thought"}],
    "encrypted_content": "openai-encrypted",
}
_OPENAI_TEXT: dict[str, JsonValue] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": TEXT, "annotations": []}],
}
_OPENAI_CALL: dict[str, JsonValue] = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "call_1",
    "name": "weather",
    "arguments": '{"city": "Paris"}',
    "status": "completed",
}


def _openai_response(status: str, output: list[JsonValue]) -> dict[str, JsonValue]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5",
        "status": status,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 10,
            "output_tokens": 20,
            "total_tokens": 30,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 9},
        },
    }


def _numbered(events: list[dict[str, JsonValue]]) -> list[dict[str, JsonValue]]:
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


_OPENAI: list[dict[str, JsonValue]] = _numbered(
    [
        {"type": "response.created", "response": _openai_response("in_progress", [])},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**_OPENAI_REASONING, "summary": [], "encrypted_content": None},
        },
        {
            "type": "response.reasoning_summary_text.delta",
            "item_id": "rs_1",
            "output_index": 0,
            "summary_index": 0,
            "delta": "openai thought",
        },
        {"type": "response.output_item.done", "output_index": 0, "item": _OPENAI_REASONING},
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {**_OPENAI_TEXT, "content": [], "status": "in_progress"},
        },
        {
            "type": "response.output_text.delta",
            "item_id": "msg_1",
            "output_index": 1,
            "content_index": 0,
            "delta": TEXT,
            "logprobs": [],
        },
        {"type": "response.output_item.done", "output_index": 1, "item": _OPENAI_TEXT},
        {
            "type": "response.output_item.added",
            "output_index": 2,
            "item": {**_OPENAI_CALL, "arguments": "", "status": "in_progress"},
        },
        {
            "type": "response.function_call_arguments.delta",
            "item_id": "fc_1",
            "output_index": 2,
            "delta": '{"city": "Paris"}',
        },
        {"type": "response.output_item.done", "output_index": 2, "item": _OPENAI_CALL},
        {
            "type": "response.completed",
            "response": _openai_response(
                "completed", [_OPENAI_REASONING, _OPENAI_TEXT, _OPENAI_CALL]
            ),
        },
    ]
)


def _chunk(delta: dict[str, JsonValue], finish_reason: str | None = None) -> dict[str, JsonValue]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "deep-thinker",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }


_OPENAI_CHAT: list[dict[str, JsonValue]] = [
    _chunk({"role": "assistant", "reasoning_content": "chat-reasoning"}),
    _chunk({"content": TEXT}),
    _chunk(
        {
            "tool_calls": [
                {
                    "index": 0,
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city": "Paris"}'},
                }
            ]
        }
    ),
    _chunk({}, "tool_calls"),
]

_GOOGLE: list[dict[str, JsonValue]] = [
    {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "google thought", "thought": True},
                        {"text": TEXT},
                        {
                            "functionCall": {"name": "weather", "args": CITY},
                            "thoughtSignature": "Z29vZ2xlLXNpZ25hdHVyZQ==",
                        },
                    ],
                },
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 10,
            "candidatesTokenCount": 20,
            "totalTokenCount": 30,
        },
        "modelVersion": "gemini-2.5-flash",
        "responseId": "resp_1",
    }
]

REASONED = (
    Reasoned("openai:gpt-5", "openai-encrypted", "openai thought", server_sent(_OPENAI)),
    Reasoned(
        "openai-chat:deep-thinker", "chat-reasoning", "chat-reasoning", server_sent(_OPENAI_CHAT)
    ),
    Reasoned(
        "anthropic:claude-sonnet-5",
        "anthropic-signature",
        "anthropic thought",
        server_sent(_ANTHROPIC),
    ),
    Reasoned(
        "google:gemini-2.5-flash",
        "Z29vZ2xlLXNpZ25hdHVyZQ==",
        "google thought",
        server_sent(_GOOGLE),
    ),
)
