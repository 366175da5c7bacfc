"""Opening a run: an execution takes it over, and starts it if it is `starting`."""

from sqlalchemy import bindparam, delete, select

from turnwright.domain import events as e
from turnwright.domain.errors import Held, NotFound
from turnwright.domain.history import CONVERSATION, to_be_redone
from turnwright.domain.ports import Owner, Recorded
from turnwright.domain.run import Run, RunStatus
from turnwright.store.engine import Tx
from turnwright.store.event_log import read_events
from turnwright.store.inbox import user_message
from turnwright.store.inputs import take
from turnwright.store.run_rows import Fact, Locked, lock_run, record, save_run
from turnwright.store.tables import inbox, runs

_TRIGGER = (
    delete(inbox)
    .where(inbox.c.id == bindparam("message_id"), inbox.c.kind == "message")
    .returning(inbox)
)
_NEWEST = (
    select(runs.c.id)
    .where(runs.c.session_id == bindparam("of_session"), runs.c.parent_run_id.is_(None))
    .order_by(runs.c.id.desc())
    .limit(1)
)


def open_run(tx: Tx, owner: Owner, *, displaces: str | None, reopens: bool) -> Recorded:
    """See `turnwright.domain.ports.Runs.open`."""
    locked = lock_run(tx, owner)
    run = locked.run
    if run.execution_id == owner.execution_id:
        return _all(tx, run)
    if run.status.active:
        if run.execution_id not in (None, displaces):
            raise Held(run.execution_id)
        run = run.model_copy(update={"execution_id": owner.execution_id})
        if run.status is RunStatus.STARTING:
            return _start(tx, locked, run)
        save_run(tx, run)
    elif reopens and run.status is RunStatus.FAILED and newest_root(tx, run.session_id) == run.id:
        if run.execution_id not in (None, displaces):
            raise Held(run.execution_id)
        reopened = e.RunReopened(execution_id=owner.execution_id)
        run, _ = record(tx, run, [(f"{run.id}/reopened/{owner.execution_id}", reopened)])
    return _all(tx, run)


def newest_root(tx: Tx, session_id: str) -> str | None:
    """The id of the session's newest run that is nobody's child."""
    return tx.connection.scalar(_NEWEST, {"of_session": session_id})


def _start(tx: Tx, locked: Locked, run: Run) -> Recorded:
    started = e.RunStarted(**{name: getattr(run, name) for name in e.RunStarted.model_fields})
    facts: list[Fact] = [*_trigger(tx, run), (f"{run.id}/started", started), *_redone(tx, run)]
    run, appended = record(tx, run, facts)
    run, taken = take(tx, locked, run)
    return Recorded(run=run, log=(*appended, *taken))


def _trigger(tx: Tx, run: Run) -> list[Fact]:
    if run.retry_of is not None:
        # It is in the log, as the first attempt's.
        return []
    row = tx.connection.execute(_TRIGGER, {"message_id": run.trigger_message_id}).one_or_none()
    if row is None:
        raise NotFound(f"run {run.id} has no trigger in the inbox")
    return [(f"{row.id}/said", user_message(row))]


def _redone(tx: Tx, run: Run) -> list[Fact]:
    """The calls of the attempt before that have no result to keep: they are this run's now."""
    if run.retry_of is None or run.retry_from != "checkpoint":
        return []
    log = read_events(tx, session_id=run.session_id, types=CONVERSATION)
    return [
        (f"{run.id}/call/{call.tool_call_id}/called", call.model_copy(update={"round": 0}))
        for call in to_be_redone(log, run.retry_of)
    ]


def _all(tx: Tx, run: Run) -> Recorded:
    return Recorded(run=run, log=tuple(read_events(tx, run_id=run.id)))
