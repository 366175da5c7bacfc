"""Ending a run: the one place that writes a terminal event."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete

from turnwright.domain import events as e
from turnwright.domain.events import Event
from turnwright.domain.run import Failure, Run, RunStatus
from turnwright.domain.turn import Settle
from turnwright.store.engine import Tx
from turnwright.store.event_log import SessionRow, read_events
from turnwright.store.run_rows import Fact, record
from turnwright.store.sessions import close
from turnwright.store.tables import checkpoints, live_texts

CUT_SHORT = "This call was cut short: the run ended before it had a result."
INTERNAL = "Something went wrong inside Turnwright; the logs say what."


_NO_LIVE_TEXT = delete(live_texts).where(live_texts.c.run_id == bindparam("of_run"))
_NO_CHECKPOINTS = delete(checkpoints).where(checkpoints.c.run_id == bindparam("of_run"))


def end(
    tx: Tx,
    session: SessionRow,
    run: Run,
    status: RunStatus,
    failure: Failure | None = None,
    *,
    last: Sequence[Fact] = (),
) -> tuple[Run, list[Event]]:
    """Append `last` and the run's terminal event, and between them what is still open.

    Every call without a result gets one, and an open question expires. The provider's opaque
    records are erased, unless the run failed and can be retried. A session in mode `task`
    closes. The session's row has to be locked.
    """
    facts = list(last)
    if status is RunStatus.CANCELLED and run.cancel_requested_at is None:
        facts.append((f"{run.id}/cancel_requested", e.RunCancelRequested()))
    if run.waiting is not None and run.waiting.question is not None:
        question = e.QuestionExpired(question_id=run.waiting.question.id, reason=f"run {status}")
        facts.append((f"{run.waiting.question.id}/expired", question))
    facts += [(returned_key(run.id, call.tool_call_id), _cut(call)) for call in _open(tx, run)]
    usage, output = run.usage, run.output.message_id if run.output else None
    for _, data in last:
        if isinstance(data, e.RoundFinished):
            usage = usage.plus(data.usage)
        elif isinstance(data, e.AssistantMessage) and data.final:
            output = data.message_id
    ending = e.ENDINGS[status](output_message_id=output, failure=failure, usage=usage)
    facts.append((f"{run.id}/end/{run.execution_id}", ending))
    run, appended = record(tx, run, facts)
    tx.connection.execute(_NO_LIVE_TEXT, {"of_run": run.id})
    if status is not RunStatus.FAILED:
        tx.connection.execute(_NO_CHECKPOINTS, {"of_run": run.id})
    if session.mode == "task" and session.status == "open" and run.parent_run_id is None:
        close(tx, session)
    return run, appended


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
        data for data in log if isinstance(data, e.ToolCalled) and data.tool_call_id not in returned
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
