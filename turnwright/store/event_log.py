"""Appending to a session's log, and reading it.

A sequence is given under the session's row lock, in the transaction that inserts the event: no
gap, no double, whatever is rolled back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import Row, Select, bindparam, insert, select, update

from turnwright.domain.errors import NotFound
from turnwright.domain.events import Event, EventData
from turnwright.domain.ids import new_id
from turnwright.store.engine import Tx
from turnwright.store.tables import events, sessions

SessionRow = Row[Any]

_LOCK = select(sessions).where(sessions.c.id == bindparam("session_id")).with_for_update()
_ADVANCE = (
    update(sessions)
    .where(sessions.c.id == bindparam("of_session"))
    .values(last_sequence=sessions.c.last_sequence + bindparam("more"), updated_at=bindparam("now"))
    .returning(sessions.c.last_sequence)
)
_INSERT = insert(events)
_FIND = select(events).where(
    events.c.session_id == bindparam("of_session"),
    events.c.key.in_(bindparam("keys", expanding=True)),
)


@dataclass(frozen=True, kw_only=True)
class Draft:
    """An event to be appended. `key` makes it one of a kind in its session."""

    data: EventData
    run_id: str | None = None
    key: str | None = None


def lock_session(tx: Tx, session_id: str, *, tenant: str | None = None) -> SessionRow:
    """The session's row, held against every other writer until this transaction ends.

    The transaction's moment is that of the lock, so that times follow sequences.

    Raises `NotFound`, also for a session of another tenant.
    """
    row = tx.connection.execute(_LOCK, {"session_id": session_id}).one_or_none()
    if row is None or tenant not in (None, row.tenant):
        raise NotFound(f"There is no session {session_id}.")
    tx.now = datetime.now(UTC)
    return row


def append(tx: Tx, session_id: str, drafts: Sequence[Draft]) -> list[Event]:
    """Append to the log, in order. The session's row has to be locked by this transaction.

    A key that is in the log already breaks `uq_events_session_id_key`: the steps look for their
    own record first, so that is a fault, and nothing is written.
    """
    last = tx.connection.execute(
        _ADVANCE, {"of_session": session_id, "more": len(drafts), "now": tx.now}
    ).scalar_one()
    appended = [
        Event(
            id=new_id("evt"),
            session_id=session_id,
            sequence=sequence,
            type=draft.data.type,
            schema_version=draft.data.version,
            run_id=draft.run_id,
            created_at=tx.now,
            data=draft.data.model_dump(mode="json"),
        )
        for sequence, draft in enumerate(drafts, last - len(drafts) + 1)
    ]
    tx.connection.execute(
        _INSERT,
        [
            {**_columns(event), "key": draft.key}
            for event, draft in zip(appended, drafts, strict=True)
        ],
    )
    tx.appended.setdefault(session_id, []).extend(appended)
    return appended


def find(tx: Tx, session_id: str, *keys: str) -> dict[str, Event]:
    """What is recorded under these keys, by key."""
    rows = tx.connection.execute(_FIND, {"of_session": session_id, "keys": keys})
    return {row.key: to_event(row) for row in rows}


def read_events(
    tx: Tx,
    *,
    session_id: str | None = None,
    run_id: str | None = None,
    after: int = 0,
    types: Iterable[str] | None = None,
    limit: int | None = None,
) -> list[Event]:
    """Events in order, of a session or of one run, with a sequence greater than `after`."""
    query = _reading(
        of_session=session_id is not None,
        of_run=run_id is not None,
        types=None if types is None else tuple(types),
        limited=limit is not None,
    )
    values = {"of_session": session_id, "of_run": run_id, "after": after, "most": limit}
    return [to_event(row) for row in tx.connection.execute(query, values)]


@cache
def _reading(
    *, of_session: bool, of_run: bool, types: tuple[str, ...] | None, limited: bool
) -> Select[Any]:
    """The statement for one way of reading; there are few, and each is read often."""
    query = select(events).where(events.c.sequence > bindparam("after")).order_by(events.c.sequence)
    if of_session:
        query = query.where(events.c.session_id == bindparam("of_session"))
    if of_run:
        query = query.where(events.c.run_id == bindparam("of_run"))
    if types is not None:
        query = query.where(events.c.type.in_(types))
    if limited:
        query = query.limit(bindparam("most"))
    return query


def to_event(row: Row[Any]) -> Event:
    """The event of a row."""
    return Event(
        id=row.id,
        session_id=row.session_id,
        sequence=row.sequence,
        type=row.type,
        schema_version=row.schema_version,
        run_id=row.run_id,
        created_at=row.created_at,
        data=row.data,
    )


def _columns(event: Event) -> dict[str, Any]:
    return {name: getattr(event, name) for name in Event.__slots__}
