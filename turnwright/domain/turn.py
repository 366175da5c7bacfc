"""The state that a run's workflow carries: its log, folded down to references.

A `Turn` holds ids, names, counts and moments (CONTRACT.md, guarantee 11). Activities return
`Fact`s; `advance` folds them in; `turnwright.domain.deciding.decide` says what comes next. All of
it is pure, and runs inside the workflow.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Annotated, Any, Literal, assert_never

from pydantic import Field

from turnwright.domain import events as e
from turnwright.domain.base import Frozen
from turnwright.domain.limits import deadline_of
from turnwright.domain.run import FailureReason, LimitName, Limits, Run, RunStatus

CallKind = Literal["function", "ask_user", "sleep"]
OnLimit = Literal["fail", "wait", "wrap_up"]


class CallRef(Frozen):
    """A tool call that has no result yet."""

    id: str
    name: str
    kind: CallKind
    timeout: float | None = None
    """Seconds one execution of a function may take."""
    needs_approval: bool = False
    """Whether a person has yet to allow it."""


class RunRef(Frozen):
    """Another run of the session."""

    run_id: str
    actor: str


class Ended(Frozen):
    """The run's terminal event is in the log."""

    fact: Literal["ended"] = "ended"
    status: RunStatus
    reason: FailureReason | None = None


class Attempted(Frozen):
    """A model was asked so often in this run, failed attempts included."""

    fact: Literal["attempted"] = "attempted"
    attempts: int


class RoundRecorded(Frozen):
    """A model's response is in the log. `repeats`: so many rounds in a row asked for its calls."""

    fact: Literal["round"] = "round"
    round: int
    tokens: int
    calls: tuple[CallRef, ...] = ()
    repeats: int = 0


class Called(Frozen):
    """A call is in the log, to be carried out."""

    fact: Literal["called"] = "called"
    call: CallRef


class CallReturned(Frozen):
    """A call has its result in the log. A fatal one fails the run."""

    fact: Literal["returned"] = "returned"
    call_id: str
    outcome: str
    fatal: bool = False


class Asked(Frozen):
    """A question is in the log and the run waits for its answer."""

    fact: Literal["asked"] = "asked"
    call_id: str
    question_id: str
    deadline: datetime | None = None


class Answered(Frozen):
    """The answer is in the log, as the result of the call that asked."""

    fact: Literal["answered"] = "answered"
    call_id: str


class ApprovalOpened(Frozen):
    """A person is asked to allow a call."""

    fact: Literal["approval"] = "approval"
    approval_id: str
    call_id: str
    deadline: datetime | None = None


class Approved(Frozen):
    """A person has allowed the call. (A denial is the call's result.)"""

    fact: Literal["approved"] = "approved"
    call_id: str


class Waits(Frozen):
    """The run sleeps `until`, or waits for more of a `limit`."""

    fact: Literal["waits"] = "waits"
    until: datetime | None = None
    limit: LimitName | None = None


class Resumed(Frozen):
    """The run goes on after a wait."""

    fact: Literal["resumed"] = "resumed"


class Extended(Frozen):
    """The run's limits, and the deadline that follows from them, are these now."""

    fact: Literal["extended"] = "extended"
    limits: Limits
    deadline: datetime | None


class Injected(Frozen):
    """A message was put before the model."""

    fact: Literal["injected"] = "injected"
    source: e.InjectedBy


class CancelRequested(Frozen):
    """Somebody asked for the run to end."""

    fact: Literal["cancel_requested"] = "cancel_requested"


class Reopened(Frozen):
    """The failed run goes on."""

    fact: Literal["reopened"] = "reopened"


Fact = Annotated[
    Ended
    | Attempted
    | RoundRecorded
    | Called
    | CallReturned
    | Asked
    | Answered
    | ApprovalOpened
    | Approved
    | Waits
    | Resumed
    | Extended
    | Injected
    | CancelRequested
    | Reopened,
    Field(discriminator="fact"),
]


class Turn(Frozen):
    """A run's log, folded to what is needed to go on. New fields have defaults, for old histories."""

    execution_id: str
    """The execution that opened the run, and owns it."""
    sequence: int = 0
    """The log up to here is folded in; 0 where that is not known."""
    limits: Limits
    on_limit: OnLimit = "fail"
    deadline: datetime | None = None
    rounds: int = 0
    attempts: int = 0
    """Requests to a model, failed ones included."""
    tool_calls: int = 0
    tokens: int = 0
    repeats: int = 0
    """So many rounds in a row asked for just the same calls."""
    calls: tuple[CallRef, ...] = ()
    """The last round's calls that have no result yet, in call order."""
    asked: Asked | None = None
    approvals: tuple[ApprovalOpened, ...] = ()
    """The open ones, oldest first."""
    waits: Waits | None = None
    reflected: bool = False
    """The model was told that it repeats itself."""
    wrapping_up: bool = False
    """A limit was reached, and the model has one last round without tools."""
    cancelling: bool = False
    fatal: bool = False
    unknown: bool = False
    """The fatal result is that of a call whose outcome is unknown."""
    ended: Ended | None = None
    instead: RunRef | None = None
    """The session's active run, which lost its execution to the reset of this one."""


def advance(turn: Turn, fact: Fact) -> Turn:
    """The turn after one more fact. A fact that is folded twice changes nothing more."""
    return turn.model_copy(update=_changes(turn, fact))


def _changes(turn: Turn, fact: Fact) -> dict[str, Any]:
    match fact:
        case Ended():
            return {"ended": fact, "asked": None, "approvals": (), "waits": None}
        case Attempted():
            return {"attempts": max(turn.attempts, fact.attempts)}
        case RoundRecorded():
            return _round(turn, fact)
        case Called():
            if any(call.id == fact.call.id for call in turn.calls):
                return {}
            return {"calls": (*turn.calls, fact.call), "tool_calls": turn.tool_calls + 1}
        case CallReturned() | Answered():
            return _returned(turn, fact)
        case Asked():
            return {"asked": fact}
        case ApprovalOpened():
            others = (x for x in turn.approvals if x.approval_id != fact.approval_id)
            return {"approvals": (*others, fact)}
        case Approved():
            return _approved(turn, fact)
        case Waits():
            return {"waits": fact}
        case Resumed():
            return {"waits": None}
        case Extended():
            return {"limits": fact.limits, "deadline": fact.deadline}
        case Injected():
            return {"reflected": True} if fact.source == "reflection" else _wrapping(turn, fact)
        case CancelRequested():
            return {"cancelling": True}
        case Reopened():
            return {"ended": None, "fatal": False, "cancelling": False, "repeats": 0}
        case _:
            assert_never(fact)


def _round(turn: Turn, fact: RoundRecorded) -> dict[str, Any]:
    if fact.round <= turn.rounds:
        return {}
    return {
        "rounds": fact.round,
        "attempts": turn.attempts + 1,
        "tokens": turn.tokens + fact.tokens,
        "tool_calls": turn.tool_calls + len(fact.calls),
        "calls": fact.calls,
        "repeats": fact.repeats,
    }


def _returned(turn: Turn, fact: CallReturned | Answered) -> dict[str, Any]:
    asked = turn.asked
    changes: dict[str, Any] = {
        "calls": tuple(call for call in turn.calls if call.id != fact.call_id),
        "asked": None if asked is not None and asked.call_id == fact.call_id else asked,
        "approvals": tuple(x for x in turn.approvals if x.call_id != fact.call_id),
    }
    if isinstance(fact, CallReturned) and fact.fatal:
        changes |= {"fatal": True, "unknown": fact.outcome == "unknown"}
    return changes


def _approved(turn: Turn, fact: Approved) -> dict[str, Any]:
    allowed = {"needs_approval": False}
    return {
        "approvals": tuple(x for x in turn.approvals if x.call_id != fact.call_id),
        "calls": tuple(
            call.model_copy(update=allowed) if call.id == fact.call_id else call
            for call in turn.calls
        ),
    }


def _wrapping(turn: Turn, fact: Injected) -> dict[str, Any]:
    return {"wrapping_up": turn.wrapping_up or fact.source == "budget"}


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
    return advance(turn, Attempted(attempts=run.usage.rounds))


def facts(run: Run, log: Iterable[e.Event], refer: Refer) -> list[Fact]:
    """These events of a run as facts, and its end if it has ended. `run` is as they left it."""
    found = [fact for event in log if (fact := _fact(run, e.decode(event), refer)) is not None]
    return found if run.status.active else [*found, ended(run)]


def ended(run: Run) -> Ended:
    """How an ended run ended."""
    return Ended(status=run.status, reason=run.failure.reason if run.failure else None)


def _fact(run: Run, data: e.EventData, refer: Refer) -> Fact | None:
    match data:
        case e.RoundFinished():
            tokens = data.usage.input_tokens + data.usage.output_tokens
            return RoundRecorded(round=data.round, tokens=tokens, repeats=data.repeats)
        case e.ToolCalled():
            return Called(call=refer(data))
        case e.ToolReturned():
            return CallReturned(call_id=data.tool_call_id, outcome=data.outcome, fatal=data.fatal)
        case e.QuestionAsked():
            return Asked(
                call_id=data.tool_call_id, question_id=data.question_id, deadline=data.deadline
            )
        case e.ApprovalRequested():
            return ApprovalOpened(
                approval_id=data.approval_id, call_id=data.tool_call_id, deadline=data.deadline
            )
        case e.ApprovalDecided(decision="approve"):
            return Approved(call_id=data.tool_call_id)
        case e.RunWaiting() if data.until is not None or data.limit is not None:
            return Waits(until=data.until, limit=data.limit)
        case e.RunResumed():
            return Resumed()
        case e.RunBudgetExtended():
            return Extended(limits=run.limits, deadline=deadline_of(run))
        case e.MessageInjected():
            return Injected(source=data.source)
        case e.RunCancelRequested():
            return CancelRequested()
        case e.RunReopened():
            return Reopened()
        case _:
            return None
