"""The sweep: a loop in every worker that carries on what a crash or an outage left lying.

It starts what is `starting` without an execution, repeats wake-ups that were lost, ends an open
execution whose run has long ended, carries on runs whose execution no longer exists, and settles
those whose execution was terminated. All of it is harmless when several workers do it, and when nothing was lost.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import structlog

from turnwright.domain.deciding import Settle
from turnwright.domain.errors import Fenced, Unavailable
from turnwright.domain.ports import Owner
from turnwright.domain.run import Failure, Run, RunStatus
from turnwright.executions import AWAY, Executions, Start
from turnwright.faults import kind_of, place_of
from turnwright.store.engine import Database
from turnwright.store.pending import (
    forget_old_answers,
    open_runs,
    pending_answers,
    starting_runs,
)
from turnwright.store.run_rows import get_run
from turnwright.store.settlement import settle

log = structlog.get_logger()

PERIOD = 2.0
"""Seconds between sweeps."""
FRESH = timedelta(seconds=2)
"""What was accepted since then is still on its ordinary way."""
QUIET = timedelta(seconds=60)
"""A run that logged nothing for so long is looked up in Temporal."""
LONG_ENDED = timedelta(seconds=10)
"""By then an execution has noticed that its run has ended, even through its worker's death."""
MEANT = timedelta(minutes=5)
"""So long after a terminate nobody is going to reset the execution: it was meant."""
TERMINATED = Failure(
    reason="terminated", message="The run was terminated in Temporal.", retryable=True
)
BATCH = 20
"""How many quiet runs one sweep looks up: each is a call to Temporal."""


@dataclass
class Sweep:
    """Finds what was accepted and is not under way, and hands it to Temporal."""

    database: Database
    executions: Executions
    fresh: timedelta = FRESH
    quiet: timedelta = QUIET
    long_ended: timedelta = LONG_ENDED
    meant: timedelta = MEANT
    _cursor: str = field(default="", init=False)
    """The last quiet run looked up; the next sweep goes on after it."""

    async def forever(self) -> None:
        """Sweep until cancelled. An outage of the database or of Temporal is waited out."""
        while True:
            try:
                await self.once()
            except (*AWAY, Unavailable) as error:
                log.warning("sweep_postponed", because=type(error).__name__)
            except Exception as error:  # noqa: BLE001  (the next sweep may fare better)
                log.error("sweep_failed", kind=kind_of(error), at=place_of(error))  # noqa: TRY400
            await asyncio.sleep(PERIOD)

    async def once(self) -> None:
        """One sweep."""
        for run in await self.database.read(starting_runs, older_than=self.fresh):
            await self._start(run)
        for answer in await self.database.read(pending_answers, older_than=self.fresh):
            if not await self.executions.wake(answer.session_id, answer.message_id):
                # Nobody is there to be told: the execution is lost, or was terminated.
                await self._look_after(await self.database.read(get_run, answer.run_id))
        await self._look_after_quiet_runs()
        await self.database.write(forget_old_answers)

    async def _start(self, run: Run) -> None:
        if await self.executions.start(run) is not Start.REFUSED:
            return
        holder = await self.executions.holder(run.session_id)
        if holder is None or not holder.open or holder.run_id is None:
            return
        previous = await self.database.read(get_run, holder.run_id)
        now = datetime.now(UTC)
        if previous.ended_at is not None and now - previous.ended_at >= self.long_ended:
            log.warning("execution_dismissed", run_id=holder.run_id)
            await self.executions.dismiss(run.session_id, holder)

    async def _look_after_quiet_runs(self) -> None:
        quiet = await self.database.read(
            open_runs, older_than=self.quiet, after=self._cursor, limit=BATCH
        )
        self._cursor = quiet[-1].id if len(quiet) == BATCH else ""
        for run in quiet:
            await self._look_after(run)

    async def _look_after(self, run: Run) -> None:
        holder = await self.executions.holder(run.session_id)
        if holder is not None and holder.open:
            return
        if holder is None or holder.terminated_at is None or holder.run_id != run.id:
            log.warning("run_carried_on", run_id=run.id)
            await self.executions.start(run)
        elif datetime.now(UTC) - holder.terminated_at >= self.meant:
            log.warning("run_terminated", run_id=run.id)
            owner = Owner(run_id=run.id, execution_id=holder.execution_id)
            try:
                step = Settle(status=RunStatus.FAILED, reason=TERMINATED.reason)
                await self.database.write(settle, owner, step, TERMINATED)
            except Fenced:
                log.info("run_has_another_owner", run_id=run.id)
