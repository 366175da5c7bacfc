"""The floor: a bare Temporal workflow of three no-op activities. As a program, its worker."""

import asyncio
import sys
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

TASK_QUEUE = "floor"


@activity.defn
async def nothing() -> None:
    """Do nothing."""


@workflow.defn
class Floor:
    """What any durable turn costs at least: admit, ask, settle."""

    @workflow.run
    async def run(self) -> None:
        for _ in range(3):
            await workflow.execute_activity(nothing, start_to_close_timeout=timedelta(seconds=10))


async def _main(address: str) -> None:
    client = await Client.connect(address)
    async with Worker(client, task_queue=TASK_QUEUE, workflows=[Floor], activities=[nothing]):
        print("ready: floor", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
