"""Approvals, as the API accepts them: each is decided once, by whoever comes first."""

from typing import Any

from sqlalchemy import Row, select

from turnwright.domain import events as e
from turnwright.domain.errors import ApprovalResolved, NotFound
from turnwright.domain.ids import new_id
from turnwright.domain.run import Decision, Run
from turnwright.store.engine import Tx
from turnwright.store.event_log import lock_session, read_events
from turnwright.store.inbox import put
from turnwright.store.run_rows import get_run
from turnwright.store.tables import inbox

_APPROVALS = (e.ApprovalRequested.type, e.ApprovalDecided.type, e.ApprovalExpired.type)


def accept_decision(
    tx: Tx,
    run_id: str,
    approval_id: str,
    *,
    tenant: str,
    decision: Decision,
    by: str | None,
    reason: str | None,
) -> Run:
    """Accept a person's decision over a call; the same decision again is fine.

    Raises `NotFound` for an approval that this run never asked for, and `ApprovalResolved` for
    one that was decided the other way, or has expired.
    """
    run = get_run(tx, run_id, tenant=tenant)
    lock_session(tx, run.session_id)
    run = get_run(tx, run_id)
    log = [e.decode(event) for event in read_events(tx, run_id=run.id, types=_APPROVALS)]
    of_this = [data for data in log if getattr(data, "approval_id", None) == approval_id]
    if not of_this:
        raise NotFound(f"There is no approval {approval_id}.")
    last = of_this[-1]
    accepted = _accepted(tx, approval_id)
    decided = accepted.data["decision"] if accepted is not None else None
    if isinstance(last, e.ApprovalDecided):
        decided = last.decision
    if decided == decision:
        return run
    if decided is not None or isinstance(last, e.ApprovalExpired):
        detail = f"The approval was decided: {decided}." if decided else "The approval has expired."
        raise ApprovalResolved(detail, run_id=run.id, run_status=run.status)
    data = {"decision": decision, "decided_by": by, "reason": reason}
    put(tx, "decision", new_id("msg"), run, data, settles=approval_id)
    return run


def _accepted(tx: Tx, approval_id: str) -> Row[Any] | None:
    query = select(inbox).where(inbox.c.settles == approval_id)
    return tx.connection.execute(query).one_or_none()
