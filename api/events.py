"""The log as lists: of a session, and of one run in it."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.dependencies import (
    MAX_SEQUENCE,
    After,
    CallerOf,
    EventTypes,
    Limit,
    Parts,
    RunId,
    SessionId,
    SomeRunId,
)
from api.openapi import problems
from api.route import CheckedRoute
from api.schemas import Page
from turnwright.domain.events import Event, upcast
from turnwright.store.engine import Tx
from turnwright.store.event_log import read_events
from turnwright.store.reading import require_session
from turnwright.store.run_rows import get_run

router = APIRouter(prefix="/v1", tags=["events"], route_class=CheckedRoute)

Sequence = Annotated[int, Query(ge=0, le=MAX_SEQUENCE, description="The last sequence had.")]


@router.get("/sessions/{session_id}/events", responses=problems(404, 422, 503))
async def list_session_events(
    *,
    session_id: SessionId,
    parts: Parts,
    caller: CallerOf,
    type: EventTypes,
    run_id: SomeRunId = None,
    after: After = 0,
    limit: Limit = 50,
    cursor: Sequence = 0,
) -> Page[Event]:
    """Read the session's log, oldest first."""

    def read(tx: Tx) -> Page[Event]:
        require_session(tx, session_id, tenant=caller.tenant)
        return _page(
            tx,
            session_id=session_id,
            run_id=run_id,
            after=max(after, cursor),
            types=type,
            limit=limit,
        )

    return await parts.database.read(read)


@router.get("/runs/{run_id}/events", responses=problems(404, 422, 503))
async def list_run_events(
    *,
    run_id: RunId,
    parts: Parts,
    caller: CallerOf,
    type: EventTypes,
    after: After = 0,
    limit: Limit = 50,
    cursor: Sequence = 0,
) -> Page[Event]:
    """Read one run's events, oldest first, at their sequences in the session's log."""

    def read(tx: Tx) -> Page[Event]:
        run = get_run(tx, run_id, tenant=caller.tenant)
        return _page(
            tx,
            session_id=run.session_id,
            run_id=run_id,
            after=max(after, cursor),
            types=type,
            limit=limit,
        )

    return await parts.database.read(read)


def _page(
    tx: Tx, *, session_id: str, run_id: str | None, after: int, types: tuple[str, ...], limit: int
) -> Page[Event]:
    found = read_events(
        tx,
        session_id=session_id,
        run_id=run_id,
        after=after,
        types=types or None,
        limit=limit + 1,
    )
    data = [upcast(event) for event in found[:limit]]
    more = len(found) > limit
    return Page(data=data, next_cursor=str(data[-1].sequence) if more else None)
