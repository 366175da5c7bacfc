"""A server that answers every request with the same recorded stream, and keeps what it was sent.

For what no mock program emits (reasoning in each provider's own format), and to look at the wire.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from pydantic import JsonValue


@dataclass
class CannedServer:
    """`base_url` of a running server, the request bodies so far, and whether a client hung up."""

    base_url: str
    bodies: list[str] = field(default_factory=list)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)


def server_sent(events: Sequence[Mapping[str, JsonValue]]) -> bytes:
    """A stream of events; one with a `type` is also sent under it, as most providers do."""
    frames = []
    for event in events:
        name = f"event: {event['type']}\n" if isinstance(event.get("type"), str) else ""
        frames.append(f"{name}data: {json.dumps(event)}\n\n")
    return "".join(frames).encode()


@asynccontextmanager
async def canned_server(answer: bytes, *, then_hang: bool = False) -> AsyncIterator[CannedServer]:
    """Answers 200 with `answer` as an event stream; with `then_hang` it never ends it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        canned.bodies.append((await reader.readexactly(length)).decode())
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
            + answer
        )
        await writer.drain()
        if then_hang:
            await reader.read()
            canned.hung_up.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        canned = CannedServer(f"http://127.0.0.1:{port}")
        yield canned
