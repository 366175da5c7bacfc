"""Hints between processes: that a log has grown, and live text.

PostgreSQL carries both by NOTIFY, sent after the commit (inside it, it costs half the throughput)
and coalesced. SQLite's processes watch its data version, and share no live text. Losing a hint
costs a reader a slow poll, and nothing else.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress

import psycopg
import structlog
from psycopg import AsyncConnection, Notify
from pydantic import TypeAdapter
from sqlalchemy import make_url, select

from turnwright.live import Appended, Delta, Frame, Hub
from turnwright.store.engine import Tx
from turnwright.store.tables import live_texts

log = structlog.get_logger()

LOG_CHANNEL = "turnwright_log"
LIVE_CHANNEL = "turnwright_live"
IDS_A_NOTE = 200
"""A NOTIFY holds 7,999 bytes, and an id takes 31."""
RECONNECT = 1.0
"""Seconds between tries to listen again."""
WATCH = 0.02
"""Seconds between looks at SQLite's data version: 5 µs each."""

_FRAME: TypeAdapter[Frame] = TypeAdapter(Frame)


class PostgresHints:
    """Tells the other processes of what was committed here, and the hub of what they did.

    One connection listens and one sends, whatever the number of streams.
    """

    def __init__(self, url: str, hub: Hub) -> None:
        self._url = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        self._hub = hub
        self._sessions: set[str] = set()
        self._frames: list[Frame] = []
        self._due = asyncio.Event()
        self._sender_pid = 0

    def committed(self, appended: Appended) -> None:
        """A transaction of this process has appended this."""
        self._hub.grown(appended)
        self._sessions |= appended.keys()
        self._due.set()

    def show(self, frame: Frame) -> None:
        """Show a live frame here and in the other processes."""
        self._hub.show(frame)
        self._frames.append(frame)
        self._due.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send and listen until the context is left, through every loss of the database."""
        tasks = [asyncio.create_task(self._keep(work)) for work in (self._listen, self._send)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep(self, work: Callable[[AsyncConnection], Awaitable[None]]) -> None:
        while True:
            try:
                async with await AsyncConnection.connect(
                    self._url, autocommit=True, connect_timeout=5
                ) as connection:
                    await work(connection)
            except psycopg.OperationalError as error:
                log.warning("hints_lost", because=type(error).__name__)
                await asyncio.sleep(RECONNECT)

    async def _listen(self, connection: AsyncConnection) -> None:
        for channel in (LOG_CHANNEL, LIVE_CHANNEL):
            await connection.execute(f"LISTEN {channel}")
        self._hub.wake_all()
        async for note in connection.notifies():
            if note.pid != self._sender_pid:
                self._take(note)

    def _take(self, note: Notify) -> None:
        if note.channel == LOG_CHANNEL:
            self._hub.wake(set(note.payload.split(",")))
        else:
            self._hub.show(_FRAME.validate_json(note.payload))

    async def _send(self, connection: AsyncConnection) -> None:
        self._sender_pid = connection.info.backend_pid
        while True:
            await self._due.wait()
            self._due.clear()
            sessions, self._sessions = list(self._sessions), set()
            frames, self._frames = self._frames, []
            # Live text first: its end is a commit, whose hint is in this batch at the earliest.
            notes = [(LIVE_CHANNEL, frame.model_dump_json()) for frame in frames]
            notes += [
                (LOG_CHANNEL, ",".join(sessions[i : i + IDS_A_NOTE]))
                for i in range(0, len(sessions), IDS_A_NOTE)
            ]
            async with connection.cursor() as cursor:
                await cursor.executemany("SELECT pg_notify(%s, %s)", notes)


@asynccontextmanager
async def watching_sqlite(url: str, hub: Hub) -> AsyncIterator[None]:
    """Wake the hub's readers when another process has written to the database."""

    async def watch() -> None:
        connection = sqlite3.connect(make_url(url).database or "", isolation_level=None)
        seen = None
        while True:
            if hub.has_readers:
                with suppress(sqlite3.OperationalError):
                    (version,) = connection.execute("PRAGMA data_version").fetchone()
                    if version != seen:
                        seen = version
                        hub.wake_all()
            await asyncio.sleep(WATCH)

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def keep_text(tx: Tx, pieces: Iterable[Delta]) -> None:
    """Keep pieces of a streaming round's text, for readers who join later."""
    tx.connection.execute(
        live_texts.insert(),
        [{**piece.model_dump(exclude={"offset"}), "start": piece.offset} for piece in pieces],
    )


def kept_texts(tx: Tx, session_id: str) -> list[Delta]:
    """The text so far of each round that is streaming in the session, from its beginning."""
    rows = tx.connection.execute(
        select(live_texts)
        .where(live_texts.c.session_id == session_id)
        .order_by(live_texts.c.round, live_texts.c.attempt, live_texts.c.start)
    )
    texts: dict[str, Delta] = {}
    for row in rows:
        piece = Delta(
            session_id=row.session_id,
            run_id=row.run_id,
            round=row.round,
            attempt=row.attempt,
            message_id=row.message_id,
            offset=0,
            text=row.text,
        )
        if row.start > 0 and (before := texts.get(row.run_id)) is not None:
            piece = before.model_copy(update={"text": before.text + row.text})
        texts[row.run_id] = piece
    return list(texts.values())
