"""A reader of a stream that stops reading is dropped, and what its stream held is let go."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, FastAPI
from fastapi.sse import EventSourceResponse, ServerSentEvent

from api.middleware import Boundary
from turnwright.live import Hub
from turnwright.service import listen, serving

PATIENCE = 30.0


async def test_a_reader_that_takes_nothing_is_dropped_and_what_it_held_is_let_go() -> None:
    released = asyncio.Event()
    app = FastAPI()

    async def held() -> AsyncIterator[str]:
        try:
            yield "x" * 65_536
        finally:
            released.set()

    @app.get("/", response_class=EventSourceResponse)
    async def endless(text: Annotated[str, Depends(held)]) -> AsyncIterator[ServerSentEvent]:
        while True:
            yield ServerSentEvent(raw_data=text)

    with listen("127.0.0.1", 0) as listening:
        async with (
            serving(Boundary(app, stall_seconds=0.1), listening, Hub()),
            asyncio.timeout(PATIENCE),
        ):
            reader, writer = await asyncio.open_connection(*listening.getsockname(), limit=1024)
            writer.write(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            await released.wait()
            # What was on its way still comes, and then the connection is over.
            while await reader.read(65_536):
                pass
            writer.close()
            await writer.wait_closed()
