"""What happens to runs, over all sessions of a tenant, as server-sent events (CONTRACT.md).

A watch holds nothing but its cursor: a reader that is slow is behind in the database, and in
nobody's memory. For the rest see `api.stream`.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import ValidationError

from api import cursors
from api.dependencies import CallerOf, Parts, RunStatuses, SomeSessionId
from api.errors import invalid
from api.openapi import problems
from api.parts import ApiParts
from api.route import CheckedRoute
from api.schemas import ActiveRuns, Run, RunChange
from api.stream import POLL_SECONDS
from api.text import Name
from turnwright.live import Subscription
from turnwright.store.engine import Tx
from turnwright.store.reading import RunFilter
from turnwright.store.watching import Changes, Cursor, enter, next_changes

router = APIRouter(prefix="/v1", tags=["streams"], route_class=CheckedRoute)

GATHER_SECONDS: Final = 0.1
"""How long changes are gathered that come one upon the other: each look is a query."""


@dataclass(frozen=True)
class Watcher:
    """One open watch: what it watches, from where, and how it is woken."""

    parts: ApiParts
    subscription: Subscription
    wanted: RunFilter
    tenant: str
    snapshot: ServerSentEvent | None
    start: Cursor

    async def frames(self) -> AsyncIterator[ServerSentEvent]:
        """All frames until the reader leaves or the process stops."""
        if self.snapshot is not None:
            yield self.snapshot
        cursor, loop = self.start, asyncio.get_running_loop()
        while not self.parts.hub.stopped:
            self.subscription.take()
            looked, more = loop.time(), True
            while more and not self.parts.hub.stopped:
                found, frames = await self.parts.database.read(self._next, cursor)
                for frame in frames:
                    yield frame
                cursor, more = found.cursor, found.more
            await self.subscription.wait(POLL_SECONDS)
            await asyncio.sleep(looked + GATHER_SECONDS - loop.time())

    def _next(self, tx: Tx, cursor: Cursor) -> tuple[Changes, list[ServerSentEvent]]:
        found = next_changes(tx, cursor, self.wanted, tenant=self.tenant)
        frames: list[ServerSentEvent] = []
        for change in found.changes:
            shown = RunChange(type=change.type, run=Run.of(change.run, self.parts.place))
            frames.append(_frame("run", shown, change.cursor))
        return found, frames


async def watch_start(
    last_event_id: Annotated[str | None, Header(description="From a frame of a watch.")] = None,
) -> Cursor | None:
    """The cursor that a watch goes on from. Raises `Invalid`."""
    if last_event_id is None:
        return None
    try:
        return Cursor.model_validate_json(cursors.decoded(last_event_id))
    except ValidationError:
        fault = {"loc": ["header", "Last-Event-ID"], "msg": "is not an id of a watch"}
        raise invalid([fault]) from None


async def watcher_of(
    *,
    parts: Parts,
    caller: CallerOf,
    last: Annotated[Cursor | None, Depends(watch_start)],
    status: RunStatuses,
    session_id: SomeSessionId = None,
    room: Annotated[Name | None, Query()] = None,
    actor: Annotated[Name | None, Query()] = None,
) -> AsyncIterator[Watcher]:
    """A watcher of the caller's runs that is woken from before its first look on."""
    wanted = RunFilter(session_id=session_id, room=room, actor=actor, status=status)

    def begin(tx: Tx) -> tuple[Cursor, ServerSentEvent | None]:
        entry = enter(tx, last, wanted, tenant=caller.tenant)
        if entry.active is None:
            return entry.cursor, None
        active = ActiveRuns(runs=[Run.of(run, parts.place) for run in entry.active])
        return entry.cursor, _frame("snapshot", active, entry.cursor)

    with parts.hub.subscribe(None) as subscription:
        start, snapshot = await parts.database.read(begin)
        yield Watcher(parts, subscription, wanted, caller.tenant, snapshot, start)


@router.get("/watch", response_class=EventSourceResponse, responses=problems(422, 503))
async def watch_runs(
    watcher: Annotated[Watcher, Depends(watcher_of)],
) -> AsyncIterator[ServerSentEvent]:
    """Stream the active runs, then what happens to runs, over all sessions."""
    async for frame in watcher.frames():
        yield frame


def _frame(event: str, data: ActiveRuns | RunChange, cursor: Cursor) -> ServerSentEvent:
    return ServerSentEvent(
        id=cursors.encode(cursor.model_dump_json(exclude_defaults=True)),
        event=event,
        raw_data=data.model_dump_json(),
    )
