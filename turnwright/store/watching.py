"""What happened to a tenant's runs, read so that across any resumption nothing is lost or doubled.

Positions are given before the commit, so that on PostgreSQL a change can become visible after one
of a higher position was read. A cursor therefore says which *transactions* were seen, as
PostgreSQL's own snapshots do, and what is read next are the changes of all others. On SQLite,
which has one writer, the position takes the place of the transaction's number.

A cursor reaches up to the newest change that was committed, never beyond: numbers of transactions
that left nothing may be given again after PostgreSQL has crashed.

One run's changes come in their order: they are written under its session's lock, so that whoever
sees the later one sees the earlier one too, at a lower position.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import ColumnElement, Row, Select, or_, select, text

from turnwright.domain.base import Frozen
from turnwright.domain.run import Run
from turnwright.store.engine import Tx
from turnwright.store.reading import RunFilter, list_runs
from turnwright.store.run_changes import KEPT
from turnwright.store.tables import run_changes

PAGE = 500
"""Changes that a watcher reads at once."""

Number = Annotated[int, Field(ge=0, lt=2**63)]

_NUMBERS = text(
    "SELECT pg_current_snapshot()::text AS snapshot, (SELECT max(xid) FROM run_changes"
    " WHERE xid < (pg_snapshot_xmax(pg_current_snapshot())::text)::bigint) AS newest"
)
_GIVEN = text("SELECT seq FROM sqlite_sequence WHERE name = 'run_changes'")


class Seen(Frozen):
    """The transactions with a number below `next`, without those that were still `open`."""

    next: Number
    open: Annotated[tuple[Number, ...], Field(max_length=10_000)] = ()


class Cursor(Frozen):
    """What a watcher has seen: all of `seen`, and of `upto` what is not after `position`."""

    at: Number
    """When nothing but `seen` was there yet, in seconds."""
    seen: Seen
    upto: Seen | None = None
    position: Number = 0


@dataclass(frozen=True)
class Change:
    """One change, and the cursor that goes on after it."""

    type: str
    run: Run
    cursor: Cursor


@dataclass(frozen=True)
class Changes:
    """The next changes. `cursor` goes on after them; `more`: there may be more right now."""

    changes: list[Change]
    cursor: Cursor
    more: bool


@dataclass(frozen=True)
class Entry:
    """Where a watcher begins. `active` is None where it goes on from a cursor of its own."""

    active: list[Run] | None
    cursor: Cursor


@dataclass(frozen=True)
class _Moment:
    """What the transaction sees: the newest change, and which numbers are given and open."""

    newest: int
    given: int
    open: tuple[int, ...]

    def seen(self, floor: int = 0) -> Seen:
        upto = max(floor, self.newest + 1)
        return Seen(next=upto, open=tuple(number for number in self.open if number < upto))


def enter(tx: Tx, last: Cursor | None, wanted: RunFilter, *, tenant: str) -> Entry:
    """Where a watcher begins that comes with the cursor `last`, or with none.

    A cursor is too old after `KEPT`; one that this database cannot have given counts as that.
    """
    if not _sqlite(tx):
        # Runs and cursor are to be those of one moment; SQLite's transactions always are.
        tx.connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
    moment, now = _moment(tx), int(tx.now.timestamp())
    if last is not None and last.at >= now - KEPT.total_seconds():
        reach = max(last.seen.next, last.upto.next if last.upto else 0)
        if reach <= moment.given + 1:
            return Entry(None, last)
    active = list_runs(tx, replace(wanted, active=True), tenant=tenant)
    return Entry(active, Cursor(at=now, seen=moment.seen()))


def next_changes(
    tx: Tx, cursor: Cursor, wanted: RunFilter, *, tenant: str, most: int = PAGE
) -> Changes:
    """The changes after the cursor that are wanted, `most` at once."""
    upto = cursor.upto or _moment(tx).seen(cursor.seen.next)
    rows: Sequence[Row[Any]] = ()
    if upto != cursor.seen:
        query = _query(tx, cursor, upto, wanted, tenant)
        rows = tx.connection.execute(query.limit(most)).all()
    full = len(rows) == most
    at = int(tx.now.timestamp()) if cursor.upto is None else cursor.at
    whole = Cursor(at=at, seen=upto)
    changes = [_change(row, cursor, upto) for row in rows]
    if changes and not full:
        changes[-1] = Change(changes[-1].type, changes[-1].run, whole)
    return Changes(
        changes=changes,
        cursor=changes[-1].cursor if full else whole,
        more=full or cursor.upto is not None,
    )


def _query(
    tx: Tx, cursor: Cursor, upto: Seen, wanted: RunFilter, tenant: str
) -> Select[tuple[Any, ...]]:
    row, seen = run_changes.c, cursor.seen
    number = row.position if _sqlite(tx) else row.xid
    unseen = number >= seen.next
    if seen.open:
        unseen = or_(unseen, number.in_(seen.open))
    where: list[ColumnElement[bool]] = [row.tenant == tenant, unseen, number < upto.next]
    if upto.open:
        where.append(number.not_in(upto.open))
    if cursor.position:
        where.append(row.position > cursor.position)
    where += [
        row[name] == value
        for name in ("session_id", "room", "actor")
        if (value := getattr(wanted, name)) is not None
    ]
    if wanted.status:
        # Whoever shows these runs has to learn that one is none of them any more.
        where.append(or_(row.status.in_(wanted.status), row.left_status.in_(wanted.status)))
    # The sum keeps PostgreSQL from going through a day's rows in this order, to find the few.
    return select(row.position, row.type, row.run).where(*where).order_by(row.position + 0)


def _change(row: Row[Any], cursor: Cursor, upto: Seen) -> Change:
    # A newer version's worker may have written fields that this one does not know.
    run = Run.model_validate_json(row.run, extra="ignore")
    return Change(
        row.type, run, Cursor(at=cursor.at, seen=cursor.seen, upto=upto, position=row.position)
    )


def _moment(tx: Tx) -> _Moment:
    if _sqlite(tx):
        given = tx.connection.scalar(_GIVEN) or 0
        return _Moment(newest=given, given=given, open=())
    row = tx.connection.execute(_NUMBERS).one()
    _, beyond, open_ = row.snapshot.split(":")
    return _Moment(
        newest=row.newest or 0,
        given=int(beyond) - 1,
        open=tuple(int(number) for number in open_.split(",") if number),
    )


def _sqlite(tx: Tx) -> bool:
    return tx.connection.dialect.name == "sqlite"
