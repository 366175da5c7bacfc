"""Temporal servers for tests."""

import os
import secrets
import socket
import stat
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import join

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import TimeSkipper, WorkflowEnvironment

from turnwright.embedded import DevServer, temporal_dev_server
from turnwright.leash import leashed


@dataclass(frozen=True)
class TemporalServer:
    """A development server and a client of it."""

    server: DevServer
    client: Client

    @property
    def address(self) -> str:
        """As `TURNWRIGHT_TEMPORAL_ADDRESS` takes it."""
        return self.server.address

    def time_skipper(self) -> TimeSkipper:
        """A client whose workflows each have a clock of their own that skips ahead.

        On the full server, visibility included; about a second per skip.
        """
        return TimeSkipper(self.client)


def lasting_port() -> int:
    """A free port that stays free while its server is away.

    Below the range that the kernel hands out: no connection and no other test takes it meanwhile.
    """
    while True:
        port = 12_000 + secrets.randbelow(16_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


SKIPPING = {"frontend.WorkflowTimeSkippingEnabled": "true"}
NO_COMMANDS = {
    "frontend.WorkerCommandsEnabled": "false",
    "system.enableCancelActivityWorkerCommand": "false",
}
"""As most clusters are: a cancel reaches an activity with the answer to its heartbeat."""


@asynccontextmanager
async def dev_server(config: Mapping[str, str] = SKIPPING) -> AsyncIterator[TemporalServer]:
    """A development server in memory, with time skipping allowed."""
    async with temporal_dev_server(dynamic_config=config) as server:
        client = await Client.connect(server.address, data_converter=pydantic_data_converter)
        yield TemporalServer(server, client)


@asynccontextmanager
async def time_skipping_environment(folder: Path) -> AsyncIterator[WorkflowEnvironment]:
    """The SDK's time-skipping test server: weeks in milliseconds, but no visibility.

    `folder` takes the script that puts the server on a leash: the SDK starts it itself, from a
    thread that may end, so a helper process watches over it.
    """
    program = Path(sys.executable).parent / "temporal-test-server"
    script = folder / f"temporal-test-server-{os.getpid()}"
    script.write_text(f'#!/bin/sh\nexec {join(leashed([str(program)], watch=True))} "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    async with await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=str(script), data_converter=pydantic_data_converter
    ) as environment:
        yield environment
