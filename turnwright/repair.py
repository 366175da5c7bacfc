"""Repair: what becomes of an active run whose execution is gone.

One judgement, for the sweep, for `turnwright reconcile` and for a message that finds its session
busy. All of it is harmless when several do it at once, and when nothing was lost.
"""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, Literal

import structlog

from turnwright.domain.errors import Fenced, NotFound
from turnwright.domain.ports import Owner
from turnwright.domain.run import Run
from turnwright.executions import Executions, Holder, Start
from turnwright.store.engine import Database
from turnwright.store.run_rows import get_run
from turnwright.store.terminated import settle_terminated

log = structlog.get_logger()

LONG_ENDED: Final = timedelta(seconds=10)
"""By then an execution has noticed that its run has ended, even through its worker's death."""
MEANT: Final = timedelta(minutes=5)
"""So long after a terminate nobody is going to reset the execution: it was meant."""
AGAIN: Final = timedelta(minutes=1)
"""A run whose execution failed without ending it is not started again sooner: a fault that
lasts would fill Temporal with its failures."""

Terminated = Literal["leave", "settle", "carry_on"]
"""What to do about an execution that was terminated: leave it for as long as a reset may take
the terminate back, settle its run, or carry its run on."""


class Mended(StrEnum):
    """What was done for a run."""

    NOTHING = "nothing"
    """An execution is open, or the run has ended meanwhile."""
    CARRIED_ON = "carried_on"
    """It has an execution again, which opens it from the log."""
    SETTLED = "settled"
    """It was terminated, and has ended as failed."""
    LEFT = "left"
    """It is without an open execution, and for now is to stay so."""


@dataclass
class Repair:
    """Looks after active runs that may be without an execution. Raises `RPCError`s as they come."""

    database: Database
    executions: Executions
    long_ended: timedelta = LONG_ENDED
    meant: timedelta = MEANT
    again: timedelta = AGAIN

    async def look_after(self, run: Run, *, terminated: Terminated) -> Mended:
        """Mend the run if it has no open execution: see `Mended` and `Terminated`."""
        # In this order: an execution that opens the run from here on shows as its new owner.
        current = await self._active(run)
        if current is None:
            return Mended.NOTHING
        run, holder = current, await self.executions.holder(run.session_id)
        if holder is not None and holder.open:
            if holder.run_id == run.id or not await self._dismissed(run, holder):
                return Mended.NOTHING
        elif holder is not None and holder.run_id == run.id:
            if holder.terminated_at is not None and terminated != "carry_on":
                if terminated == "leave" and _younger(holder.terminated_at, self.meant):
                    return Mended.LEFT
                return await self._settle(run, holder)
            if holder.failed_at is not None and _younger(holder.failed_at, self.again):
                return Mended.LEFT
        return await self._carry_on(run)

    async def settle_terminated(self, run: Run, *, within: float) -> bool:
        """Settle the run if its execution was terminated, for a caller who waits for it.

        Raises `TimeoutError` when Temporal does not say so within so many seconds.
        """
        current = await self._active(run)
        if current is None:
            return False
        async with asyncio.timeout(within):
            holder = await self.executions.holder(run.session_id)
        if holder is None or holder.terminated_at is None or holder.run_id != run.id:
            return False
        return await self._settle(current, holder) is Mended.SETTLED

    async def _settle(self, run: Run, holder: Holder) -> Mended:
        owner = Owner(run_id=run.id, execution_id=holder.execution_id)
        try:
            await self.database.write(settle_terminated, owner, displaces=run.execution_id)
        except Fenced:
            log.info("run_has_another_owner", run_id=run.id)
            return Mended.LEFT
        log.warning("run_terminated", run_id=run.id)
        return Mended.SETTLED

    async def _carry_on(self, run: Run) -> Mended:
        # Its execution closes after it has ended: seen closed, the row tells for sure.
        current = await self._active(run)
        if current is None or await self.executions.start(current) is not Start.STARTED:
            return Mended.NOTHING
        log.warning("run_carried_on", run_id=run.id)
        return Mended.CARRIED_ON

    async def _dismissed(self, run: Run, holder: Holder) -> bool:
        """End the execution of another run that has long ended; it is in this one's way."""
        previous = await self._read(holder.run_id) if holder.run_id else None
        ended_at = previous.ended_at if previous else None
        if ended_at is None or _younger(ended_at, self.long_ended):
            return False
        log.warning("execution_dismissed", run_id=holder.run_id)
        await self.executions.dismiss(run.session_id, holder)
        return True

    async def _active(self, run: Run) -> Run | None:
        """The run as it is, if it is active still."""
        current = await self._read(run.id)
        return current if current is not None and current.status.active else None

    async def _read(self, run_id: str) -> Run | None:
        try:
            return await self.database.read(get_run, run_id)
        except NotFound:
            return None  # its session was erased


def _younger(moment: datetime, age: timedelta) -> bool:
    return datetime.now(UTC) - moment < age
