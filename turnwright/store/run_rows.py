"""Runs as rows: written only as `evolve` says, from the events of the same transaction."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from turnwright.domain.errors import NotFound, SessionBusy
from turnwright.domain.events import Event, EventData, RunStarted
from turnwright.domain.evolve import begin, evolve
from turnwright.domain.run import ACTIVE, Run
from turnwright.store.engine import Tx
from turnwright.store.event_log import Draft, append
from turnwright.store.tables import runs

_JSON = ("waiting", "output", "failure", "usage", "limits")
_FIELDS = tuple(Run.model_fields)


def to_run(row: Row[Any]) -> Run:
    """The run of a row."""
    return Run.model_validate({name: getattr(row, name) for name in _FIELDS})


def get_run(tx: Tx, run_id: str, *, tenant: str | None = None) -> Run:
    """The run. Raises `NotFound`, also for a run of another tenant."""
    row = tx.connection.execute(select(runs).where(runs.c.id == run_id)).one_or_none()
    if row is None or tenant not in (None, row.tenant):
        raise NotFound(f"There is no run {run_id}.")
    return to_run(row)


def active_root(tx: Tx, session_id: str) -> Run | None:
    """The session's one active root run, if there is one."""
    row = tx.connection.execute(
        select(runs).where(
            runs.c.session_id == session_id,
            runs.c.parent_run_id.is_(None),
            runs.c.status.in_(ACTIVE),
        )
    ).one_or_none()
    return None if row is None else to_run(row)


def insert_run(tx: Tx, run: Run, *, tenant: str) -> None:
    """A new run's row. Raises `SessionBusy` where the session has an active root run."""
    try:
        tx.connection.execute(insert(runs).values(tenant=tenant, **columns(run)))
    except IntegrityError as error:
        if "uq_runs_one_active_root" in str(error) or "runs.session_id" in str(error):
            raise SessionBusy(session_id=run.session_id) from error
        raise


def save_run(tx: Tx, run: Run) -> None:
    """Make the row what `run` says."""
    tx.connection.execute(update(runs).where(runs.c.id == run.id).values(**columns(run)))


def record(tx: Tx, run: Run, *facts: tuple[str | None, EventData]) -> Run:
    """Append the run's events under their keys, and its row with them.

    The session's row has to be locked. Returns the run as it then is.
    """
    drafts = [Draft(data=data, run_id=run.id, key=key) for key, data in facts]
    appended = append(tx, run.session_id, drafts)
    run = fold_in(run, appended, [data for _, data in facts])
    save_run(tx, run)
    return run


def fold_in(run: Run, appended: Sequence[Event], facts: Sequence[EventData]) -> Run:
    """The run after these of its events."""
    for event, data in zip(appended, facts, strict=True):
        if isinstance(data, RunStarted):
            run = begin(event, data)
        else:
            run = evolve(run, event, data)
    return run


def columns(run: Run) -> dict[str, Any]:
    """The row's values of a run."""
    values = {name: getattr(run, name) for name in _FIELDS}
    for name in _JSON:
        value = values[name]
        values[name] = None if value is None else value.model_dump(mode="json")
    return values
