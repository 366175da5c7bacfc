"""Handing what was accepted to Temporal, off the request path.

Nothing here decides anything: the acceptance is in the database. What does not reach Temporal now
is found by the sweep (DESIGN.md, decision 1).
"""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, assert_never

import structlog

from turnwright.domain.handoff import Cancel, Handoff, Start, Wake
from turnwright.domain.run import Run
from turnwright.executions import AWAY, Executions
from turnwright.executions import Start as Started

log = structlog.get_logger()

PAUSES = (0.004, 0.008, 0.016, 0.03, 0.06, 0.1, 0.1, 0.2, 0.5, 1.0)
"""Seconds between tries. The previous run's execution closes some 10 ms after its run has ended,
and until then the session's workflow id is taken."""


class Dispatcher:
    """Starts, wakes and cancels executions in the background."""

    def __init__(self, executions: Executions) -> None:
        self._executions = executions
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, handed: Iterable[Handoff]) -> None:
        """Have Temporal told of these."""
        for handoff in handed:
            match handoff:
                case Start():
                    self._begin(self._start(handoff.run))
                case Wake():
                    self._begin(self._wake(handoff))
                case Cancel():
                    self._begin(self._cancel(handoff.run))
                case _:
                    assert_never(handoff)

    async def close(self) -> None:
        """Give up what is still under way: the sweep goes on with it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start(self, run: Run) -> None:
        for pause in PAUSES:
            try:
                if await self._executions.start(run) is not Started.REFUSED:
                    return
            except AWAY as error:
                log.warning("start_postponed", run_id=run.id, because=type(error).__name__)
                return
            await asyncio.sleep(pause)
        log.warning("start_postponed", run_id=run.id, because="HELD")

    async def _wake(self, wake: Wake) -> None:
        try:
            await self._executions.wake(wake.session_id, wake.ref)
        except AWAY as error:
            log.warning("wake_postponed", session_id=wake.session_id, because=type(error).__name__)

    async def _cancel(self, run: Run) -> None:
        try:
            await self._executions.cancel(run)
        except AWAY as error:
            log.warning("cancel_postponed", run_id=run.id, because=type(error).__name__)
