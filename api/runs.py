"""Runs: lists and single ones."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from api import cursors
from api.dependencies import (
    CallerOf,
    Cursor,
    Limit,
    Parts,
    RunId,
    RunStatuses,
    SomeRunId,
    SomeSessionId,
)
from api.openapi import problems
from api.route import CheckedRoute
from api.schemas import Page, Run
from api.text import Name
from turnwright.store.reading import RunFilter
from turnwright.store.reading import list_runs as read_runs
from turnwright.store.run_rows import get_run as read_run

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=CheckedRoute)


@router.get("", responses=problems(422, 503))
async def list_runs(
    *,
    parts: Parts,
    caller: CallerOf,
    status: RunStatuses,
    session_id: SomeSessionId = None,
    room: Annotated[Name | None, Query()] = None,
    actor: Annotated[Name | None, Query()] = None,
    active: Annotated[Literal["true", "false"] | None, Query()] = None,
    parent_run_id: SomeRunId = None,
    root_run_id: SomeRunId = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[Run]:
    """List runs, newest first, children included."""
    wanted = RunFilter(
        session_id=session_id,
        room=room,
        actor=actor,
        status=status,
        active=None if active is None else active == "true",
        parent_run_id=parent_run_id,
        root_run_id=root_run_id,
    )
    before = cursors.decode_id("run", cursor)
    found = await parts.database.read(
        read_runs, wanted, tenant=caller.tenant, limit=limit + 1, before=before
    )
    return cursors.page([Run.of(run, parts.place) for run in found], limit, last=lambda r: r.id)


@router.get("/{run_id}", responses=problems(404, 422, 503))
async def get_run(run_id: RunId, parts: Parts, caller: CallerOf) -> Run:
    """Read a run."""
    run = await parts.database.read(read_run, run_id, tenant=caller.tenant)
    return Run.of(run, parts.place)
