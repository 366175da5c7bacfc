"""A run's log folded into a turn: for whatever execution carries the run on, and step by step."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from turnwright.domain import events as e
from turnwright.domain import turn as t
from turnwright.domain.limits import deadline_of
from turnwright.domain.run import Run
from turnwright.domain.turn import CallRef, Fact, OnLimit, Turn, advance

Refer = Callable[[e.ToolCalled], CallRef]
"""The reference of a call."""


def fold(
    run: Run,
    log: Iterable[e.Event],
    refer: Refer,
    *,
    execution_id: str,
    on_limit: OnLimit = "fail",
) -> Turn:
    """A run's turn from its own events, for whatever execution carries it on."""
    turn = Turn(
        execution_id=execution_id,
        sequence=run.last_sequence,
        limits=run.limits,
        on_limit=on_limit,
        deadline=deadline_of(run),
    )
    for fact in facts(run, log, refer):
        turn = advance(turn, fact)
    return advance(turn, t.Attempted(attempts=run.usage.rounds))


def facts(run: Run, log: Iterable[e.Event], refer: Refer) -> list[Fact]:
    """These events of a run as facts, and its end if it has ended. `run` is as they left it."""
    found = [fact for event in log if (fact := _fact(run, e.decode(event), refer)) is not None]
    return found if run.status.active else [*found, ended(run)]


def ended(run: Run) -> t.Ended:
    """How an ended run ended."""
    return t.Ended(status=run.status, reason=run.failure.reason if run.failure else None)


def _round(run: Run, data: e.RoundFinished, _refer: Refer) -> Fact:
    return t.RoundRecorded(
        round=data.round,
        tokens=data.usage.input_tokens + data.usage.output_tokens,
        repeats=data.repeats,
        attempts=run.usage.rounds,
    )


def _called(_run: Run, data: e.ToolCalled, refer: Refer) -> Fact:
    return t.Called(call=refer(data))


def _returned(_run: Run, data: e.ToolReturned, _refer: Refer) -> Fact:
    return t.CallReturned(call_id=data.tool_call_id, outcome=data.outcome, fatal=data.fatal)


def _asked(_run: Run, data: e.QuestionAsked, _refer: Refer) -> Fact:
    return t.Asked(call_id=data.tool_call_id, question_id=data.question_id, deadline=data.deadline)


def _approval(_run: Run, data: e.ApprovalRequested, _refer: Refer) -> Fact:
    return t.ApprovalOpened(
        approval_id=data.approval_id, call_id=data.tool_call_id, deadline=data.deadline
    )


def _decided(_run: Run, data: e.ApprovalDecided, _refer: Refer) -> Fact | None:
    return t.Approved(call_id=data.tool_call_id) if data.decision == "approve" else None


def _waits(_run: Run, data: e.RunWaiting, _refer: Refer) -> Fact | None:
    if data.until is None and data.limit is None:
        return None
    return t.Waits(until=data.until, limit=data.limit)


def _extended(run: Run, _data: e.RunBudgetExtended, _refer: Refer) -> Fact:
    return t.Extended(limits=run.limits, deadline=deadline_of(run))


_FACTS: Mapping[type[e.EventData], Callable[[Run, Any, Refer], Fact | None]] = {
    e.RoundFinished: _round,
    e.ToolCalled: _called,
    e.ToolReturned: _returned,
    e.QuestionAsked: _asked,
    e.ApprovalRequested: _approval,
    e.ApprovalDecided: _decided,
    e.RunWaiting: _waits,
    e.RunBudgetExtended: _extended,
    e.RunResumed: lambda *_: t.Resumed(),
    e.MessageInjected: lambda _run, data, _refer: t.Injected(source=data.source),
    e.RunCancelRequested: lambda *_: t.CancelRequested(),
    e.RunReopened: lambda *_: t.Reopened(),
}
"""What each event means for the turn; the others mean nothing for it."""


def _fact(run: Run, data: e.EventData, refer: Refer) -> Fact | None:
    read = _FACTS.get(type(data))
    return None if read is None else read(run, data, refer)
