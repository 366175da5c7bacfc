"""Live text between processes: kept in the database while a round streams, shown by NOTIFY."""

import asyncio
from collections import deque

import structlog

from turnwright.domain.errors import Unavailable
from turnwright.domain.run import Run
from turnwright.live import Delta, LiveRound, Progress, first
from turnwright.store.engine import Database
from turnwright.store.notify import PostgresHints, keep_text, kept_texts

log = structlog.get_logger()

PIECE = 1000
"""Code points a frame: as JSON it fits into a NOTIFY, whatever they are."""


class SharedLive:
    """`turnwright.domain.ports.LiveText` on PostgreSQL."""

    def __init__(self, database: Database, hints: PostgresHints) -> None:
        self._database = database
        self._hints = hints

    def round(self, run: Run, *, number: int, attempt: int, message_id: str) -> LiveRound:
        start = first(run, number=number, attempt=attempt, message_id=message_id)
        return _SharedRound(start, self._database, self._hints)

    def progress(self, run: Run, tool_call_id: str, name: str, text: str) -> None:
        self._hints.show(
            Progress(
                session_id=run.session_id,
                run_id=run.id,
                tool_call_id=tool_call_id,
                name=name,
                text=text[:PIECE],
            )
        )

    async def texts(self, session_id: str) -> list[Delta]:
        """The text so far of each round that is streaming in the session, from its beginning."""
        return await self._database.read(kept_texts, session_id)


class _SharedRound(LiveRound):
    """Keeps and shows each piece behind the round's back: a slow database never slows it."""

    def __init__(self, start: Delta, database: Database, hints: PostgresHints) -> None:
        super().__init__(start, self._later)
        self._database = database
        self._hints = hints
        self._waiting: deque[Delta] = deque()
        self._task: asyncio.Task[None] | None = None

    async def close(self) -> None:
        await super().close()
        if self._task is not None:
            await self._task

    def _later(self, piece: Delta) -> None:
        self._waiting += (
            piece.model_copy(
                update={"offset": piece.offset + at, "text": piece.text[at : at + PIECE]}
            )
            for at in range(0, len(piece.text), PIECE)
        )
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._drain())

    async def _drain(self) -> None:
        while self._waiting:
            pieces = list(self._waiting)
            self._waiting.clear()
            try:
                await self._database.write(keep_text, pieces)
            except Unavailable:
                log.warning("live_text_lost", run_id=pieces[0].run_id)
            for piece in pieces:
                self._hints.show(piece)
