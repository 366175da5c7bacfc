"""Reading server-sent events from a response, as a browser does."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True)
class SseFrame:
    """One event of a stream. `id` is None where the frame has none, or one that is no number."""

    event: str
    data: Any
    id: int | None = None
    sent_id: str | None = None
    """The id as it was sent."""


async def read_frames(response: httpx.Response) -> AsyncIterator[SseFrame]:
    """The frames of a stream, until it ends. Comments are left out."""
    event, data, sent = "message", "", None
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        match name:
            case "event":
                event = value
            case "data":
                data += value
            case "id":
                sent = value
            case "" if data and not value:
                number = int(sent) if sent is not None and sent.isdigit() else None
                yield SseFrame(event, json.loads(data), number, sent)
                event, data, sent = "message", "", None
            case _:
                pass
