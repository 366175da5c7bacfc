"""The boundary to Temporal: who an activity writes as, its heartbeat, and what its errors may say.

An exception that reaches Temporal is kept in the history with its message and its causes, and
those quote content (SQL parameters, a provider's answer). So nothing passes but errors of our own
wording (CONTRACT.md, guarantee 11).
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
)

from turnwright.domain.errors import Fenced, Unavailable, UnknownEvent
from turnwright.domain.ports import Owner
from turnwright.faults import kind_of, place_of

log = structlog.get_logger()

FAULT_ATTEMPTS = 5
"""A fault of ours is tried this often: some pass, a bug does not."""

HEARTBEAT_EVERY = 1.0
"""Seconds. A cancel comes back with a heartbeat where the cluster sends no worker commands; with
the worker's throttle of as much, a provider's stream is closed within two (CONTRACT.md)."""


def owner_of(run_id: str) -> Owner:
    """This execution, as the owner of the run it drives."""
    execution_id = activity.info().workflow_run_id
    if execution_id is None:
        raise RuntimeError("a run's activities belong to a workflow")
    return Owner(run_id=run_id, execution_id=execution_id)


@asynccontextmanager
async def heartbeats() -> AsyncIterator[None]:
    """Tell Temporal that the work goes on, so that a worker's death is noticed soon.

    And ask it whether the work is still wanted.
    """
    timeout = activity.info().heartbeat_timeout
    if timeout is None:
        yield
        return

    async def beat(seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            activity.heartbeat()

    task = asyncio.create_task(beat(min(timeout.total_seconds() / 3, HEARTBEAT_EVERY)))
    try:
        yield
    finally:
        task.cancel()


class ContentFree(Interceptor):
    """Lets only errors without content through to Temporal."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _ContentFree(next)


class _ContentFree(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> object:
        try:
            return await self.next.execute_activity(input)
        except ApplicationError as error:
            raise error from None
        except Fenced:
            raise ApplicationError(
                "this execution no longer owns the run", type="Fenced", non_retryable=True
            ) from None
        except Unavailable:
            raise ApplicationError("the database cannot be reached", type="Unavailable") from None
        except UnknownEvent as error:
            # Tried until a worker that knows it comes along: in an upgrade, one does.
            log.error("log_is_newer", workflow=activity.info().workflow_id, because=error.detail)  # noqa: TRY400
            raise ApplicationError(
                "the run's log was written by a newer version; upgrade the workers",
                type="UnknownEvent",
            ) from None
        except Exception as error:  # noqa: BLE001  (the boundary)
            info = activity.info()
            # Kind and place say enough; the text may quote what people said.
            log.error(  # noqa: TRY400
                "activity_failed",
                activity=info.activity_type,
                workflow=info.workflow_id,
                kind=kind_of(error),
                at=place_of(error),
            )
            raise ApplicationError(
                "a fault inside an activity; the worker's log says more",
                type=type(error).__name__,
                non_retryable=info.attempt >= FAULT_ATTEMPTS,
            ) from None
