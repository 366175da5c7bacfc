"""A deployment of real processes, each of which can be killed."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from turnwright.leash import leashed

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds for anything to happen; it takes one or two on an idle machine."""
TURNWRIGHT = (sys.executable, "-m", "turnwright.cli")
CRASHING = (sys.executable, "-m", "tests.chaos.crashing")


@dataclass
class Deployment:
    """The settings that its processes share, and where its tests leave things."""

    database_url: str
    temporal_address: str
    task_queue: str
    folder: Path
    processes: list[asyncio.subprocess.Process] = field(default_factory=list)

    @property
    def marker(self) -> Path:
        """Says that a crashing process has crashed."""
        return self.folder / "crashed"

    async def worker(self) -> asyncio.subprocess.Process:
        process, _ = await self._start(*TURNWRIGHT, "worker")
        return process

    async def crashing_worker(self, step: str) -> asyncio.subprocess.Process:
        process, _ = await self._start(*CRASHING, "worker", step, str(self.marker))
        return process

    async def api(self) -> tuple[asyncio.subprocess.Process, str]:
        return await self._start(*TURNWRIGHT, "api")

    async def crashing_api(self) -> tuple[asyncio.subprocess.Process, str]:
        return await self._start(*CRASHING, "api", str(self.marker))

    async def stop(self) -> None:
        for process in self.processes:
            if process.returncode is None:
                await kill(process)

    async def _start(self, *command: str) -> tuple[asyncio.subprocess.Process, str]:
        process = await asyncio.create_subprocess_exec(
            *leashed(command), stdout=asyncio.subprocess.PIPE, env=self._environment(), cwd=ROOT
        )
        self.processes.append(process)
        if process.stdout is None:
            raise RuntimeError("the process has no output to wait for")
        async with asyncio.timeout(PATIENCE):
            while line := (await process.stdout.readline()).decode():
                if line.startswith("ready: "):
                    return process, line.removeprefix("ready: ").strip()
        raise RuntimeError(f"{command} ended with {await process.wait()} before it was ready")

    def _environment(self) -> Mapping[str, str]:
        ours = {k: v for k, v in os.environ.items() if not k.startswith("TURNWRIGHT_")}
        return ours | {
            "TURNWRIGHT_DATABASE_URL": self.database_url,
            "TURNWRIGHT_TEMPORAL_ADDRESS": self.temporal_address,
            "TURNWRIGHT_TASK_QUEUE": self.task_queue,
            "TURNWRIGHT_AGENTS": "tests/chaos/agents.py",
            "TURNWRIGHT_API_PORT": "0",
            "TURNWRIGHT_LOG_LEVEL": "error",
        }


async def kill(process: asyncio.subprocess.Process) -> None:
    """SIGKILL, and wait for it."""
    if process.returncode is None:
        process.send_signal(signal.SIGKILL)
    await process.wait()


@asynccontextmanager
async def client_of(url: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of one API process."""
    async with httpx.AsyncClient(base_url=f"{url}/v1", timeout=PATIENCE) as client:
        yield client


async def until_run(
    client: httpx.AsyncClient, run_id: str, reached: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """The run, as soon as it is so; looked at after each of its events."""
    async with asyncio.timeout(PATIENCE), client.stream("GET", f"/runs/{run_id}/stream") as stream:
        async for line in stream.aiter_lines():
            if line.startswith("id: "):
                run = await read(client, f"/runs/{run_id}")
                if reached(run):
                    return run
    run = await read(client, f"/runs/{run_id}")
    assert reached(run), run
    return run


async def until_event(client: httpx.AsyncClient, run_id: str, event_type: str) -> None:
    """Return as soon as the run has an event of this type."""
    async with asyncio.timeout(PATIENCE), client.stream("GET", f"/runs/{run_id}/stream") as stream:
        async for line in stream.aiter_lines():
            if line == f"event: {event_type}":
                return
    raise AssertionError(f"run {run_id} ended without {event_type}")


async def read(client: httpx.AsyncClient, path: str) -> dict[str, Any]:
    """What a GET answers."""
    response = await client.get(path)
    response.raise_for_status()
    body: dict[str, Any] = response.json()
    return body
