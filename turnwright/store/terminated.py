"""Ending a run in place of its execution, which somebody terminated."""

from turnwright.domain.deciding import Settle
from turnwright.domain.errors import Fenced
from turnwright.domain.ports import Owner, Recorded
from turnwright.domain.run import Failure, RunStatus
from turnwright.store.engine import Tx
from turnwright.store.opening import open_run
from turnwright.store.run_rows import lock_run
from turnwright.store.settlement import settle

TERMINATED = Failure(
    reason="terminated", message="The run was terminated in Temporal.", retryable=True
)


def settle_terminated(tx: Tx, owner: Owner, *, displaces: str | None) -> Recorded:
    """End the run as failed, unless it has ended.

    `owner` is the terminated execution. It need never have opened the run: what it did not get
    to (the opening, the taking over from `displaces`) is done in its name, so that even a run
    that was `starting` has its trigger in the log. Raises `Fenced` when a third one is the
    run's owner by now.
    """
    run = lock_run(tx, owner).run
    if not run.status.active:
        return Recorded(run=run)
    if run.execution_id not in (displaces, owner.execution_id):
        raise Fenced(f"run {run.id} is owned by {run.execution_id}")
    open_run(tx, owner, displaces=displaces, reopens=False)
    step = Settle(status=RunStatus.FAILED, reason=TERMINATED.reason)
    return settle(tx, owner, step, TERMINATED)
