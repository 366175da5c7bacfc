"""Ending a run: the one place that writes a terminal event."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import bindparam, delete, or_, select

from turnwright.domain import events as e
from turnwright.domain.deciding import Settle
from turnwright.domain.events import Event
from turnwright.domain.limits import deadline_of, reached
from turnwright.domain.ports import Owner, Recorded
from turnwright.domain.run import Failure, Run, RunStatus
from turnwright.store.calls import outcome_of, returned_key
from turnwright.store.engine import Tx
from turnwright.store.event_log import read_events
from turnwright.store.inputs import cancel_fact, open_approvals, take
from turnwright.store.queue import dequeue
from turnwright.store.run_rows import Fact, Locked, lock_run, record, recorded
from turnwright.store.sessions import close
from turnwright.store.tables import checkpoints, live_texts, runs

CUT_SHORT = "This call was cut short: the run ended before it had a result."
UNKNOWN = (
    "The outcome of this call is unknown: it was started, and the run ended before it had a "
    "result. It may or may not have taken effect."
)
INTERNAL = "Something went wrong inside Turnwright; the logs say what."

_NO_LIVE_TEXT = delete(live_texts).where(live_texts.c.run_id == bindparam("of_run"))
_BEFORE = (
    select(runs.c.id)
    .where(
        runs.c.session_id == bindparam("of_session"),
        runs.c.parent_run_id.is_(None),
        runs.c.id < bindparam("of_run"),
    )
    .order_by(runs.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
_NO_CHECKPOINTS_BEFORE = delete(checkpoints).where(checkpoints.c.run_id == _BEFORE)
_NO_CHECKPOINTS = delete(checkpoints).where(
    or_(checkpoints.c.run_id == bindparam("of_run"), checkpoints.c.run_id == _BEFORE)
)
_CALLS = (e.ToolCalled.type, e.ToolReturned.type)


def settle(
    tx: Tx,
    owner: Owner,
    step: Settle,
    failure: Failure | None,
    *,
    moment: datetime | None = None,
    after: int = 0,
) -> Recorded:
    """See `turnwright.domain.ports.Runs.settle`."""
    locked = lock_run(tx, owner)
    if not locked.run.status.active:
        return Recorded(run=locked.run)
    run, taken = take(tx, locked, locked.owned())
    if _goes_on(run, step, moment):
        return recorded(tx, locked, run, taken, after=after)
    run, appended = end(tx, locked, run, step.status, failure)
    return Recorded(run=run, log=(*taken, *appended))


def _goes_on(run: Run, step: Settle, moment: datetime | None) -> bool:
    if run.cancel_requested_at is not None:
        return False
    if step.status is RunStatus.TIMED_OUT and moment is not None:
        deadline = deadline_of(run)
        return deadline is not None and deadline > moment
    return step.limit is not None and not reached(run.limits, run.usage, step.limit)


def end(
    tx: Tx,
    locked: Locked,
    run: Run,
    status: RunStatus,
    failure: Failure | None = None,
    *,
    last: Sequence[Fact] = (),
) -> tuple[Run, list[Event]]:
    """Append `last` and the run's terminal event, and between them what is still open.

    `run` is the row as this transaction has it by now. What was accepted for it is logged before
    its end. Every call without a result gets one; an open question or approval expires. The
    provider's opaque records are erased, unless the run failed and may be reopened. A session in
    mode `task` closes.
    """
    facts, appended = list(last), list[Event]()
    if locked.has_inputs:
        run, appended = record(tx, run, facts) if facts else (run, [])
        run, taken = take(tx, locked, run)
        facts, appended = [], appended + taken
    if status is RunStatus.CANCELLED and run.cancel_requested_at is None:
        facts.append(cancel_fact(run, e.RunCancelRequested()))
    facts += _unsettled(tx, run, status)
    usage, output = run.usage, run.output.message_id if run.output else None
    for _, data in facts:
        if isinstance(data, e.RoundFinished):
            usage = usage.plus(data.usage)
        elif isinstance(data, e.AssistantMessage) and data.final:
            output = data.message_id
    ending = e.ENDINGS[status](output_message_id=output, failure=failure, usage=usage)
    facts.append((f"{run.id}/end/{run.execution_id}", ending))
    run, ended = record(tx, run, facts)
    _forget(tx, run)
    if run.parent_run_id is None:
        if locked.session.mode == "task" and locked.session.status == "open":
            close(tx, locked.session)
        elif locked.has_queue:
            dequeue(tx, locked.session)
    return run, appended + ended


def failure_of(step: Settle) -> Failure | None:
    """What a failed run says of itself."""
    if step.status is not RunStatus.FAILED:
        return None
    reason = step.reason or "internal_error"
    return Failure(reason=reason, message=step.message or INTERNAL, retryable=True)


def _unsettled(tx: Tx, run: Run, status: RunStatus) -> list[Fact]:
    """The end of the question, the approvals and the calls that are still open."""
    if run.usage.tool_calls == 0:
        return []
    facts: list[Fact] = []
    reason = f"run {status}"
    if run.waiting is not None and run.waiting.question is not None:
        question = run.waiting.question.id
        facts.append(
            (f"{question}/expired", e.QuestionExpired(question_id=question, reason=reason))
        )
    if run.waiting is not None and run.waiting.approval is not None:
        for approval in open_approvals(tx, run):
            expired = e.ApprovalExpired(
                approval_id=approval.id, tool_call_id=approval.tool_call_id, reason=reason
            )
            facts.append((f"{approval.id}/expired", expired))
    return facts + [(returned_key(run.id, call.tool_call_id), call) for call in _cut(tx, run)]


def open_calls(tx: Tx, run: Run) -> list[e.ToolCalled]:
    """The run's calls that have no result, in call order."""
    log = [e.decode(x) for x in read_events(tx, run_id=run.id, types=_CALLS)]
    returned = {data.tool_call_id for data in log if isinstance(data, e.ToolReturned)}
    return [x for x in log if isinstance(x, e.ToolCalled) and x.tool_call_id not in returned]


def _cut(tx: Tx, run: Run) -> list[e.ToolReturned]:
    """Results for the calls that have none."""
    calls = open_calls(tx, run)
    if not calls:
        return []
    starts = [e.decode(x) for x in read_events(tx, run_id=run.id, types=(e.ToolStarted.type,))]
    in_doubt = {x.tool_call_id for x in starts if isinstance(x, e.ToolStarted) and not x.repeatable}
    return [
        outcome_of(call.tool_call_id, call.name, "unknown", UNKNOWN)
        if call.tool_call_id in in_doubt
        else outcome_of(call.tool_call_id, call.name, "cancelled", CUT_SHORT)
        for call in calls
    ]


def _forget(tx: Tx, run: Run) -> None:
    tx.connection.execute(_NO_LIVE_TEXT, {"of_run": run.id})
    # A failed run may be reopened; the one before it no longer.
    forgotten = _NO_CHECKPOINTS_BEFORE if run.status is RunStatus.FAILED else _NO_CHECKPOINTS
    tx.connection.execute(forgotten, {"of_session": run.session_id, "of_run": run.id})
