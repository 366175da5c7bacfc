"""A gateway before a model server, of the kind that companies run: it sees, and may amend.

Bodies are passed on as they are, streams as they come. Two things the tests need it for: a
recorded answer in place of the server's, and a field that our requests do not have.
"""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
from pydantic import JsonValue
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tests.support.app import PATIENCE
from turnwright.live import Hub
from turnwright.service import listen, serving, url_of

Body = dict[str, JsonValue]
_PASSED = ("authorization", "x-api-key", "x-goog-api-key", "anthropic-version", "content-type")


@dataclass
class Gateway:
    """`url` takes the place of the server's; `bodies` are the requests so far, as they came."""

    url: str
    bodies: list[str] = field(default_factory=list)


@asynccontextmanager
async def gateway(
    server: str,
    *,
    recorded: Sequence[bytes] = (),
    amend: Callable[[Body], Body] = lambda body: body,
) -> AsyncIterator[Gateway]:
    """Answers the first requests with what is `recorded`; the others are the server's, amended."""
    answers = list(recorded)

    async def respond(request: Request) -> Response:
        body = await request.body()
        door.bodies.append(body.decode())
        if answers:
            return Response(answers.pop(0), media_type="text/event-stream")
        passed = behind.build_request(
            request.method,
            httpx.URL(request.url.path, query=request.url.query.encode()),
            headers={name: request.headers[name] for name in _PASSED if name in request.headers},
            content=json.dumps(amend(json.loads(body))),
        )
        answer = await behind.send(passed, stream=True)
        return StreamingResponse(
            _whole(answer), answer.status_code, media_type=answer.headers.get("content-type")
        )

    app = Starlette(routes=[Route("/{path:path}", respond, methods=["POST"])])
    with listen("127.0.0.1", 0) as listening:
        door = Gateway(url_of(listening))
        async with (
            httpx.AsyncClient(base_url=server, timeout=PATIENCE) as behind,
            serving(app, listening, Hub()),
        ):
            yield door


async def _whole(answer: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_bytes():
            yield chunk
    finally:
        await answer.aclose()
