"""What surrounds every request: the body's limit, faults of ours, readers that stall, headers."""

import asyncio
from typing import Final

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import PayloadTooLarge, problem, refusal
from api.metrics import is_stream
from turnwright.faults import kind_of, place_of

log = structlog.get_logger()

STALL_SECONDS: Final = 30.0
"""How long a reader of a stream may take nothing at all before it is dropped."""


class StalledError(Exception):
    """The reader of a stream has stopped reading."""


class BodyLimit:
    """Refuses bodies over the limit, by what they say of their length and by counting."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdigit() and int(declared) > self._limit:
            await refusal(self._refused())(scope, receive, send)
            return
        received = 0

        async def counting() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                raise self._refused()
            return message

        await self._app(scope, counting, send)

    def _refused(self) -> PayloadTooLarge:
        return PayloadTooLarge(f"The body is over the limit of {self._limit} bytes.")


class Boundary:
    """Answers faults of ours without a word of the inside, and drops stalled readers."""

    def __init__(self, app: ASGIApp, stall_seconds: float = STALL_SECONDS) -> None:
        self._app = app
        self._stall_seconds = stall_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = streaming = False

        async def guarded(message: Message) -> None:
            nonlocal started, streaming
            if message["type"] == "http.response.start":
                started, streaming = True, is_stream(message)
                _add_headers(message)
            try:
                async with asyncio.timeout(self._stall_seconds if streaming else None):
                    await send(message)
            except TimeoutError:
                raise StalledError from None

        try:
            await self._app(scope, receive, guarded)
        except ClientDisconnect:
            log.debug("caller_left", route=_route(scope))
        except StalledError:
            log.info("stalled_reader_dropped", route=_route(scope))
        except Exception as error:  # noqa: BLE001  (the outermost there is)
            # The text of an exception may quote what people said; its place says enough.
            log.error(  # noqa: TRY400
                "internal_error", route=_route(scope), kind=kind_of(error), at=place_of(error)
            )
            if started:
                return  # the server cuts the connection: the answer is not complete
            answer = problem("INTERNAL", "Something went wrong on our side.")
            await answer(scope, receive, guarded)


def _add_headers(start: Message) -> None:
    headers = MutableHeaders(raw=start["headers"])
    headers["X-Content-Type-Options"] = "nosniff"
    headers.setdefault("Cache-Control", "no-store")
    start["headers"] = headers.raw


def _route(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", "none")
