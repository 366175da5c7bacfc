"""Wake-ups and live text inside one process: from the activities to the streams.

All of it is a hint: a reader that misses one finds everything in the log a little later.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from turnwright.domain.base import Frozen
from turnwright.domain.events import Event
from turnwright.domain.run import Run

COALESCE = 0.04
"""Seconds for which text is gathered before it is shown."""
QUEUE_LIMIT = 1000
"""Live frames a reader may be behind before it is told `stream.overflow`."""


class Delta(Frozen):
    """A piece of a round's text; `offset` counts code points from the start of the text."""

    session_id: str
    run_id: str
    round: int
    attempt: int
    message_id: str
    offset: int
    text: str


class Progress(Frozen):
    """What a running tool says of its progress."""

    session_id: str
    run_id: str
    tool_call_id: str
    name: str
    text: str


Frame = Delta | Progress

Appended = dict[str, list[Event]]
"""New events of each session that a transaction touched. An empty list: look at the log."""


@dataclass(frozen=True)
class Taken:
    """What came for a reader since it looked last."""

    frames: list[Frame]
    events: list[Event]
    stale: bool
    """There may be more in the log than `events`."""

    def log_after(self, sequence: int) -> list[Event] | None:
        """All that the log holds after `sequence`; None if only the log itself can tell."""
        if self.stale:
            return None
        new = [event for event in self.events if event.sequence > sequence]
        new.sort(key=lambda event: event.sequence)
        gapless = all(event.sequence == at for at, event in enumerate(new, sequence + 1))
        return new if gapless else None


@dataclass(eq=False)
class Subscription:
    """One reader, of one session or of all."""

    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _frames: list[Frame] = field(default_factory=list)
    _events: list[Event] = field(default_factory=list)
    _stale: bool = True
    overflowed: bool = False

    def wake(self, events: Sequence[Event] = ()) -> None:
        """These events are new in the log; none: something may be."""
        if not events or len(self._events) >= QUEUE_LIMIT:
            self._stale = True
        else:
            self._events += events
        self._changed.set()

    def show(self, frame: Frame) -> None:
        """One more live frame, unless the reader is too far behind."""
        if len(self._frames) >= QUEUE_LIMIT:
            self.overflowed = True
        else:
            self._frames.append(frame)
        self._changed.set()

    def take(self) -> Taken:
        """What came since the last time."""
        self._changed.clear()
        taken = Taken(self._frames, self._events, self._stale)
        self._frames, self._events, self._stale = [], [], False
        return taken

    async def wait(self, seconds: float) -> None:
        """Return when something may be new; after so long, look at the log itself."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            self._stale = True


class LiveTexts(Protocol):
    """Where a reader who joins in mid-round finds what it has missed."""

    async def texts(self, session_id: str) -> list[Delta]:
        """The text so far of each round that is streaming in the session, from its beginning."""


class Hub:
    """Who reads which session in this process, and what is streaming in it right now."""

    def __init__(self) -> None:
        self._readers: dict[str | None, set[Subscription]] = {}
        self._texts: dict[str, Delta] = {}
        self._stopped = False

    @contextmanager
    def subscribe(self, session_id: str | None) -> Iterator[Subscription]:
        """A subscription, until the context is left; None: to every session's runs."""
        subscription = Subscription()
        self._readers.setdefault(session_id, set()).add(subscription)
        try:
            yield subscription
        finally:
            readers = self._readers[session_id]
            readers.discard(subscription)
            if not readers:
                del self._readers[session_id]

    @property
    def stopped(self) -> bool:
        """Whether the process is shutting down, and streams are to end."""
        return self._stopped

    def stop(self) -> None:
        """End every stream: the process is shutting down."""
        self._stopped = True
        self.wake_all()

    @property
    def has_readers(self) -> bool:
        """Whether anybody reads anything here."""
        return bool(self._readers)

    def grown(self, appended: Appended) -> None:
        """A transaction of this process has appended this."""
        for session_id, events in appended.items():
            for reader in self._readers.get(session_id, ()):
                reader.wake(events)
            if any(event.type.startswith("run.") for event in events):
                for reader in self._readers.get(None, ()):
                    reader.wake()

    def wake(self, sessions: Iterable[str | None]) -> None:
        """These sessions' logs may have grown."""
        for session_id in {*sessions, None}:
            for reader in self._readers.get(session_id, ()):
                reader.wake()

    def wake_all(self) -> None:
        """Any session's log may have grown."""
        self.wake(self._readers)

    def show(self, frame: Frame) -> None:
        """Show a frame to whoever reads its session."""
        for reader in self._readers.get(frame.session_id, ()):
            reader.show(frame)

    async def texts(self, session_id: str) -> list[Delta]:
        """The text so far of each round that is streaming in the session, from its beginning."""
        return [text for text in self._texts.values() if text.session_id == session_id]

    def grow(self, piece: Delta) -> None:
        """A streaming round's text has grown by this piece."""
        before = self._texts.get(piece.run_id)
        if piece.offset == 0 or before is None:
            self._texts[piece.run_id] = piece
        else:
            self._texts[piece.run_id] = before.model_copy(update={"text": before.text + piece.text})
        self.show(piece)

    def forget(self, run_id: str) -> None:
        """Nothing of this run is streaming any more."""
        self._texts.pop(run_id, None)


class LiveRound:
    """The text of one attempt at one round, gathered for `COALESCE` seconds a piece."""

    def __init__(self, start: Delta, flush: Callable[[Delta], None]) -> None:
        self._start = start
        self._flush = flush
        self._offset = 0
        self._pieces: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def write(self, text: str) -> None:
        self._pieces.append(text)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COALESCE, self._due)

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _due(self) -> None:
        self._timer = None
        text, self._pieces = "".join(self._pieces), []
        self._flush(self._start.model_copy(update={"offset": self._offset, "text": text}))
        self._offset += len(text)


class LocalLive:
    """`turnwright.domain.ports.LiveText` where API and worker share a process."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def round(self, run: Run, *, number: int, attempt: int, message_id: str) -> LiveRound:
        start = first(run, number=number, attempt=attempt, message_id=message_id)
        return _LocalRound(start, self._hub)

    def progress(self, run: Run, tool_call_id: str, name: str, text: str) -> None:
        self._hub.show(
            Progress(
                session_id=run.session_id,
                run_id=run.id,
                tool_call_id=tool_call_id,
                name=name,
                text=text,
            )
        )


class _LocalRound(LiveRound):
    def __init__(self, start: Delta, hub: Hub) -> None:
        super().__init__(start, hub.grow)
        self._hub = hub

    async def close(self) -> None:
        await super().close()
        self._hub.forget(self._start.run_id)


def first(run: Run, *, number: int, attempt: int, message_id: str) -> Delta:
    """The empty beginning of a round's text."""
    return Delta(
        session_id=run.session_id,
        run_id=run.id,
        round=number,
        attempt=attempt,
        message_id=message_id,
        offset=0,
        text="",
    )
