"""Server-sent events: a log from where the reader left off, then live (CONTRACT.md, "Streams").

No stream holds a database connection while it waits, and none holds up the process that stops:
subscriptions are undone by a dependency, because a generator that is blocked in its send when the
reader leaves never gets to its own `finally`.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Depends
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import TypeAdapter

from api.dependencies import CallerOf, Parts, RunId, SessionId, StreamStart
from api.live_cursor import LiveCursor, Missing
from api.openapi import problems
from api.parts import ApiParts
from api.route import CheckedRoute
from turnwright.domain.base import Frozen
from turnwright.domain.errors import NotFound
from turnwright.domain.events import Event
from turnwright.live import Delta, Frame, Progress, Subscription, Taken
from turnwright.store.engine import Tx
from turnwright.store.reading import (
    Page,
    open_rounds,
    require_session,
    run_page,
    session_page,
)
from turnwright.store.run_rows import get_run

router = APIRouter(prefix="/v1", tags=["streams"], route_class=CheckedRoute)

POLL_SECONDS: Final = 5.0
"""How long a lost hint can keep a stream from what is in the log."""


class DeltaData(Frozen):
    """A piece of live text, as callers see it."""

    run_id: str
    round: int
    message_id: str
    offset: int
    text: str


class ProgressData(Frozen):
    """What a running tool says, as callers see it."""

    run_id: str
    tool_call_id: str
    name: str
    text: str


@dataclass(frozen=True)
class Reader:
    """One open stream: what it reads, from where, and how it is woken."""

    parts: ApiParts
    subscription: Subscription
    session_id: str
    run_id: str | None
    start: int
    page: Callable[[Tx, int], Page]

    async def frames(self) -> AsyncIterator[ServerSentEvent]:
        """All frames until the log is over, the reader is too slow, or the process stops."""
        database, sequence = self.parts.database, self.start
        live = LiveCursor(await database.read(open_rounds, self.session_id, upto=sequence))
        joining = True
        while not self.parts.hub.stopped:
            # Frames first: whatever of the log they follow is then in the pages read next.
            taken = self.subscription.take()
            over = False
            more = True
            while more:
                try:
                    page = await self._page(taken, sequence)
                except NotFound:
                    return
                for event in page.events:
                    yield _persisted(event)
                    live.emitted(event)
                    sequence = event.sequence
                more, over = page.more, page.over
            if over:
                return
            if self.subscription.overflowed:
                yield ServerSentEvent(event="stream.overflow", raw_data="{}")
                return
            if joining:
                for frame in await self._so_far(live):
                    yield frame
                joining = False
            for piece in taken.frames:
                for frame in await self._live(live, piece):
                    yield frame
            await self.subscription.wait(POLL_SECONDS)

    async def _page(self, taken: Taken, sequence: int) -> Page:
        """What comes after `sequence`. Raises `NotFound` once the session is erased."""
        if self.run_id is None and (new := taken.log_after(sequence)) is not None:
            return Page(events=new, more=False, over=False)
        return await self.parts.database.read(self.page, sequence)

    async def _live(self, live: LiveCursor, frame: Frame) -> list[ServerSentEvent]:
        if self.run_id not in (None, frame.run_id):
            return []
        if isinstance(frame, Progress):
            return [_progress(frame)] if live.shows(frame) else []
        shown = live.next(frame)
        match shown:
            case Missing.TEXT:
                return await self._so_far(live)
            case None:
                return []
            case Delta():
                return [_delta(shown)]

    async def _so_far(self, live: LiveCursor) -> list[ServerSentEvent]:
        """What the reader has not been shown of the texts that are streaming."""
        texts = await self.parts.texts.texts(self.session_id)
        wanted = [text for text in texts if self.run_id in (None, text.run_id)]
        shown = [live.next(text) for text in wanted]
        return [_delta(piece) for piece in shown if isinstance(piece, Delta)]


async def session_reader(
    session_id: SessionId, parts: Parts, caller: CallerOf, start: StreamStart
) -> AsyncIterator[Reader]:
    """A reader of a session. Raises `NotFound`."""
    await parts.database.read(require_session, session_id, tenant=caller.tenant)
    with parts.hub.subscribe(session_id) as subscription:
        yield Reader(
            parts,
            subscription,
            session_id,
            None,
            start,
            lambda tx, after: session_page(tx, session_id, after=after),
        )


async def run_reader(
    run_id: RunId, parts: Parts, caller: CallerOf, start: StreamStart
) -> AsyncIterator[Reader]:
    """A reader of one run. Raises `NotFound`."""
    run = await parts.database.read(get_run, run_id, tenant=caller.tenant)
    with parts.hub.subscribe(run.session_id) as subscription:
        yield Reader(
            parts,
            subscription,
            run.session_id,
            run_id,
            start,
            lambda tx, after: run_page(tx, run_id, after=after),
        )


@router.get(
    "/sessions/{session_id}/stream",
    response_class=EventSourceResponse,
    responses=problems(404, 422, 503),
)
async def stream_session(
    reader: Annotated[Reader, Depends(session_reader)],
) -> AsyncIterator[ServerSentEvent]:
    """Stream the session's log, all its runs included, then live."""
    async for frame in reader.frames():
        yield frame


@router.get(
    "/runs/{run_id}/stream",
    response_class=EventSourceResponse,
    responses=problems(404, 422, 503),
)
async def stream_run(
    reader: Annotated[Reader, Depends(run_reader)],
) -> AsyncIterator[ServerSentEvent]:
    """Stream one run's events, then live; the stream ends after the terminal event."""
    async for frame in reader.frames():
        yield frame


_EVENT = TypeAdapter(Event)


def _persisted(event: Event) -> ServerSentEvent:
    return ServerSentEvent(
        id=str(event.sequence), event=event.type, raw_data=_EVENT.dump_json(event).decode()
    )


def _delta(delta: Delta) -> ServerSentEvent:
    data = DeltaData(**delta.model_dump(include=set(DeltaData.model_fields)))
    return ServerSentEvent(event="message.delta", raw_data=data.model_dump_json())


def _progress(progress: Progress) -> ServerSentEvent:
    data = ProgressData(**progress.model_dump(include=set(ProgressData.model_fields)))
    return ServerSentEvent(event="tool.progress", raw_data=data.model_dump_json())
