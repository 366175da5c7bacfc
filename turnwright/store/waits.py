"""Waits in the store: questions, approvals and sleeps, how they begin and how time ends them."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from turnwright.domain import events as e
from turnwright.domain.events import Event
from turnwright.domain.ids import new_id
from turnwright.domain.ports import Owner, Recorded
from turnwright.domain.run import Approval, Question, Run, RunStatus
from turnwright.store.calls import called, outcome_of, returned_key
from turnwright.store.engine import Tx
from turnwright.store.event_log import find, read_events
from turnwright.store.inputs import after_approval, approval_of, open_approvals, take
from turnwright.store.run_rows import Fact, Locked, lock_run, record, recorded, since
from turnwright.store.settlement import end, open_calls

TIMEOUT = "timeout"
"""Why a question or an approval expired while its run was waiting."""
NOBODY_ANSWERED = "Nobody answered in time. Go on with what you know."
NOBODY_DECIDED = "Nobody allowed this call in time; it was not carried out."


def ask(
    tx: Tx,
    owner: Owner,
    call_id: str,
    text: str,
    choices: Sequence[str] | None,
    timeout: float | None,
) -> Recorded:
    """See `turnwright.domain.ports.Runs.ask`."""
    locked = lock_run(tx, owner)
    run, key = locked.run, f"{locked.run.id}/call/{call_id}/asked"
    if found := find(tx, run.session_id, key):
        return since(tx, run, found[key])
    locked.owned()
    question = Question(
        id=new_id("qst"),
        text=text,
        choices=None if choices is None else tuple(choices),
        deadline=_deadline(tx, timeout),
    )
    asked = e.QuestionAsked(
        question_id=question.id, tool_call_id=call_id, **question.model_dump(exclude={"id"})
    )
    waiting = e.RunWaiting(status=RunStatus.WAITING_FOR_USER, question=question)
    return _record(tx, run, [(key, asked), (f"{question.id}/waiting", waiting)])


def request_approvals(
    tx: Tx, owner: Owner, call_ids: Sequence[str], timeout: float | None
) -> Recorded:
    """See `turnwright.domain.ports.Runs.request_approvals`."""
    locked = lock_run(tx, owner)
    run = locked.run
    keys = {f"{run.id}/call/{call_id}/approval": call_id for call_id in call_ids}
    if found := find(tx, run.session_id, *keys):
        return since(tx, run, min(found.values(), key=lambda event: event.sequence))
    locked.owned()
    facts: list[Fact] = []
    shown: Approval | None = None
    for key, call_id in keys.items():
        call = called(tx, run, call_id)
        requested = e.ApprovalRequested(
            approval_id=new_id("apr"),
            tool_call_id=call_id,
            name=call.name,
            arguments=call.arguments if isinstance(call.arguments, dict) else {},
            deadline=_deadline(tx, timeout),
        )
        facts.append((key, requested))
        shown = shown or approval_of(requested)
    waiting = e.RunWaiting(status=RunStatus.WAITING_FOR_APPROVAL, approval=shown)
    return _record(tx, run, [*facts, (None, waiting)])


def sleep(tx: Tx, owner: Owner, call_id: str, until: datetime) -> Recorded:
    """See `turnwright.domain.ports.Runs.sleep`."""
    locked = lock_run(tx, owner)
    key = _sleeping(locked.run, call_id)
    if found := find(tx, locked.run.session_id, key):
        return since(tx, locked.run, found[key])
    waiting = e.RunWaiting(status=RunStatus.WAITING_FOR_SCHEDULE, until=until)
    return _record(tx, locked.owned(), [(key, waiting)])


def pass_time(tx: Tx, owner: Owner, moment: datetime, *, goes_on: bool, after: int) -> Recorded:
    """See `turnwright.domain.ports.Runs.pass_time`.

    What was accepted comes first: an answer that was told 202 is not late.
    """
    locked = lock_run(tx, owner)
    if not locked.run.status.active:
        return Recorded(run=locked.run)
    run, taken = take(tx, locked, locked.owned())
    waiting, more = run.waiting, list[Event]()
    if run.cancel_requested_at is None and waiting is not None:
        if waiting.question is not None and _due(waiting.question.deadline, moment):
            run, more = _expire_question(tx, locked, run, waiting.question, goes_on=goes_on)
        elif waiting.approval is not None:
            run, more = _expire_approvals(tx, run, moment)
        elif _due(waiting.until, moment):
            run, more = record(tx, run, _woken(tx, run, moment))
    return recorded(tx, locked, run, taken + more, after=after)


def _expire_question(
    tx: Tx, locked: Locked, run: Run, question: Question, *, goes_on: bool
) -> tuple[Run, list[Event]]:
    if not goes_on:
        return end(tx, locked, run, RunStatus.TIMED_OUT)
    asked = next(
        data
        for event in read_events(tx, run_id=run.id, types=(e.QuestionAsked.type,))
        if isinstance(data := e.decode(event), e.QuestionAsked) and data.question_id == question.id
    )
    call = called(tx, run, asked.tool_call_id)
    expired = e.QuestionExpired(question_id=question.id, reason=TIMEOUT)
    result = outcome_of(call.tool_call_id, call.name, "error", NOBODY_ANSWERED)
    return record(
        tx,
        run,
        [
            (f"{question.id}/expired", expired),
            (returned_key(run.id, call.tool_call_id), result),
            (f"{question.id}/resumed", e.RunResumed(left=RunStatus.WAITING_FOR_USER)),
        ],
    )


def _expire_approvals(tx: Tx, run: Run, moment: datetime) -> tuple[Run, list[Event]]:
    approvals = open_approvals(tx, run)
    over = [approval for approval in approvals if _due(approval.deadline, moment)]
    if not over:
        return run, []
    facts: list[Fact] = []
    for approval in over:
        call_id = approval.tool_call_id
        expired = e.ApprovalExpired(approval_id=approval.id, tool_call_id=call_id, reason=TIMEOUT)
        denied = outcome_of(call_id, approval.name, "denied", NOBODY_DECIDED)
        facts += [(f"{approval.id}/expired", expired), (returned_key(run.id, call_id), denied)]
    left = [approval for approval in approvals if approval not in over]
    return record(tx, run, [*facts, *after_approval(run, left)])


def _woken(tx: Tx, run: Run, moment: datetime) -> list[Fact]:
    keys = {_sleeping(run, call.tool_call_id): call for call in open_calls(tx, run)}
    (key,) = find(tx, run.session_id, *keys)
    call = keys[key]
    result = outcome_of(call.tool_call_id, call.name, "ok", awake(moment))
    return [
        (returned_key(run.id, call.tool_call_id), result),
        (None, e.RunResumed(left=RunStatus.WAITING_FOR_SCHEDULE)),
    ]


def _sleeping(run: Run, call_id: str) -> str:
    return f"{run.id}/call/{call_id}/sleeping"


def awake(moment: datetime) -> str:
    """What the model reads when it has slept."""
    return f"It is {moment.isoformat(timespec='seconds').replace('+00:00', 'Z')} now."


def _due(deadline: datetime | None, moment: datetime) -> bool:
    return deadline is not None and deadline <= moment


def _deadline(tx: Tx, timeout: float | None) -> datetime | None:
    return None if timeout is None else tx.now + timedelta(seconds=timeout)


def _record(tx: Tx, run: Run, facts: list[Fact]) -> Recorded:
    run, appended = record(tx, run, facts)
    return Recorded(run=run, log=tuple(appended))
