"""Recomputing the projections from the log, and mending what differs.

A row of `sessions` or `runs` holds three kinds of things. Ids and the tenant are whose it is, and
stay. Which execution owns a run is Temporal's to say, and stays. All the rest follows from the
events, and is written here as `turnwright.domain.evolve` folds it: the function that the live run
uses too. A run that is not in the log yet (`starting`) stays as it is. What is queued is a row of
the inbox that the log knows, and is mended too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Row, delete, insert, select, update

from turnwright.domain.errors import NotFound
from turnwright.domain.events import Event, RunStarted
from turnwright.domain.evolve import fold, fold_session
from turnwright.domain.queue import fold_queue
from turnwright.domain.run import Run, RunStatus
from turnwright.domain.sessions import Session
from turnwright.store.difference import Difference, differing
from turnwright.store.engine import Database, Tx
from turnwright.store.event_log import SessionRow, lock_session, read_events
from turnwright.store.rebuild_queue import mend_queue
from turnwright.store.run_rows import columns
from turnwright.store.tables import runs, sessions

BATCH = 200
"""Sessions whose ids are read at once."""

_SESSION = tuple(name for name in Session.model_fields if name not in ("id", "active_run"))


@dataclass(kw_only=True)
class Report:
    """What was compared, and what differed and is mended."""

    sessions: int = 0
    runs: int = 0
    differences: list[Difference] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether every row was as the log says."""
        return not self.differences


async def rebuild(database: Database) -> Report:
    """Make every row what the log says, each session in a transaction of its own.

    Sessions may go on meanwhile. Raises `UnknownEvent` for a log that a newer version wrote; of
    that session nothing is changed.
    """
    report, after = Report(), ""
    while ids := await database.read(_session_ids, after):
        for session_id in ids:
            found = await database.write(rebuild_session, session_id)
            report.sessions += found.sessions
            report.runs += found.runs
            report.differences += found.differences
        after = ids[-1]
    return report


def rebuild_session(tx: Tx, session_id: str) -> Report:
    """Make the session's row and its runs' rows what its log says."""
    try:
        row = lock_session(tx, session_id)
    except NotFound:
        return Report()
    log = read_events(tx, session_id=session_id)
    report = Report(sessions=1)
    report.differences += _mend_session(tx, row, fold_session(log))
    rows = {
        found.id: found
        for found in tx.connection.execute(select(runs).where(runs.c.session_id == session_id))
    }
    folded = {run.id: run for run in _runs(log)}
    report.runs = len(folded)
    report.differences += _remove_surplus(tx, rows, folded)
    # Ended runs first: the index that allows one active root run is never in the way.
    for run in sorted(folded.values(), key=lambda run: run.status.active):
        report.differences += _mend_run(tx, rows.get(run.id), run, tenant=row.tenant)
    report.differences += mend_queue(tx, row, fold_queue(log), begun=folded.keys())
    return report


def _session_ids(tx: Tx, after: str) -> Sequence[str]:
    query = select(sessions.c.id).where(sessions.c.id > after)
    return tx.connection.scalars(query.order_by(sessions.c.id).limit(BATCH)).all()


def _runs(log: list[Event]) -> Iterator[Run]:
    of_runs = sorted((x for x in log if x.run_id is not None), key=attrgetter("run_id"))
    for _, events in groupby(of_runs, key=attrgetter("run_id")):
        mine = list(events)
        if any(event.type == RunStarted.type for event in mine):
            yield fold(mine)


def _mend_session(tx: Tx, row: SessionRow, said: Session) -> Iterator[Difference]:
    values = {name: getattr(said, name) for name in _SESSION}
    if fields := differing(values, row):
        tx.connection.execute(update(sessions).where(sessions.c.id == row.id).values(values))
        yield Difference(id=row.id, fields=fields)


def _mend_run(tx: Tx, row: Row[Any] | None, said: Run, *, tenant: str) -> Iterator[Difference]:
    values = columns(said)
    if row is None:
        tx.connection.execute(insert(runs).values(tenant=tenant, **values))
        yield Difference(id=said.id)
        return
    values["execution_id"] = row.execution_id
    if fields := differing(values, row):
        tx.connection.execute(update(runs).where(runs.c.id == said.id).values(values))
        yield Difference(id=said.id, fields=fields)


def _remove_surplus(
    tx: Tx, rows: dict[str, Row[Any]], folded: dict[str, Run]
) -> Iterator[Difference]:
    for row in rows.values():
        if row.id not in folded and row.status != RunStatus.STARTING:
            tx.connection.execute(delete(runs).where(runs.c.id == row.id))
            yield Difference(id=row.id, surplus=True)
