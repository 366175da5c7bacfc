"""`make bench`: turns over HTTP beside a bare Temporal workflow, in one run, interleaved.

python -m benchmarks [--database sqlite|postgresql|both] [--passes N]
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from temporalio.client import Client

from benchmarks.http import caller
from benchmarks.measure import Sample, floors, turns
from tests.support.postgres import postgres_server
from turnwright.embedded import temporal_dev_server
from turnwright.leash import leashed

LOADS = {1: 40, 16: 8, 64: 3}
"""Turns each session takes per pass, by how many sessions run at once."""
WARM_UP = 10
ROUNDS = (5, 50)


@asynccontextmanager
async def process(*command: str, environment: dict[str, str]) -> AsyncIterator[tuple[int, str]]:
    """A process's id, and what it said after `ready: `."""
    child = await asyncio.create_subprocess_exec(
        *leashed([sys.executable, *command]),
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | environment,
    )
    try:
        while line := (await _output(child).readline()).decode():
            if line.startswith("ready: "):
                yield child.pid, line.removeprefix("ready: ").strip()
                return
        raise RuntimeError(f"{command} did not get ready")
    finally:
        child.terminate()
        await child.wait()


def _output(child: asyncio.subprocess.Process) -> asyncio.StreamReader:
    if child.stdout is None:
        raise RuntimeError("the process has no output")
    return child.stdout


async def compare(url: str, pid: int, client: Client, floor_pid: int, passes: int) -> None:
    """Print the table."""
    await turns(url, 1, WARM_UP, pid)
    await floors(client, 1, WARM_UP, floor_pid)
    print(f"{'sessions':>8} {'':>9} {'turns/s':>8} {'p50 ms':>8} {'p99 ms':>8} {'CPU ms/turn':>12}")
    for concurrent, each in LOADS.items():
        ours, floor = Sample(), Sample()
        for _ in range(passes):
            floor += await floors(client, concurrent, each, floor_pid)
            ours += await turns(url, concurrent, each, pid)
        for name, sample in (("floor", floor), ("turnwright", ours)):
            print(
                f"{concurrent:>8} {name:>10} {sample.rate:>7.1f} {sample.p50:>8.1f} "
                f"{sample.p99:>8.1f} {sample.cpu_ms:>12.1f}"
            )
        print(
            f"{concurrent:>8} {'ratio':>10} {ours.rate / floor.rate:>7.2f} "
            f"{ours.p50 / floor.p50:>8.2f} {ours.p99 / floor.p99:>8.2f} "
            f"{ours.cpu / floor.cpu:>12.2f}"
        )


async def history_bytes(url: str, client: Client) -> None:
    """Print the bytes of Temporal history per round."""
    for rounds in ROUNDS:
        script = {"rounds": [{"calls": [{"name": "nothing", "arguments": {}}]}] * (rounds - 1)}
        script["rounds"].append({"text": "done"})  # type: ignore[dict-item]
        async with caller(url) as api, caller(url) as reader:
            session = await api.call("POST", "/v1/sessions", {"agent": "scripted"})
            path = f"/v1/sessions/{session['id']}"
            said = await api.call("POST", f"{path}/messages", {"text": json.dumps(script)})
            async for event in reader.events(f"/v1/runs/{said['run']['id']}/stream"):
                if event == b"run.completed":
                    break
        handle = client.get_workflow_handle(f"session/{session['id']}")
        history = await handle.fetch_history()
        size = sum(event.ByteSize() for event in history.events)
        print(f"history of {rounds:>2} rounds: {size} bytes, {size / rounds:.0f} a round")


async def measure(database: str, passes: int) -> None:
    """One whole comparison on one database."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="turnwright-bench-")))
        temporal = await stack.enter_async_context(
            temporal_dev_server(database=folder / "temporal.db")
        )
        environment = {
            "TURNWRIGHT_TEMPORAL_ADDRESS": temporal.address,
            "TURNWRIGHT_AGENTS": "benchmarks/agents.py",
            "TURNWRIGHT_LOG_LEVEL": "error",
        }
        if database == "postgresql":
            environment["TURNWRIGHT_DATABASE_URL"] = stack.enter_context(
                postgres_server(durable=True)
            )
        command = ("-m", "turnwright.cli", "dev", "--port", "0", "--data-dir", str(folder))
        pid, url = await stack.enter_async_context(process(*command, environment=environment))
        floor_pid, _ = await stack.enter_async_context(
            process("-m", "benchmarks.floor", temporal.address, environment={})
        )
        client = await Client.connect(temporal.address)
        print(f"\n{database}, {os.cpu_count()} cores, {passes} passes, floor first in each")
        await compare(url, pid, client, floor_pid, passes)
        await history_bytes(url, client)


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    parser.add_argument("--passes", type=int, default=5)
    chosen = parser.parse_args()
    databases = ("sqlite", "postgresql") if chosen.database == "both" else (chosen.database,)
    for database in databases:
        asyncio.run(measure(database, chosen.passes))


if __name__ == "__main__":
    main()
