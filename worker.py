"""The composition root of a worker: settings → adapters → activities → Worker.

`turnwright worker` and `python worker.py` both end here; `turnwright dev` uses `build_worker`.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from temporalio.client import Client
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from activities.admission import Admission
from activities.boundary import ContentFree
from activities.calls import Referee, ToolCalls
from activities.model_rounds import ModelRounds
from activities.questions import Questions
from turnwright.domain.ports import LiveText, Models
from turnwright.executions import Executions
from turnwright.loading import Agents
from turnwright.store.engine import Database
from turnwright.store.runs import RunStore
from turnwright.sweep import Sweep
from workflows.run import RunWorkflow

DRAIN = timedelta(seconds=20)
"""How long a worker that is told to stop lets its activities go on."""
STICKY = timedelta(seconds=2)
"""After a worker's death, how long its cached workflows wait for it (ten by default)."""

PASSED_THROUGH = ("turnwright", "activities", "workflows", "pydantic", "structlog", "typeid")
KEPT_OUT = {"sqlalchemy", "httpx", "fastapi", "pydantic_ai"}


@dataclass(frozen=True)
class Parts:
    """The adapters that a worker's activities are given."""

    database: Database
    executions: Executions
    agents: Agents
    models: Models
    live: LiveText


def build_worker(client: Client, parts: Parts, *, task_queue: str) -> Worker:
    """A worker for runs, not yet started."""
    runs, referee = RunStore(parts.database), Referee(parts.agents)
    admission = Admission(runs, parts.executions, referee)
    rounds = ModelRounds(runs, parts.agents, parts.models, parts.live, referee)
    calls = ToolCalls(runs, parts.agents, parts.live)
    questions = Questions(runs, parts.agents)
    return Worker(
        client,
        task_queue=task_queue,
        workflows=[RunWorkflow],
        activities=[
            admission.open,
            admission.settle,
            rounds.round,
            calls.call,
            questions.ask,
            questions.take,
        ],
        interceptors=[ContentFree()],
        workflow_runner=SandboxedWorkflowRunner(
            restrictions=SandboxRestrictions.default.with_passthrough_modules(*PASSED_THROUGH)
        ),
        graceful_shutdown_timeout=DRAIN,
        sticky_queue_schedule_to_start_timeout=STICKY,
    )


@asynccontextmanager
async def running_worker(
    client: Client, parts: Parts, *, task_queue: str
) -> AsyncIterator[Worker]:
    """A worker that runs, and its sweep, until the context is left."""
    worker = build_worker(client, parts, task_queue=task_queue)
    async with worker:
        sweep = asyncio.create_task(Sweep(parts.database, parts.executions).forever())
        try:
            yield worker
        finally:
            sweep.cancel()
            await asyncio.gather(sweep, return_exceptions=True)
