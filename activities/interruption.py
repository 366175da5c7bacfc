"""A call whose run no longer wants it: what is still let happen, and what its result is then."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from temporalio import activity

GRACE: Final = 30.0
"""Seconds that a call which may not be repeated is given to finish (CONTRACT.md, cancel)."""
UNWIND: Final = 1.0
"""Seconds that an interrupted async tool has for its own `finally`."""

NOT_RUN = "This call was not run: the run was cancelled or ran out of time before."
CUT_SHORT = "This call was cut short: the run was cancelled or ran out of time."
GIVEN_UP = (
    "The outcome of this call is unknown: it was still running when the run was cancelled or ran "
    "out of time, and was given up then. It may or may not have taken effect."
)

T = TypeVar("T")


class Interruption:
    """Whether a call is to stop, for this one execution of its activity.

    A cancel that the workflow asked for is a fact about the run: the call's result is still
    recorded. All else that cancels an activity (a worker that shuts down, a heartbeat that was
    missed, an execution that is gone) is none: the call is broken off without a record, and
    whoever attempts it next finds out from the log what that means.
    """

    def __init__(self) -> None:
        self._seen = threading.Event()
        self._asked = asyncio.Event()

    def seen(self) -> bool:
        """Whether the result is no longer wanted, for the tool to ask from any thread."""
        return self._seen.is_set()

    @property
    def asked(self) -> bool:
        """Whether the workflow asked for it."""
        return self._asked.is_set()

    async def over(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` returns. It sees a cancel that the workflow asked for, and goes on."""
        task = asyncio.create_task(work)
        while True:
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                self._seen.set()
                if task.done():
                    raise
                if not _requested():
                    task.cancel()
                    await asyncio.wait({task})
                    raise
                self._asked.set()

    async def bound(self, work: Coroutine[Any, Any, T], *, grace: float) -> T | None:
        """What `work` returns; None if it is not done `grace` seconds after it was to stop.

        It is interrupted then.
        """
        task, asked = asyncio.create_task(work), asyncio.create_task(self._asked.wait())
        try:
            await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and grace > 0:
                await asyncio.wait({task}, timeout=grace)
            return await task if task.done() else None
        finally:
            asked.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=UNWIND)


def _requested() -> bool:
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested
