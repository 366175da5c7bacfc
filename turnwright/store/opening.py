"""Opening a run: an execution takes it over, and starts it if it is `starting`."""

from sqlalchemy import bindparam, delete

from turnwright.domain import events as e
from turnwright.domain.errors import Held, NotFound
from turnwright.domain.ports import Opened, Owner
from turnwright.domain.run import Run, RunStatus
from turnwright.store.engine import Tx
from turnwright.store.event_log import read_events
from turnwright.store.inbox import user_message
from turnwright.store.run_rows import lock_run, record, save_run
from turnwright.store.tables import inbox

_TAKE = delete(inbox).where(inbox.c.id == bindparam("message_id")).returning(inbox)


def open_run(tx: Tx, owner: Owner, displaces: str | None) -> Opened:
    """See `turnwright.domain.ports.Runs.open`."""
    run = lock_run(tx, owner).run
    if run.execution_id != owner.execution_id and run.status.active:
        if run.execution_id not in (None, displaces):
            raise Held(run.execution_id)
        run = run.model_copy(update={"execution_id": owner.execution_id})
        if run.status is RunStatus.STARTING:
            return _start(tx, run)
        save_run(tx, run)
    return Opened(run=run, log=tuple(read_events(tx, run_id=run.id)))


def _start(tx: Tx, run: Run) -> Opened:
    row = tx.connection.execute(_TAKE, {"message_id": run.trigger_message_id}).one_or_none()
    if row is None:
        raise NotFound(f"run {run.id} has no trigger in the inbox")
    started = e.RunStarted(**{name: getattr(run, name) for name in e.RunStarted.model_fields})
    run, _ = record(
        tx, run, [(f"{row.id}/said", user_message(row)), (f"{run.id}/started", started)]
    )
    # Its log says nothing of what comes next but what the row says too.
    return Opened(run=run, log=())
