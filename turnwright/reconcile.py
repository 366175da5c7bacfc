"""`turnwright reconcile`: every active run has an execution again, or has ended.

For an operator, after a terminate or after the loss of Temporal. What workers would do by and by
(`turnwright.sweep`) is done now, for every tenant.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from turnwright.domain.run import Run
from turnwright.executions import AWAY, RPC_TIMEOUT, Executions, connect
from turnwright.repair import Mended, Repair, Terminated
from turnwright.settings import PREFIX, Settings
from turnwright.store.engine import Database
from turnwright.store.migrate import check
from turnwright.store.pending import PAGE, active_runs

DONE: Final = {
    Mended.CARRIED_ON: "carried on from the log",
    Mended.SETTLED: "settled as failed, terminated",
    Mended.LEFT: "left as it is: another execution got hold of it; run this again",
}


class ReconcileError(Exception):
    """Nothing can be said of the runs. The message is one line with what to do."""


@dataclass
class Report:
    """What became of the active runs."""

    counts: Counter[Mended] = field(default_factory=Counter)

    @property
    def mended(self) -> bool:
        """Whether all that was found is mended."""
        return self.counts[Mended.LEFT] == 0

    def __str__(self) -> str:
        counts = self.counts
        told = [
            f"{counts.total()} active runs",
            f"{counts[Mended.NOTHING]} with an execution",
            f"{counts[Mended.CARRIED_ON]} carried on",
            f"{counts[Mended.SETTLED]} settled",
            f"{counts[Mended.LEFT]} left",
        ]
        return f"{told[0]}: {', '.join(told[1:])}"


def run_reconcile(settings: Settings, *, rehost: bool, as_json: bool) -> bool:
    """Mend and print; whether all that was found is mended. Raises `ReconcileError`."""
    check(settings.sqlalchemy_url)
    database = Database(settings.sqlalchemy_url)
    try:
        return asyncio.run(_reconcile(settings, database, rehost=rehost, as_json=as_json))
    except AWAY as error:
        raise ReconcileError(
            f"Temporal cannot be reached at {settings.temporal_address}"
            f" ({PREFIX}TEMPORAL_ADDRESS): {str(error)[:200]}"
        ) from None
    finally:
        database.close()


async def _reconcile(
    settings: Settings, database: Database, *, rehost: bool, as_json: bool
) -> bool:
    client = await connect(settings)
    await _check_namespace(client)
    executions = Executions(client, settings.task_queue, settings.api_url)
    # An operator who asks for it does not wait for what failed a moment ago.
    repair = Repair(database, executions, again=timedelta())
    terminated: Terminated = "carry_on" if rehost else "settle"
    report = Report()
    async for run in _active(database):
        done = await repair.look_after(run, terminated=terminated)
        report.counts[done] += 1
        if done is not Mended.NOTHING:
            _say(run, done, as_json=as_json)
    if as_json:
        print(json.dumps({done.value: report.counts[done] for done in Mended}))
    else:
        print(report)
    return report.mended


def _say(run: Run, done: Mended, *, as_json: bool) -> None:
    if as_json:
        told = {"run_id": run.id, "session_id": run.session_id, "status": run.status, "done": done}
        print(json.dumps(told), flush=True)
    else:
        print(f"{run.id} ({run.status}) {DONE[done]}", flush=True)


async def _active(database: Database) -> AsyncIterator[Run]:
    page = await database.read(active_runs)
    while page:
        for run in page:
            yield run
        page = await database.read(active_runs, after=page[-1].id) if len(page) == PAGE else []


async def _check_namespace(client: Client) -> None:
    """Where there is no namespace every execution looks lost, and none can be started."""
    request = DescribeNamespaceRequest(namespace=client.namespace)
    try:
        await client.workflow_service.describe_namespace(request, timeout=RPC_TIMEOUT)
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        raise ReconcileError(
            f"Temporal has no namespace {client.namespace!r} ({PREFIX}TEMPORAL_NAMESPACE):"
            " create it, then run `turnwright migrate`"
        ) from None
