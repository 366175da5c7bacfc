"""What callers read: lists of runs, pages of a log, and where live text stands in it."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, bindparam, select, text

from turnwright.domain import events as e
from turnwright.domain.errors import NotFound
from turnwright.domain.events import Event, upcast
from turnwright.domain.run import ACTIVE, TERMINAL, Run
from turnwright.store.engine import Tx
from turnwright.store.event_log import read_events
from turnwright.store.run_rows import get_run, to_run
from turnwright.store.tables import events, runs, sessions

PAGE = 200
"""Events that a stream reads at once."""

_EXISTS = select(sessions.c.id).where(sessions.c.id == bindparam("of_session"))

_MARKS = (
    e.RunStarted.type,
    e.RoundStarted.type,
    e.RoundFinished.type,
    *(ending.type for ending in e.ENDINGS.values()),
)


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """Which runs are wanted. What is None is not asked for."""

    session_id: str | None = None
    room: str | None = None
    actor: str | None = None
    status: tuple[str, ...] = ()
    active: bool | None = None
    parent_run_id: str | None = None
    root_run_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Page:
    """The next events of a log. `more`: there are more; `over`: there will be no others."""

    events: list[Event]
    more: bool
    over: bool


def ping(tx: Tx) -> None:
    """Ask the database for anything at all."""
    tx.connection.execute(text("SELECT 1"))


def require_session(tx: Tx, session_id: str, *, tenant: str) -> None:
    """Raises `NotFound` for a session that the tenant does not have."""
    owner = tx.connection.scalar(select(sessions.c.tenant).where(sessions.c.id == session_id))
    if owner != tenant:
        raise NotFound(f"There is no session {session_id}.")


def list_runs(
    tx: Tx,
    wanted: RunFilter,
    *,
    tenant: str,
    limit: int | None = None,
    before: str | None = None,
) -> list[Run]:
    """Runs, newest first, children included, with an id before `before`."""
    where: list[ColumnElement[bool]] = [runs.c.tenant == tenant]
    if before is not None:
        where.append(runs.c.id < before)
    for name in ("session_id", "room", "actor", "parent_run_id", "root_run_id"):
        value = getattr(wanted, name)
        if value is not None:
            where.append(runs.c[name] == value)
    if wanted.status:
        where.append(runs.c.status.in_(wanted.status))
    if wanted.active is not None:
        where.append(runs.c.status.in_(ACTIVE if wanted.active else tuple(TERMINAL)))
    rows = tx.connection.execute(select(runs).where(*where).order_by(runs.c.id.desc()).limit(limit))
    return [to_run(row) for row in rows]


def session_page(tx: Tx, session_id: str, *, after: int) -> Page:
    """The session's log after a sequence. Raises `NotFound` once it is erased."""
    found = read_events(tx, session_id=session_id, after=after, limit=PAGE)
    if not found and tx.connection.scalar(_EXISTS, {"of_session": session_id}) is None:
        raise NotFound(f"There is no session {session_id}.")
    return Page(events=[upcast(event) for event in found], more=len(found) == PAGE, over=False)


def run_page(tx: Tx, run_id: str, *, after: int) -> Page:
    """One run's events after a sequence. Raises `NotFound` once its session is erased.

    `over` when the run has ended and its terminal event is in this page or before it.
    """
    run = get_run(tx, run_id)
    found = read_events(tx, session_id=run.session_id, run_id=run_id, after=after, limit=PAGE)
    more = len(found) == PAGE
    over = not more and not run.status.active
    return Page(events=[upcast(event) for event in found], more=more, over=over)


def open_rounds(tx: Tx, session_id: str, *, upto: int) -> Mapping[str, int | None]:
    """The session's runs that go on, as its log says at `upto`, each with its streaming round."""
    found: dict[str, int | None] = {}
    going = select(runs.c.id).where(runs.c.session_id == session_id, runs.c.status.in_(ACTIVE))
    for run_id in tx.connection.scalars(going).all():
        last = tx.connection.execute(
            select(events.c.type, events.c.data)
            .where(
                events.c.run_id == run_id,
                events.c.sequence <= upto,
                events.c.type.in_(_MARKS),
            )
            .order_by(events.c.sequence.desc())
            .limit(1)
        ).one_or_none()
        if last is not None:
            found[run_id] = last.data["round"] if last.type == e.RoundStarted.type else None
    return found
