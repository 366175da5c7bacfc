"""One load of turns and one of floor workflows, each measured the same way."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Self

from temporalio.client import Client

from benchmarks.floor import TASK_QUEUE, Floor
from benchmarks.http import caller

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Sample:
    """What a load took: each turn's latency, the wall-clock time, the process's CPU time."""

    latencies: list[float] = field(default_factory=list)
    seconds: float = 0
    cpu: float = 0

    def __iadd__(self, other: Self) -> Self:
        self.latencies += other.latencies
        self.seconds += other.seconds
        self.cpu += other.cpu
        return self

    @property
    def rate(self) -> float:
        """Turns per second."""
        return len(self.latencies) / self.seconds

    @property
    def p50(self) -> float:
        """Milliseconds."""
        return 1000 * median(self.latencies)

    @property
    def p99(self) -> float:
        """Milliseconds."""
        return 1000 * quantiles(self.latencies, n=100)[98]

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds a turn, of the process that was measured."""
        return 1000 * self.cpu / len(self.latencies)


def cpu_of(pid: int) -> float:
    """CPU seconds a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


Turn = Callable[[], Awaitable[None]]


async def load(turns: list[Turn], each: int, pid: int) -> Sample:
    """Each of `turns` in a loop of its own, `each` times; the CPU is that of `pid`."""
    sample = Sample()

    async def loop(turn: Turn) -> None:
        for _ in range(each):
            began = time.perf_counter()
            await turn()
            sample.latencies.append(time.perf_counter() - began)

    cpu, began = cpu_of(pid), time.perf_counter()
    await asyncio.gather(*(loop(turn) for turn in turns))
    sample.seconds = time.perf_counter() - began
    sample.cpu = cpu_of(pid) - cpu
    return sample


async def turns(url: str, concurrent: int, each: int, pid: int) -> Sample:
    """Turns of as many sessions over HTTP: from the POST to the frame `run.completed`."""
    async with AsyncExitStack() as stack:
        made = [await _turn(stack, url) for _ in range(concurrent)]
        return await load(made, each, pid)


async def _turn(stack: AsyncExitStack, url: str) -> Turn:
    client = await stack.enter_async_context(caller(url))
    session = await client.call("POST", "/v1/sessions", {"agent": "echo"})
    path = f"/v1/sessions/{session['id']}"
    reader = await stack.enter_async_context(caller(url))
    events = reader.events(f"{path}/stream")

    async def turn() -> None:
        await client.call("POST", f"{path}/messages", {"text": "Hello there."})
        async for event in events:
            if event == b"run.completed":
                return

    return turn


async def floors(client: Client, concurrent: int, each: int, pid: int) -> Sample:
    """Floor workflows, as many at once: from the start to the result."""

    def floor(lane: int) -> Turn:
        async def turn() -> None:
            await client.execute_workflow(Floor.run, id=f"floor/{lane}", task_queue=TASK_QUEUE)

        return turn

    return await load([floor(lane) for lane in range(concurrent)], each, pid)
