"""Running a service in the foreground: until a signal, and then stopping it cleanly."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from ipaddress import ip_address

import uvicorn
import uvloop
from starlette.types import ASGIApp

from turnwright.live import Hub

IDLE_SECONDS = 75
"""Longer than load balancers keep an idle connection (60, by habit): the side that sends the
requests has to be the one that closes, or some are lost."""
IPV4 = 4
DRAIN_SECONDS = 5
"""How long requests that are under way may take when the API stops."""

STALL_SECONDS = 45
"""How long a client may take nothing of what it is sent before its connection is cut."""


class ServiceError(Exception):
    """The service cannot start. The message says why, in one line."""


def run_service(service: AbstractAsyncContextManager[object]) -> None:
    """Enter the service, and leave it on SIGINT or SIGTERM. A second signal cuts it short."""
    uvloop.run(_until_signal(service))


async def _until_signal(service: AbstractAsyncContextManager[object]) -> None:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a service runs in a task")
    asked = asyncio.Event()

    def ask() -> None:
        asked.set()
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ask)
    try:
        async with service:
            await asyncio.Event().wait()
    except asyncio.CancelledError:
        if not asked.is_set():
            raise


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; a port 0 picks a free one. Raises `ServiceError`."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        # The library adds the address once more, in brackets.
        why = (error.strerror or str(error)).partition(" (")[0]
        raise ServiceError(f"{host}:{port} cannot be listened on: {why}") from error
    # Connections inherit both. asyncio sets the first only on sockets that name their protocol,
    # and without it every answer waits 40 ms for the client's delayed acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Closing a connection whose reader takes nothing waits for that reader; this ends it.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALL_SECONDS * 1000)
    return listening


def url_of(listening: socket.socket) -> str:
    """Where clients on this machine find the socket."""
    host, port = listening.getsockname()[:2]
    address = ip_address(host)
    if address.is_unspecified:
        address = ip_address("127.0.0.1" if address.version == IPV4 else "::1")
    return f"http://{address if address.version == IPV4 else f'[{address}]'}:{port}"


class _Server(uvicorn.Server):
    """uvicorn without signal handlers: `run_service` has them."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(app: ASGIApp, listening: socket.socket, hub: Hub) -> AsyncIterator[None]:
    """The app answers on the socket until the context is left.

    Its streams are ended first: an open one would hold the server up.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        timeout_keep_alive=IDLE_SECONDS,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        while not server.started and not task.done():  # noqa: ASYNC110  (it has no event)
            await asyncio.sleep(0.01)
        if task.done():
            task.result()
            raise ServiceError("the API stopped while it was starting; the log says why")
        yield
    finally:
        hub.stop()
        server.should_exit = True
        await task
