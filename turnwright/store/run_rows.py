"""Runs as rows: written only as `evolve` says, from the events of the same transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, bindparam, exists, insert, select, update
from sqlalchemy.exc import IntegrityError

from turnwright.domain.errors import Fenced, NotFound, SessionBusy
from turnwright.domain.events import Event, EventData, RunStarted
from turnwright.domain.evolve import begin, evolve
from turnwright.domain.handoff import Start
from turnwright.domain.ports import Owner, Recorded
from turnwright.domain.run import ACTIVE, Run, RunIdentity
from turnwright.store.engine import Tx
from turnwright.store.event_log import Draft, SessionRow, append, read_events
from turnwright.store.run_changes import RunChange, note_changes
from turnwright.store.tables import inbox, runs, sessions

_JSON = ("waiting", "output", "failure", "usage", "limits")
_FIELDS = tuple(Run.model_fields)
_CHANGING = tuple(name for name in _FIELDS if name not in RunIdentity.model_fields)

# Built once: building a statement costs more than SQLite takes to run it.
_GET = select(runs).where(runs.c.id == bindparam("run_id"))
_GET_WITH_INBOX = select(
    runs,
    exists().where(inbox.c.run_id == runs.c.id).label("has_inputs"),
    exists()
    .where(inbox.c.session_id == runs.c.session_id, inbox.c.kind == "queued")
    .label("has_queue"),
).where(runs.c.id == bindparam("run_id"))
_ACTIVE_ROOT = select(runs).where(
    runs.c.session_id == bindparam("of_session"),
    runs.c.parent_run_id.is_(None),
    runs.c.status.in_(ACTIVE),
)
_SAVE = (
    update(runs)
    .where(runs.c.id == bindparam("run_id"))
    .values({name: bindparam(f"new_{name}") for name in _CHANGING})
)
_LOCK_OF_RUN = (
    select(sessions)
    .where(
        sessions.c.id
        == select(runs.c.session_id).where(runs.c.id == bindparam("run_id")).scalar_subquery()
    )
    .with_for_update()
)

Fact = tuple[str | None, EventData]
"""An event to be recorded, under its deduplication key."""


@dataclass(frozen=True)
class Locked:
    """A run whose session is held against every other writer until the transaction ends."""

    session: SessionRow
    run: Run
    owner: Owner
    has_inputs: bool = False
    """Something was accepted for the run, and is not in its log yet."""
    has_queue: bool = False
    """Messages wait for the session's active run to end."""

    def owned(self) -> Run:
        """The run, if it is active and this owner's. Raises `Fenced`."""
        run = self.run
        if run.execution_id != self.owner.execution_id or not run.status.active:
            raise Fenced(f"run {run.id} is {run.status}, and owned by {run.execution_id}")
        return run


def lock_run(tx: Tx, owner: Owner) -> Locked:
    """The run that `owner` means to write. Raises `NotFound`."""
    session = tx.connection.execute(_LOCK_OF_RUN, {"run_id": owner.run_id}).one_or_none()
    if session is None:
        raise NotFound(f"There is no run {owner.run_id}.")
    tx.now = datetime.now(UTC)
    # Read after the lock: before it, the rows may be those of an earlier moment.
    row = tx.connection.execute(_GET_WITH_INBOX, {"run_id": owner.run_id}).one()
    return Locked(session, to_run(row), owner, row.has_inputs, row.has_queue)


def to_run(row: Row[Any]) -> Run:
    """The run of a row."""
    return Run.model_validate({name: getattr(row, name) for name in _FIELDS})


def get_run(tx: Tx, run_id: str, *, tenant: str | None = None) -> Run:
    """The run. Raises `NotFound`, also for a run of another tenant."""
    row = tx.connection.execute(_GET, {"run_id": run_id}).one_or_none()
    if row is None or tenant not in (None, row.tenant):
        raise NotFound(f"There is no run {run_id}.")
    return to_run(row)


def active_root(tx: Tx, session_id: str) -> Run | None:
    """The session's one active root run, if there is one."""
    row = tx.connection.execute(_ACTIVE_ROOT, {"of_session": session_id}).one_or_none()
    return None if row is None else to_run(row)


def insert_run(tx: Tx, run: Run, *, tenant: str) -> None:
    """A new run's row; its execution is started then.

    Raises `SessionBusy` where the session has an active root run.
    """
    try:
        tx.connection.execute(insert(runs), {"tenant": tenant, **columns(run)})
    except IntegrityError as error:
        if "uq_runs_one_active_root" in str(error) or "runs.session_id" in str(error):
            raise SessionBusy(session_id=run.session_id) from error
        raise
    tx.handed.append(Start(run))


def save_run(tx: Tx, run: Run) -> None:
    """Make the row what `run` says."""
    values = columns(run)
    tx.connection.execute(
        _SAVE, {"run_id": run.id, **{f"new_{name}": values[name] for name in _CHANGING}}
    )


def record(tx: Tx, run: Run, facts: Sequence[Fact]) -> tuple[Run, list[Event]]:
    """Append the run's events under their keys, and its row and its changes with them.

    The session's row has to be locked. Returns the run as it then is, and its new events.
    """
    drafts = [Draft(data=data, run_id=run.id, key=key) for key, data in facts]
    appended = append(tx, run.session_id, drafts)
    changes: list[RunChange] = []
    for event, (_, data) in zip(appended, facts, strict=True):
        left, run = run.status, _fold_in(run, event, data)
        if data.type.startswith("run."):
            changes.append(RunChange(data.type, left, run))
    save_run(tx, run)
    note_changes(tx, changes)
    return run, appended


def since(tx: Tx, run: Run, event: Event) -> Recorded:
    """What a step that is repeated has recorded before: the run's log from this event on."""
    return Recorded(run=run, log=tuple(read_events(tx, run_id=run.id, after=event.sequence - 1)))


def recorded(
    tx: Tx, locked: Locked, run: Run, appended: Sequence[Event], *, after: int
) -> Recorded:
    """What a step appended, and what a lost attempt at it did.

    That is what the log holds `after` this sequence; 0 if the caller does not know where it is.
    """
    if 0 < after < locked.run.last_sequence:
        return Recorded(run=run, log=tuple(read_events(tx, run_id=run.id, after=after)))
    return Recorded(run=run, log=tuple(appended))


def _fold_in(run: Run, event: Event, data: EventData) -> Run:
    return begin(event, data) if isinstance(data, RunStarted) else evolve(run, event, data)


def columns(run: Run) -> dict[str, Any]:
    """The row's values of a run."""
    values = {name: getattr(run, name) for name in _FIELDS}
    for name in _JSON:
        value = values[name]
        values[name] = None if value is None else value.model_dump(mode="json")
    return values
