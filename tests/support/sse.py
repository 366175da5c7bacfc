"""Reading server-sent events from a response, as a browser does."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True)
class SseFrame:
    """One event of a stream. `id` is None where the frame has none."""

    event: str
    data: Any
    id: int | None = None


async def read_frames(response: httpx.Response) -> AsyncIterator[SseFrame]:
    """The frames of a stream, until it ends. Comments are left out."""
    event, data, identifier = "message", "", None
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        match name:
            case "event":
                event = value
            case "data":
                data += value
            case "id":
                identifier = int(value)
            case "" if data and not value:
                yield SseFrame(event, json.loads(data), identifier)
                event, data, identifier = "message", "", None
            case _:
                pass
