"""What a run does next: the state its workflow carries, and the decision over it.

A `Turn` is the run's log folded down to references: ids, names, counts (CONTRACT.md, guarantee
11). Activities return `Fact`s; `advance` folds them in; `decide` says what comes next. All three
are pure, and run inside the workflow.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Literal, assert_never

from pydantic import Field

from turnwright.domain import events as e
from turnwright.domain.base import Frozen
from turnwright.domain.run import FailureReason, Limits, Run, RunStatus

CallKind = Literal["function", "ask_user"]


class CallRef(Frozen):
    """A tool call that has no result yet."""

    id: str
    name: str
    kind: CallKind
    timeout: float | None = None
    """Seconds one execution of a function may take."""


class Ended(Frozen):
    """The run's terminal event is in the log."""

    fact: Literal["ended"] = "ended"
    status: RunStatus
    reason: FailureReason | None = None


class RoundRecorded(Frozen):
    """A model's response is in the log."""

    fact: Literal["round"] = "round"
    round: int
    tokens: int
    calls: tuple[CallRef, ...] = ()


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


class Answered(Frozen):
    """The answer is in the log, as the result of the call that asked."""

    fact: Literal["answered"] = "answered"
    call_id: str


Fact = Annotated[
    Ended | RoundRecorded | CallReturned | Asked | Answered, Field(discriminator="fact")
]


class Turn(Frozen):
    """A run's log, folded to what is needed to go on."""

    execution_id: str
    """The execution that opened the run, and owns it."""
    limits: Limits
    rounds: int = 0
    tool_calls: int = 0
    tokens: int = 0
    calls: tuple[CallRef, ...] = ()
    """The last round's calls that have no result yet, in call order."""
    asked: Asked | None = None
    fatal: bool = False
    ended: Ended | None = None


class AskModel(Frozen):
    """Have the model round of this number."""

    round: int


class CallTools(Frozen):
    """Run these calls, all at once."""

    calls: tuple[CallRef, ...]


class AskUser(Frozen):
    """Put the question of this call to the user."""

    call: CallRef


class AwaitAnswer(Frozen):
    """Wait until the question is answered."""

    asked: Asked


class Settle(Frozen):
    """End the run."""

    status: RunStatus
    reason: FailureReason | None = None
    message: str = ""


class Finish(Frozen):
    """The run has ended; so does its workflow."""

    ended: Ended


Step = AskModel | CallTools | AskUser | AwaitAnswer | Settle | Finish


def advance(turn: Turn, fact: Fact) -> Turn:
    """The turn after one more fact. A fact that is folded twice changes nothing more."""
    match fact:
        case Ended():
            return turn.model_copy(update={"ended": fact, "asked": None})
        case RoundRecorded():
            if fact.round <= turn.rounds:
                return turn
            return turn.model_copy(
                update={
                    "rounds": fact.round,
                    "tokens": turn.tokens + fact.tokens,
                    "tool_calls": turn.tool_calls + len(fact.calls),
                    "calls": fact.calls,
                }
            )
        case CallReturned():
            return _without(turn, fact.call_id, fatal=turn.fatal or fact.fatal)
        case Asked():
            return turn.model_copy(update={"asked": fact})
        case Answered():
            return _without(turn, fact.call_id, fatal=turn.fatal)
        case _:
            assert_never(fact)


Refer = Callable[[str, str], CallRef]
"""The reference of a call from its id and name."""


def fold(run: Run, log: Iterable[e.Event], refer: Refer, *, execution_id: str) -> Turn:
    """A run's turn from its own events, for whatever execution carries it on."""
    turn = Turn(execution_id=execution_id, limits=run.limits)
    for event in log:
        if (fact := _fact(e.decode(event), refer)) is not None:
            turn = advance(turn, fact)
    if not run.status.active:
        turn = advance(turn, ended(run))
    return turn


def ended(run: Run) -> Ended:
    """How an ended run ended."""
    return Ended(status=run.status, reason=run.failure.reason if run.failure else None)


def recorded(data: e.RoundFinished, refer: Refer) -> RoundRecorded:
    """A recorded round as a fact."""
    return RoundRecorded(
        round=data.round,
        tokens=data.usage.input_tokens + data.usage.output_tokens,
        calls=tuple(refer(call.id, call.name) for call in data.tool_calls),
    )


def _fact(data: e.EventData, refer: Refer) -> Fact | None:
    match data:
        case e.RoundFinished():
            return recorded(data, refer)
        case e.ToolReturned():
            return CallReturned(call_id=data.tool_call_id, outcome=data.outcome, fatal=data.fatal)
        case e.QuestionAsked():
            return Asked(call_id=data.tool_call_id, question_id=data.question_id)
        case _:
            return None


def decide(turn: Turn) -> Step:
    """What to do next. Functions of a round come first, together; its questions last, singly."""
    if turn.ended is not None:
        return Finish(ended=turn.ended)
    if turn.fatal:
        return Settle(
            status=RunStatus.FAILED, reason="tool_failed", message="A tool failed for good."
        )
    if turn.asked is not None:
        return AwaitAnswer(asked=turn.asked)
    if functions := tuple(call for call in turn.calls if call.kind == "function"):
        return _over_calls(turn) or CallTools(calls=functions)
    if turn.calls:
        return _over_calls(turn) or AskUser(call=turn.calls[0])
    return _over_rounds(turn) or AskModel(round=turn.rounds + 1)


def _over_rounds(turn: Turn) -> Settle | None:
    limits = turn.limits
    if limits.rounds is not None and turn.rounds >= limits.rounds:
        return Settle(
            status=RunStatus.FAILED,
            reason="max_rounds_exceeded",
            message=f"The limit of {limits.rounds} model rounds was reached.",
        )
    return _over_tokens(turn)


def _over_calls(turn: Turn) -> Settle | None:
    limit = turn.limits.tool_calls
    if limit is not None and turn.tool_calls > limit:
        return _budget(f"The limit of {limit} tool calls would have been exceeded.")
    # No round could follow these calls: they do not take effect for nothing.
    return _over_tokens(turn)


def _over_tokens(turn: Turn) -> Settle | None:
    limit = turn.limits.total_tokens
    if limit is not None and turn.tokens >= limit:
        return _budget(f"The limit of {limit} tokens was reached.")
    return None


def _budget(message: str) -> Settle:
    return Settle(status=RunStatus.FAILED, reason="budget_exceeded", message=message)


def _without(turn: Turn, call_id: str, *, fatal: bool) -> Turn:
    calls = tuple(call for call in turn.calls if call.id != call_id)
    asked = None if turn.asked is not None and turn.asked.call_id == call_id else turn.asked
    return turn.model_copy(update={"calls": calls, "asked": asked, "fatal": fatal})
