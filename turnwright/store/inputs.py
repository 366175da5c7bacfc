"""What was accepted for a run, on its way from the inbox into the run's log.

Each kind of row becomes its events here, whichever step of the run comes upon it: the next round,
the end of a wait, or the end of the run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Row, bindparam, delete, select

from turnwright.domain import events as e
from turnwright.domain.events import Event
from turnwright.domain.limits import reached
from turnwright.domain.run import Approval, LimitName, Run, RunStatus
from turnwright.domain.sessions import UserInput
from turnwright.store.calls import called, outcome_of, returned_key
from turnwright.store.engine import Tx
from turnwright.store.event_log import read_events
from turnwright.store.inbox import user_message
from turnwright.store.run_rows import Fact, Locked, record
from turnwright.store.tables import inbox

InboxRow = Row[Any]

_TAKE = delete(inbox).where(inbox.c.run_id == bindparam("of_run")).returning(inbox)
_TAKE_KINDS = (
    delete(inbox)
    .where(
        inbox.c.run_id == bindparam("of_run"), inbox.c.kind.in_(bindparam("kinds", expanding=True))
    )
    .returning(inbox)
)
_LOOK = select(inbox).where(inbox.c.run_id == bindparam("of_run"))
_ASKED = (e.QuestionAsked.type,)
_APPROVALS = (e.ApprovalRequested.type, e.ApprovalDecided.type, e.ApprovalExpired.type)

DENIED: Final = "A person denied this call; it was not carried out."


@dataclass(frozen=True)
class Pending:
    """What was accepted for a run and decides how its last round ends."""

    text: bool = False
    """Words that no round has been asked with."""
    cancel: bool = False


def take(
    tx: Tx, locked: Locked, run: Run, *, kinds: Sequence[str] | None = None
) -> tuple[Run, list[Event]]:
    """Log all that was accepted for the run (of these kinds), in the order of its acceptance.

    `run` is the row as this transaction has it by now.
    """
    if not locked.has_inputs:
        return run, []
    statement = _TAKE if kinds is None else _TAKE_KINDS
    rows = tx.connection.execute(statement, {"of_run": run.id, "kinds": kinds}).all()
    appended: list[Event] = []
    for row in sorted(rows, key=lambda row: (row.created_at, row.id)):
        if facts := _FACTS[row.kind](tx, run, row):
            run, more = record(tx, run, facts)
            appended += more
    return run, appended


def pending(tx: Tx, locked: Locked) -> Pending:
    """What waits in the inbox, without taking it."""
    if not locked.has_inputs:
        return Pending()
    rows = tx.connection.execute(_LOOK, {"of_run": locked.run.id}).all()
    return Pending(
        text=any(row.kind == "steer" and "text" in row.data for row in rows),
        cancel=any(row.kind == "cancel" for row in rows),
    )


def open_approvals(tx: Tx, run: Run) -> list[Approval]:
    """The approvals that are neither decided nor expired, oldest first."""
    asked: dict[str, Approval] = {}
    for event in read_events(tx, run_id=run.id, types=_APPROVALS):
        data = e.decode(event)
        if isinstance(data, e.ApprovalRequested):
            asked[data.approval_id] = approval_of(data)
        elif isinstance(data, e.ApprovalDecided | e.ApprovalExpired):
            asked.pop(data.approval_id, None)
    return list(asked.values())


def approval_of(data: e.ApprovalRequested) -> Approval:
    """The approval as the run's row shows it."""
    return Approval(
        id=data.approval_id,
        tool_call_id=data.tool_call_id,
        name=data.name,
        arguments=data.arguments,
        deadline=data.deadline,
    )


def after_approval(run: Run, still_open: list[Approval]) -> list[Fact]:
    """What follows when an approval is closed: the next one is shown, or the run goes on."""
    if not still_open:
        return [(None, e.RunResumed(left=RunStatus.WAITING_FOR_APPROVAL))]
    shown = run.waiting.approval if run.waiting else None
    if shown is not None and shown.id == still_open[0].id:
        return []
    waiting = e.RunWaiting(status=RunStatus.WAITING_FOR_APPROVAL, approval=still_open[0])
    return [(None, waiting)]


def _answer(tx: Tx, run: Run, row: InboxRow) -> list[Fact]:
    said = user_message(row)
    question_id, call_id = row.settles, _asking_call(tx, run, row.settles)
    answered = e.QuestionAnswered(question_id=question_id, text=said.text, message_id=row.id)
    name = called(tx, run, call_id).name
    return [
        (f"{question_id}/answer", said),
        (f"{question_id}/answered", answered),
        (returned_key(run.id, call_id), outcome_of(call_id, name, "ok", said.text)),
        (f"{question_id}/resumed", e.RunResumed(left=RunStatus.WAITING_FOR_USER)),
    ]


def _asking_call(tx: Tx, run: Run, question_id: str) -> str:
    log = read_events(tx, run_id=run.id, types=_ASKED)
    data = next(d for event in log if (d := e.upcast(event).data)["question_id"] == question_id)
    return str(data["tool_call_id"])


def _decision(tx: Tx, run: Run, row: InboxRow) -> list[Fact]:
    approvals = open_approvals(tx, run)
    approval = next(x for x in approvals if x.id == row.settles)
    decided = e.ApprovalDecided(
        approval_id=approval.id, tool_call_id=approval.tool_call_id, **row.data
    )
    facts: list[Fact] = [(f"{approval.id}/decided", decided)]
    if decided.decision == "deny":
        reason = f" The reason given: {decided.reason}" if decided.reason else ""
        denied = outcome_of(approval.tool_call_id, approval.name, "denied", DENIED + reason)
        facts.append((returned_key(run.id, approval.tool_call_id), denied))
    return facts + after_approval(run, [x for x in approvals if x.id != approval.id])


def _steer(_tx: Tx, run: Run, row: InboxRow) -> list[Fact]:
    if "model" in row.data:
        if row.data["model"] == run.model:
            return []
        switched = e.RunModelSwitched(before=run.model, after=row.data["model"])
        return [(f"{row.id}/switched", switched)]
    words = UserInput.model_validate(row.data)
    said = e.MessageInjected(
        message_id=row.id, text=words.text, source="steering", author=words.author
    )
    return [(f"{row.id}/said", said)]


def _budget(_tx: Tx, run: Run, row: InboxRow) -> list[Fact]:
    more: Mapping[LimitName, float] = row.data
    limits, facts = run.limits, list[Fact]()
    for name, amount in more.items():
        before = getattr(limits, name)
        if before is not None:
            data = e.RunBudgetExtended(limit=name, before=before, after=before + amount)
            facts.append((f"{row.id}/extended/{name}", data))
            limits = limits.model_copy(update={name: before + amount})
    short = run.waiting.limit if run.waiting else None
    if short is not None and not reached(limits, run.usage, short):
        facts.append((f"{row.id}/resumed", e.RunResumed(left=RunStatus.WAITING_FOR_BUDGET)))
    return facts


def _cancel(_tx: Tx, run: Run, row: InboxRow) -> list[Fact]:
    return [] if run.cancel_requested_at else [cancel_fact(run, e.RunCancelRequested(**row.data))]


def cancel_fact(run: Run, data: e.RunCancelRequested) -> Fact:
    """That the run is to end, for this execution of it."""
    return f"{run.id}/cancel_requested/{run.execution_id}", data


_FACTS: Final[Mapping[str, Callable[[Tx, Run, InboxRow], list[Fact]]]] = {
    "answer": _answer,
    "decision": _decision,
    "steer": _steer,
    "budget": _budget,
    "cancel": _cancel,
}
