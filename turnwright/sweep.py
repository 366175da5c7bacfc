"""The sweep: a loop in every worker that carries on what a crash or an outage left lying.

It starts what is `starting` without an execution, repeats wake-ups and cancellations that were
lost, and looks after runs that have been quiet (`turnwright.repair`). All of it is harmless when
several workers do it, and when nothing was lost.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import Generic, Protocol, TypeVar

import structlog

from turnwright.domain.errors import NotFound, Unavailable
from turnwright.domain.run import Run
from turnwright.executions import AWAY
from turnwright.faults import kind_of, place_of
from turnwright.repair import Repair
from turnwright.store.pending import (
    PAGE,
    PendingInput,
    forget_old_answers,
    open_runs,
    pending_inputs,
    starting_runs,
)
from turnwright.store.run_changes import forget_old_changes
from turnwright.store.run_rows import get_run

log = structlog.get_logger()

PERIOD = 2.0
"""Seconds between sweeps."""
FRESH = timedelta(seconds=2)
"""What was accepted since then is still on its ordinary way."""
QUIET = timedelta(seconds=60)
"""A run that logged nothing for so long is looked up in Temporal."""
BATCH = 20
"""How many quiet runs one sweep looks up: each is a call to Temporal."""
LONGEST_PAUSE = 3600.0
"""Seconds between two reminders of the same input, at most. An input may rightly lie for months,
and Temporal keeps every signal to a run."""
MOST_PAUSES = 10_000
"""Of so many inputs it is remembered when to remind of them next."""


class Identified(Protocol):
    """What can be walked through by its id."""

    @property
    def id(self) -> str:
        """Greater than those of what was made before."""


T = TypeVar("T", bound=Identified)


@dataclass
class Rota(Generic[T]):
    """Walks through all there is, a page at a time, round and round: nothing is starved.

    Not by what lies stuck before it, and not by something that breaks the walk off: the next
    goes on after that.
    """

    page: Callable[[str], Awaitable[list[T]]]
    """What comes after an id."""
    size: int
    _after: str = field(default="", init=False)

    async def walk(self, act: Callable[[T], Awaitable[object]]) -> None:
        """Act on the next page."""
        items = await self.page(self._after)
        for item in items:
            self._after = item.id
            await act(item)
        if len(items) < self.size:
            self._after = ""


@dataclass
class Reminders:
    """When to remind a run of an input again: each time after twice as long."""

    clock: Callable[[], float] = monotonic
    _pauses: dict[str, tuple[float, float]] = field(default_factory=dict, init=False)

    def due(self, input_id: str) -> bool:
        """Whether it is time; then this is a reminder."""
        now = self.clock()
        at, pause = self._pauses.get(input_id, (now, PERIOD))
        if now < at:
            return False
        if len(self._pauses) >= MOST_PAUSES:
            self._pauses.clear()  # a reminder too many is harmless
        self._pauses[input_id] = now + pause, min(2 * pause, LONGEST_PAUSE)
        return True


@dataclass
class Sweep:
    """Finds what was accepted and is not under way, and hands it to Temporal."""

    repair: Repair
    fresh: timedelta = FRESH
    quiet: timedelta = QUIET
    _reminders: Reminders = field(default_factory=Reminders, init=False)

    def __post_init__(self) -> None:
        read = self.repair.database.read
        self._starting = Rota[Run](
            lambda after: read(starting_runs, older_than=self.fresh, after=after), PAGE
        )
        self._inputs = Rota[PendingInput](
            lambda after: read(pending_inputs, older_than=self.fresh, after=after), PAGE
        )
        self._quiet = Rota[Run](
            lambda after: read(open_runs, older_than=self.quiet, after=after, limit=BATCH), BATCH
        )

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
        await self._starting.walk(self._look_after)
        await self._inputs.walk(self._remind)
        await self._quiet.walk(self._look_after)
        await self.repair.database.write(forget_old_answers)
        await self.repair.database.write(forget_old_changes)

    async def _look_after(self, run: Run) -> None:
        await self.repair.look_after(run, terminated="leave")

    async def _remind(self, pending: PendingInput) -> None:
        if not self._reminders.due(pending.id):
            return
        try:
            run = await self.repair.database.read(get_run, pending.run_id)
        except NotFound:
            return  # its session was erased
        if pending.kind == "cancel":
            # Nobody is going to take a terminate back that a cancel came on top of.
            if not await self.repair.executions.cancel(run):
                await self.repair.look_after(run, terminated="settle")
        elif not await self.repair.executions.wake(pending.session_id, pending.id):
            # Nobody is there to be told: the execution is lost, or was terminated.
            await self.repair.look_after(run, terminated="leave")
