"""The HTTP client under every provider's library, and the promise that its streams are closed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

import httpx2
from pydantic_ai.models import create_async_httpx2_client

_LIMITS = httpx2.Limits(
    max_connections=1000,
    max_keepalive_connections=100,
    # Servers such as llama.cpp's close an idle connection after 5 s; reusing it at that very
    # moment fails, so ours are dropped before.
    keepalive_expiry=4,
)

_opened: ContextVar[list[httpx2.Response] | None] = ContextVar("opened responses", default=None)


def http_client() -> httpx2.AsyncClient:
    """A connection pool of its own, with the model library's timeouts."""
    client = create_async_httpx2_client(limits=_LIMITS)
    client.event_hooks = {**client.event_hooks, "response": [_remember]}
    return client


@asynccontextmanager
async def closing_responses() -> AsyncIterator[None]:
    """Whatever was opened inside is closed at the end, however the inside ends.

    google-genai leaves a response to the garbage collector when it is left between two chunks:
    the provider would go on producing, and be paid for, what nobody reads.
    """
    opened: list[httpx2.Response] = []
    token = _opened.set(opened)
    try:
        yield
    finally:
        _opened.reset(token)
        for response in opened:
            await response.aclose()


async def _remember(response: httpx2.Response) -> None:
    if (opened := _opened.get()) is not None:
        opened.append(response)
