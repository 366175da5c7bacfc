"""Whether runs can make progress: the database, Temporal, and a worker that polls."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.service import RPCError

from turnwright.domain.errors import Unavailable
from turnwright.executions import Executions
from turnwright.store.engine import Database
from turnwright.store.reading import ping

TIMEOUT: Final = timedelta(seconds=3)
POLLED_WITHIN: Final = timedelta(seconds=90)
"""A poll lasts up to a minute, and Temporal lists pollers for five."""


async def failures(database: Database, executions: Executions) -> dict[str, str]:
    """What fails, and how; empty when everything is there."""
    checks = await asyncio.gather(_database(database), _temporal(executions))
    return {name: why for check in checks for name, why in check.items()}


async def _database(database: Database) -> dict[str, str]:
    try:
        async with asyncio.timeout(TIMEOUT.total_seconds()):
            await database.read(ping)
    except (Unavailable, TimeoutError):
        return {"database": "cannot be reached"}
    return {}


async def _temporal(executions: Executions) -> dict[str, str]:
    request = DescribeTaskQueueRequest(
        namespace=executions.client.namespace,
        task_queue=TaskQueue(name=executions.task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    try:
        queue = await executions.client.workflow_service.describe_task_queue(
            request, timeout=TIMEOUT
        )
    except (RPCError, RuntimeError):  # RuntimeError: a lazy client that never got through
        return {"temporal": "cannot be reached"}
    oldest = datetime.now(UTC) - POLLED_WITHIN
    polls = [poller.last_access_time.ToDatetime(UTC) for poller in queue.pollers]
    if not any(poll > oldest for poll in polls):
        return {"worker": f"none polls the task queue {executions.task_queue}"}
    return {}
