"""Retries, as the API accepts them: a new run for the same trigger."""

from collections.abc import Mapping
from typing import Any

from turnwright.domain.errors import RunNotRetryable, SessionCompleted
from turnwright.domain.ids import new_id
from turnwright.domain.run import Limits, RetryFrom, Run, RunStatus
from turnwright.domain.sessions import Acceptance
from turnwright.store.admission import Choose
from turnwright.store.engine import Tx
from turnwright.store.event_log import lock_session
from turnwright.store.opening import newest_root
from turnwright.store.run_rows import get_run, insert_run

RETRYABLE = frozenset({RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.CANCELLED})


def accept_retry(
    tx: Tx,
    run_id: str,
    *,
    tenant: str,
    choose: Choose,
    start: RetryFrom = "checkpoint",
    model: str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Acceptance:
    """A new attempt at the run's trigger, `starting`, with usage and deadline anew.

    It has the model and the limits that the run had at its end, but for what is named here, and
    the version of its agent that is loaded now. A task session is closed by its first attempt,
    which is no obstacle. Raises `NotFound`, `SessionCompleted` and `RunNotRetryable`.
    """
    before = get_run(tx, run_id, tenant=tenant)
    row = lock_session(tx, before.session_id)
    before = get_run(tx, run_id)
    chosen = choose(before.actor)
    if row.status == "closed" and row.mode != "task":
        raise SessionCompleted(session_id=row.id)
    if (why := _obstacle(tx, before)) is not None:
        raise RunNotRetryable(why, run_id=before.id, run_status=before.status)
    new = new_id("run")
    run = Run(
        id=new,
        session_id=before.session_id,
        room=before.room,
        actor=chosen.actor,
        agent_version=chosen.version,
        model=model or before.model,
        trigger_message_id=before.trigger_message_id,
        triggered_by_run_id=before.triggered_by_run_id,
        root_run_id=new,
        retry_of=before.id,
        retry_from=start,
        attempt=before.attempt + 1,
        limits=Limits(**before.limits.model_dump() | dict(limits or {})),
        created_at=tx.now,
        updated_at=tx.now,
    )
    insert_run(tx, run, tenant=tenant)
    return Acceptance(run=run, after=row.last_sequence)


def _obstacle(tx: Tx, run: Run) -> str | None:
    if run.status not in RETRYABLE:
        return f"The run is {run.status}."
    if run.kind == "child":
        return "The run is a child: retry its root."
    if newest_root(tx, run.session_id) != run.id:
        return "The session has a later run."
    return None
