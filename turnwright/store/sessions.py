"""Sessions: creation, change, closing, erasing. Each is one transaction with its event."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import JsonValue
from sqlalchemy import ColumnElement, Row, Select, and_, delete, insert, select, update

from turnwright.domain.errors import NotFound, SessionBusy
from turnwright.domain.events import Metadata, SessionClosed, SessionCreated, SessionUpdated
from turnwright.domain.ids import new_id
from turnwright.domain.run import ACTIVE, RunStatus
from turnwright.domain.sessions import ActiveRun, Mode, Session
from turnwright.store.engine import Tx
from turnwright.store.event_log import Draft, SessionRow, append, lock_session
from turnwright.store.queue import withdraw_all
from turnwright.store.run_rows import active_root
from turnwright.store.tables import live_texts, runs, sessions

Change = Literal["agent", "title", "metadata"]


@dataclass(frozen=True, kw_only=True)
class NewSession:
    """A session that is asked for."""

    tenant: str
    agent: str
    mode: Mode = "conversation"
    room: str | None = None
    title: str | None = None
    metadata: Metadata | None = None


@dataclass(frozen=True, kw_only=True)
class SessionChange:
    """What a PATCH asks for: the fields it names, and whether it closes."""

    values: dict[Change, Any] = field(default_factory=dict)
    close: bool = False


def create_session(tx: Tx, new: NewSession) -> Session:
    """The session and its `session.created`."""
    session_id = new_id("ses")
    tx.connection.execute(
        insert(sessions).values(
            id=session_id,
            tenant=new.tenant,
            agent=new.agent,
            mode=new.mode,
            room=new.room,
            title=new.title,
            metadata=new.metadata,
            status="open",
            last_sequence=0,
            created_at=tx.now,
            updated_at=tx.now,
        )
    )
    created = SessionCreated(
        agent=new.agent, mode=new.mode, room=new.room, title=new.title, metadata=new.metadata
    )
    append(tx, session_id, [Draft(data=created)])
    return get_session(tx, session_id, tenant=new.tenant)


def change_session(tx: Tx, session_id: str, change: SessionChange, *, tenant: str) -> Session:
    """Apply a change and log it. Closing what is closed, and changing nothing, log nothing.

    Raises `NotFound`, and `SessionBusy` for closing while a run is active.
    """
    row = lock_session(tx, session_id, tenant=tenant)
    changed = {k: v for k, v in change.values.items() if _differ(getattr(row, k), v)}
    if changed:
        tx.connection.execute(update(sessions).where(sessions.c.id == session_id).values(**changed))
        state = _state(row) | changed
        append(tx, session_id, [Draft(data=SessionUpdated(**state))])
    if change.close and row.status == "open":
        _refuse_busy(tx, session_id)
        close(tx, lock_session(tx, session_id))
    return get_session(tx, session_id, tenant=tenant)


def close(tx: Tx, row: SessionRow) -> None:
    """Withdraw what is queued, close the session and log it. Its row has to be locked."""
    withdraw_all(tx, row)
    tx.connection.execute(
        update(sessions).where(sessions.c.id == row.id).values(status="closed", closed_at=tx.now)
    )
    append(tx, row.id, [Draft(data=SessionClosed(**_state(row)))])


def erase_session(tx: Tx, session_id: str, *, tenant: str) -> None:
    """Erase the session and all that belongs to it. Erasing what is gone is fine.

    Raises `SessionBusy` while a run is active.
    """
    try:
        lock_session(tx, session_id, tenant=tenant)
    except NotFound:
        return
    _refuse_busy(tx, session_id)
    tx.connection.execute(delete(live_texts).where(live_texts.c.session_id == session_id))
    tx.connection.execute(delete(sessions).where(sessions.c.id == session_id))
    tx.appended[session_id] = []


def get_session(tx: Tx, session_id: str, *, tenant: str) -> Session:
    """The session. Raises `NotFound`, also for a session of another tenant."""
    row = tx.connection.execute(
        _query().where(sessions.c.id == session_id, sessions.c.tenant == tenant)
    ).one_or_none()
    if row is None:
        raise NotFound(f"There is no session {session_id}.")
    return _to_session(row)


def list_sessions(
    tx: Tx,
    *,
    tenant: str,
    limit: int,
    before: str | None = None,
    room: str | None = None,
    agent: str | None = None,
    status: tuple[str, ...] = (),
) -> list[Session]:
    """Sessions, newest first, with an id before `before`."""
    wanted: list[ColumnElement[bool]] = [sessions.c.tenant == tenant]
    if before is not None:
        wanted.append(sessions.c.id < before)
    if room is not None:
        wanted.append(sessions.c.room == room)
    if agent is not None:
        wanted.append(sessions.c.agent == agent)
    if status:
        wanted.append(sessions.c.status.in_(status))
    rows = tx.connection.execute(
        _query().where(*wanted).order_by(sessions.c.id.desc()).limit(limit)
    )
    return [_to_session(row) for row in rows]


def _query() -> Select[Any]:
    active = and_(
        runs.c.session_id == sessions.c.id,
        runs.c.parent_run_id.is_(None),
        runs.c.status.in_(ACTIVE),
    )
    return select(
        sessions, runs.c.id.label("active_run_id"), runs.c.status.label("active_run_status")
    ).select_from(sessions.outerjoin(runs, active))


def _to_session(row: Row[Any]) -> Session:
    active = None
    if row.active_run_id is not None:
        active = ActiveRun(id=row.active_run_id, status=RunStatus(row.active_run_status))
    fields = Session.model_fields.keys() - {"active_run"}
    return Session(**{name: getattr(row, name) for name in fields}, active_run=active)


def _differ(before: JsonValue, after: JsonValue) -> bool:
    """Whether two values read differently as JSON. Python takes 1, 1.0 and True for equal."""
    return json.dumps(before) != json.dumps(after)


def _state(row: SessionRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("agent", "mode", "room", "title", "metadata")}


def _refuse_busy(tx: Tx, session_id: str) -> None:
    run = active_root(tx, session_id)
    if run is not None:
        raise SessionBusy(run_id=run.id, run_status=run.status, session_id=session_id)
