"""Ending a run: the one place that writes a terminal event."""

from sqlalchemy import delete

from turnwright.domain import events as e
from turnwright.domain.run import Failure, Run, RunStatus
from turnwright.domain.turn import Settle
from turnwright.store.engine import Tx
from turnwright.store.event_log import lock_session, read_events
from turnwright.store.run_rows import record
from turnwright.store.sessions import close
from turnwright.store.tables import checkpoints, inbox, live_texts

CUT_SHORT = "This call was cut short: the run ended before it had a result."
INTERNAL = "Something went wrong inside Turnwright; the logs say what."


def end(tx: Tx, run: Run, status: RunStatus, failure: Failure | None = None) -> Run:
    """Append the run's terminal event, and before it what is still open.

    Every call without a result gets one, an open question expires, and the inbox rows of the run
    are resolved. The provider's opaque records are erased, unless the run failed and can be
    retried. A session in mode `task` closes. The session's row has to be locked.
    """
    facts: list[tuple[str | None, e.EventData]] = []
    if status is RunStatus.CANCELLED and run.cancel_requested_at is None:
        facts.append((f"{run.id}/cancel_requested", e.RunCancelRequested()))
    if run.waiting is not None and run.waiting.question is not None:
        question = e.QuestionExpired(question_id=run.waiting.question.id, reason=f"run {status}")
        facts.append((f"{run.waiting.question.id}/expired", question))
    facts += [(returned_key(run.id, call.tool_call_id), _cut(call)) for call in _open(tx, run)]
    ending = e.ENDINGS[status](
        output_message_id=run.output.message_id if run.output else None,
        failure=failure,
        usage=run.usage,
    )
    facts.append((f"{run.id}/end/{run.execution_id}", ending))
    run = record(tx, run, *facts)
    tx.connection.execute(delete(inbox).where(inbox.c.run_id == run.id))
    tx.connection.execute(delete(live_texts).where(live_texts.c.run_id == run.id))
    if status is not RunStatus.FAILED:
        tx.connection.execute(delete(checkpoints).where(checkpoints.c.run_id == run.id))
    session = lock_session(tx, run.session_id)
    if session.mode == "task" and session.status == "open" and run.parent_run_id is None:
        close(tx, session)
    return run


def failure_of(step: Settle) -> Failure | None:
    """What a failed run says of itself."""
    if step.status is not RunStatus.FAILED:
        return None
    reason = step.reason or "internal_error"
    return Failure(reason=reason, message=step.message or INTERNAL, retryable=True)


def returned_key(run_id: str, call_id: str) -> str:
    """The deduplication key of a call's one result."""
    return f"{run_id}/call/{call_id}/returned"


def _open(tx: Tx, run: Run) -> list[e.ToolCalled]:
    if run.usage.tool_calls == 0:
        return []
    log = [e.decode(x) for x in read_events(tx, run_id=run.id, types=_CALLS)]
    returned = {data.tool_call_id for data in log if isinstance(data, e.ToolReturned)}
    return [
        data
        for data in log
        if isinstance(data, e.ToolCalled) and data.tool_call_id not in returned
    ]


_CALLS = (e.ToolCalled.type, e.ToolReturned.type)


def _cut(call: e.ToolCalled) -> e.ToolReturned:
    return e.ToolReturned(
        tool_call_id=call.tool_call_id,
        name=call.name,
        outcome="cancelled",
        content=CUT_SHORT,
        bytes=len(CUT_SHORT.encode()),
    )
