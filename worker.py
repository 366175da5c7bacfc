"""The composition root of a worker: settings → adapters → activities → Worker.

`turnwright worker` and `python worker.py` both end here; `turnwright dev` uses `build_worker`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic

import structlog
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import UnsandboxedWorkflowRunner, Worker, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from activities.admission import Admission
from activities.boundary import HEARTBEAT_EVERY, ContentFree
from activities.budgets import Budgets
from activities.calls import ToolCalls
from activities.interruption import GRACE
from activities.model_rounds import ModelRounds
from activities.referee import Referee
from activities.waits import Waits
from turnwright.domain.ports import LiveText, Models, Runs
from turnwright.executions import Executions, eager
from turnwright.loading import Agents, load_agents
from turnwright.repair import Repair
from turnwright.settings import Settings, SettingsError
from turnwright.store.engine import Database
from turnwright.store.runs import RunStore
from turnwright.sweep import Sweep
from turnwright.wiring import Wired, wired
from workflows.run import RunWorkflow

log = structlog.get_logger()

DRAIN = timedelta(seconds=20)
"""How long a worker that is told to stop lets its activities go on."""
RECONNECT = 1.0
"""Seconds between tries to reach Temporal at the start."""
TELL_AGAIN = 30.0
"""Seconds between two lines that say so."""
THROTTLE = timedelta(seconds=HEARTBEAT_EVERY)
"""At most so long is a heartbeat held back. By default it is four fifths of the timeout, and so
long would a cancel take to arrive."""
STICKY = timedelta(seconds=2)
"""After a worker's death, how long its cached workflows wait for it (ten by default)."""

UNSANDBOXED = UnsandboxedWorkflowRunner()
SANDBOX = SandboxedWorkflowRunner(
    restrictions=SandboxRestrictions.default.with_passthrough_modules(
        "turnwright", "activities", "pydantic", "structlog", "typeid"
    )
)
"""What the tests run workflows in."""


@dataclass(frozen=True)
class Parts:
    """The adapters that a worker's activities and its sweep are given."""

    runs: Runs
    database: Database
    executions: Executions
    agents: Agents
    models: Models
    live: LiveText
    grace: float = GRACE
    """Seconds that a cancelled call which may not be repeated is given to finish."""


def build_worker(client: Client, parts: Parts, *, runner: WorkflowRunner = UNSANDBOXED) -> Worker:
    """A worker for runs, not yet started.

    Workflow code is ours alone, and small: the tests run it in `SANDBOX` and replay its
    histories, which finds what is not deterministic. The sandbox costs a fifth of a worker's CPU
    (docs/decisions/0005), so that production goes without.
    """
    runs, referee = parts.runs, Referee(parts.agents)
    admission = Admission(runs, parts.executions, referee)
    rounds = ModelRounds(runs, parts.agents, parts.models, parts.live, referee)
    calls = ToolCalls(runs, parts.agents, parts.live, parts.grace)
    waits, budgets = Waits(runs, parts.agents, referee), Budgets(runs, referee)
    return Worker(
        client,
        task_queue=parts.executions.task_queue,
        workflows=[RunWorkflow],
        activities=[
            admission.open,
            admission.settle,
            rounds.round,
            calls.call,
            waits.ask,
            waits.sleep,
            waits.request_approvals,
            waits.take_answer,
            waits.take,
            waits.pass_time,
            budgets.wait,
            budgets.wrap_up,
            budgets.reflect,
        ],
        interceptors=[ContentFree()],
        workflow_runner=runner,
        graceful_shutdown_timeout=DRAIN,
        sticky_queue_schedule_to_start_timeout=STICKY,
        max_heartbeat_throttle_interval=THROTTLE,
        default_heartbeat_throttle_interval=THROTTLE,
    )


@asynccontextmanager
async def running_worker(
    client: Client, parts: Parts, *, runner: WorkflowRunner = UNSANDBOXED
) -> AsyncIterator[Worker]:
    """A worker that runs, and its sweep, until the context is left."""
    worker = build_worker(await eager(client), parts, runner=runner)
    async with worker:
        sweep = Sweep(Repair(parts.database, parts.executions))
        sweeping = asyncio.create_task(sweep.forever())
        try:
            yield worker
        finally:
            sweeping.cancel()
            await asyncio.gather(sweeping, return_exceptions=True)


def worker_parts(process: Wired) -> Parts:
    """What the worker gets of a process's adapters."""
    return Parts(
        runs=RunStore(process.database),
        database=process.database,
        executions=process.executions,
        agents=process.agents,
        models=process.providers,
        live=process.live,
    )


@asynccontextmanager
async def worker_service(settings: Settings) -> AsyncIterator[Worker]:
    """A worker process: it waits for Temporal to be there, and works until the context is left."""
    agents = load_agents(settings.agents)
    async with wired(settings, agents, public_url=settings.api_url) as process:
        await connected(process.client)
        async with running_worker(process.client, worker_parts(process)) as worker:
            yield worker


async def connected(client: Client) -> None:
    """Wait until Temporal answers. Raises `SettingsError` if it has no such namespace."""
    request = DescribeNamespaceRequest(namespace=client.namespace)
    told = float("-inf")
    while True:
        try:
            await client.workflow_service.describe_namespace(request, timeout=timedelta(seconds=5))
        except (RPCError, RuntimeError) as error:
            if isinstance(error, RPCError) and error.status is RPCStatusCode.NOT_FOUND:
                raise SettingsError(
                    f"TURNWRIGHT_TEMPORAL_NAMESPACE: Temporal has no namespace {client.namespace!r}"
                ) from None
            if monotonic() - told >= TELL_AGAIN:
                log.warning("waiting_for_temporal", because=str(error)[:200])
                told = monotonic()
            await asyncio.sleep(RECONNECT)
        else:
            return


if __name__ == "__main__":
    from turnwright.cli import main

    main(["worker"])
