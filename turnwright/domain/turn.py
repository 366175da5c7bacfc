"""The state that a run's workflow carries: its log, folded down to references.

A `Turn` holds ids, names, counts and moments (CONTRACT.md, guarantee 11). Activities return
`Fact`s (`turnwright.domain.folding` reads them off the log); `advance` folds them in;
`turnwright.domain.deciding.decide` says what comes next. All of it is pure, and runs inside the
workflow.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from turnwright.domain.base import Frozen
from turnwright.domain.events import InjectedBy
from turnwright.domain.run import FailureReason, LimitName, Limits, RunStatus

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


Changes = dict[str, Any]
"""Fields of a `Turn` and what they become."""


class Ended(Frozen):
    """The run's terminal event is in the log."""

    fact: Literal["ended"] = "ended"
    status: RunStatus
    reason: FailureReason | None = None

    def changes(self, turn: "Turn") -> Changes:
        return {"ended": self, "asked": None, "approvals": (), "waits": None}


class Attempted(Frozen):
    """A model was asked so often in this run, failed attempts included."""

    fact: Literal["attempted"] = "attempted"
    attempts: int

    def changes(self, turn: "Turn") -> Changes:
        return {"attempts": max(turn.attempts, self.attempts)}


class RoundRecorded(Frozen):
    """A model's response is in the log. `repeats`: so many rounds in a row asked for its calls.

    `attempts`: a model was asked so often in this run, failed attempts included.
    """

    fact: Literal["round"] = "round"
    round: int
    tokens: int
    calls: tuple[CallRef, ...] = ()
    repeats: int = 0
    attempts: int = 0

    def changes(self, turn: "Turn") -> Changes:
        if self.round <= turn.rounds:
            return {}
        return {
            "rounds": self.round,
            "attempts": max(turn.attempts + 1, self.attempts),
            "tokens": turn.tokens + self.tokens,
            "tool_calls": turn.tool_calls + len(self.calls),
            "calls": self.calls,
            "repeats": self.repeats,
        }


class Called(Frozen):
    """A call is in the log, to be carried out."""

    fact: Literal["called"] = "called"
    call: CallRef

    def changes(self, turn: "Turn") -> Changes:
        if any(call.id == self.call.id for call in turn.calls):
            return {}
        return {"calls": (*turn.calls, self.call), "tool_calls": turn.tool_calls + 1}


class CallReturned(Frozen):
    """A call has its result in the log. A fatal one fails the run."""

    fact: Literal["returned"] = "returned"
    call_id: str
    outcome: str
    fatal: bool = False

    def changes(self, turn: "Turn") -> Changes:
        fatal = {"fatal": True, "unknown": self.outcome == "unknown"} if self.fatal else {}
        return _without(turn, self.call_id) | fatal


class Asked(Frozen):
    """A question is in the log and the run waits for its answer."""

    fact: Literal["asked"] = "asked"
    call_id: str
    question_id: str
    deadline: datetime | None = None

    def changes(self, turn: "Turn") -> Changes:
        return {"asked": self}


class Answered(Frozen):
    """The answer is in the log, as the result of the call that asked."""

    fact: Literal["answered"] = "answered"
    call_id: str

    def changes(self, turn: "Turn") -> Changes:
        return _without(turn, self.call_id)


class ApprovalOpened(Frozen):
    """A person is asked to allow a call."""

    fact: Literal["approval"] = "approval"
    approval_id: str
    call_id: str
    deadline: datetime | None = None

    def changes(self, turn: "Turn") -> Changes:
        others = (x for x in turn.approvals if x.approval_id != self.approval_id)
        return {"approvals": (*others, self)}


class Approved(Frozen):
    """A person has allowed the call; a denial is the call's result."""

    fact: Literal["approved"] = "approved"
    call_id: str

    def changes(self, turn: "Turn") -> Changes:
        allowed = {"needs_approval": False}
        return {
            "approvals": tuple(x for x in turn.approvals if x.call_id != self.call_id),
            "calls": tuple(
                call.model_copy(update=allowed) if call.id == self.call_id else call
                for call in turn.calls
            ),
        }


class Waits(Frozen):
    """The run sleeps `until`, or waits for more of a `limit`."""

    fact: Literal["waits"] = "waits"
    until: datetime | None = None
    limit: LimitName | None = None

    def changes(self, turn: "Turn") -> Changes:
        return {"waits": self}


class Resumed(Frozen):
    """The run goes on after a wait."""

    fact: Literal["resumed"] = "resumed"

    def changes(self, turn: "Turn") -> Changes:
        return {"waits": None}


class Extended(Frozen):
    """The run's limits, and the deadline that follows from them, are these now."""

    fact: Literal["extended"] = "extended"
    limits: Limits
    deadline: datetime | None

    def changes(self, turn: "Turn") -> Changes:
        return {"limits": self.limits, "deadline": self.deadline}


class Injected(Frozen):
    """A message was put before the model."""

    fact: Literal["injected"] = "injected"
    source: InjectedBy

    def changes(self, turn: "Turn") -> Changes:
        if self.source == "budget":
            return {"wrapping_up": True}
        return {"reflected": True} if self.source == "reflection" else {}


class CancelRequested(Frozen):
    """Somebody asked for the run to end."""

    fact: Literal["cancel_requested"] = "cancel_requested"

    def changes(self, turn: "Turn") -> Changes:
        return {"cancelling": True}


class Reopened(Frozen):
    """The failed run goes on."""

    fact: Literal["reopened"] = "reopened"

    def changes(self, turn: "Turn") -> Changes:
        return {"ended": None, "fatal": False, "cancelling": False, "repeats": 0}


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
    return turn.model_copy(update=fact.changes(turn))


def _without(turn: Turn, call_id: str) -> Changes:
    """A call has its result: nothing about it is open any more."""
    asked = turn.asked
    return {
        "calls": tuple(call for call in turn.calls if call.id != call_id),
        "asked": None if asked is not None and asked.call_id == call_id else asked,
        "approvals": tuple(x for x in turn.approvals if x.call_id != call_id),
    }
