"""The events of a session's log: what each type holds, and how old ones are read.

CONTRACT.md, "Events", is the source of every name here. An event is immutable; a change of shape
is a new `version` and an entry in `UPCASTERS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, JsonValue

from turnwright.domain.base import Frozen
from turnwright.domain.errors import UnknownEvent
from turnwright.domain.messages import Outcome, Usage
from turnwright.domain.run import (
    Approval,
    Decision,
    Failure,
    LimitName,
    Limits,
    Question,
    RetryFrom,
    RunKind,
    RunStatus,
    RunUsage,
)

Metadata = dict[str, JsonValue]
InjectedBy = Literal["steering", "reflection", "recall", "budget", "recovery"]


class EventData(Frozen):
    """What an event of one type holds."""

    model_config = ConfigDict(
        validate_by_name=True, validate_by_alias=True, serialize_by_alias=True
    )

    type: ClassVar[str]
    version: ClassVar[int] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One immutable fact in a session's log, at a sequence that starts at 1 and has no gaps.

    No pydantic model: logs are read in thousands, and each was validated when it was written.
    """

    id: str
    session_id: str
    sequence: int
    type: str
    schema_version: int
    run_id: str | None
    created_at: datetime
    data: dict[str, Any]


class SessionState(EventData):
    """All that a session's row holds."""

    agent: str
    mode: Literal["conversation", "task"]
    room: str | None
    title: str | None
    metadata: Metadata | None


class SessionCreated(SessionState):
    """The session exists."""

    type = "session.created"


class SessionUpdated(SessionState):
    """The session's row changed to this."""

    type = "session.updated"


class SessionClosed(SessionState):
    """The session takes no more turns."""

    type = "session.closed"


class UserMessage(EventData):
    """A user's words: the trigger of a run, or (with `in_reply_to`) the answer to a question."""

    type = "message.user"
    message_id: str
    text: str
    in_reply_to: str | None = None
    author: str | None = None
    metadata: Metadata | None = None
    created_at: datetime
    """When it was accepted; the event's own time is when it was logged."""


class AssistantMessage(EventData):
    """The text of one model round; `final` is true for the run's output alone."""

    type = "message.assistant"
    message_id: str
    round: int
    text: str
    final: bool
    reply_to: str


class MessageInjected(EventData):
    """A message that the run's model reads as the user's, and that nobody answers."""

    type = "message.injected"
    message_id: str
    text: str
    source: InjectedBy
    author: str | None = None


class MessageQueued(EventData):
    """A message waits for the session's active run to end; `position` counts from 1.

    Agent, model and limits are those that its run will have: they were chosen when it was
    accepted.
    """

    type = "message.queued"
    message_id: str
    position: int
    text: str
    agent: str
    agent_version: str
    model: str
    limits: Limits
    metadata: Metadata | None = None
    author: str | None = None


class MessageDequeued(EventData):
    """A queued message became the trigger of a run."""

    type = "message.dequeued"
    message_id: str
    position: int
    run_id: str


class MessageWithdrawn(EventData):
    """A queued message will not become a run."""

    type = "message.withdrawn"
    message_id: str
    position: int


class RunStarted(EventData):
    """The run was opened by the execution that drives it. Holds all that its row cannot lose."""

    type = "run.started"
    version = 2
    execution_id: str
    kind: RunKind
    actor: str
    agent_version: str
    model: str
    room: str | None
    limits: Limits
    trigger_message_id: str
    triggered_by_run_id: str | None
    parent_run_id: str | None
    root_run_id: str
    retry_of: str | None
    retry_from: RetryFrom | None
    attempt: int
    created_at: datetime


class RunReopened(EventData):
    """The run had failed, and an operator's reset has it go on."""

    type = "run.reopened"
    execution_id: str


class RunResumed(EventData):
    """The run goes on after a wait."""

    type = "run.resumed"
    left: RunStatus = Field(alias="from")
    """The waiting status it left."""


class RunWaiting(EventData):
    """The run waits, and says for what."""

    type = "run.waiting"
    version = 2
    status: RunStatus
    question: Question | None = None
    approval: Approval | None = None
    """The oldest open one."""
    until: datetime | None = None
    limit: LimitName | None = None


class RunCancelRequested(EventData):
    """Somebody asked for the run to end."""

    type = "run.cancel_requested"
    reason: str | None = None
    requested_by: str | None = None


class RunModelSwitched(EventData):
    """The model from the next round on."""

    type = "run.model_switched"
    before: str = Field(alias="from")
    after: str = Field(alias="to")


class RunBudgetExtended(EventData):
    """One limit of the run was raised."""

    type = "run.budget_extended"
    limit: LimitName
    before: float = Field(alias="from")
    after: float = Field(alias="to")


class RunEnded(EventData):
    """The terminal event: the run's last."""

    status: ClassVar[RunStatus]
    output_message_id: str | None = None
    failure: Failure | None = None
    usage: RunUsage


class RunCompleted(RunEnded):
    """The run ended with its final response."""

    type = "run.completed"
    status = RunStatus.COMPLETED


class RunFailed(RunEnded):
    """The run ended for the reason it names."""

    type = "run.failed"
    status = RunStatus.FAILED


class RunCancelled(RunEnded):
    """The run ended because it was cancelled."""

    type = "run.cancelled"
    status = RunStatus.CANCELLED


class RunTimedOut(RunEnded):
    """The run's deadline passed, or a wait's did."""

    type = "run.timed_out"
    status = RunStatus.TIMED_OUT


ENDINGS: Mapping[RunStatus, type[RunEnded]] = {
    ending.status: ending for ending in (RunCompleted, RunFailed, RunCancelled, RunTimedOut)
}


class CallName(Frozen):
    """A tool call by id and name."""

    id: str
    name: str


class RoundStarted(EventData):
    """A model is being asked. Each attempt at a round is logged: each may have to be paid."""

    type = "round.started"
    version = 2
    round: int
    attempt: int
    model: str
    message_id: str
    """The id of the round's text: in the live deltas and in the later `message.assistant`."""


class RoundFinished(EventData):
    """The model's response is recorded."""

    type = "round.finished"
    version = 2
    round: int
    model: str
    usage: Usage
    finish_reason: str
    tool_calls: tuple[CallName, ...] = ()
    repeats: int
    """How many rounds in a row, this one included, asked for just these calls; 0 without any."""


class ToolCalled(EventData):
    """A model asked for a tool."""

    type = "tool.called"
    tool_call_id: str
    name: str
    round: int
    """0: of a round of the attempt before, whose call is done anew."""
    arguments: dict[str, JsonValue] | str


class ToolStarted(EventData):
    """The tool is about to be run; whatever effect it has may have happened from here on."""

    type = "tool.started"
    version = 2
    tool_call_id: str
    name: str
    attempt: int
    repeatable: bool
    """Whether running it again does no harm."""


class ToolReturned(EventData):
    """The one result of a call, as the model sees it. `bytes` is the size of the whole result."""

    type = "tool.returned"
    tool_call_id: str
    name: str
    outcome: Outcome
    content: str
    truncated: bool = False
    bytes: int
    fatal: bool = False
    """The run is to fail because of it."""


class QuestionAsked(EventData):
    """The user was asked."""

    type = "question.asked"
    question_id: str
    tool_call_id: str
    text: str
    choices: tuple[str, ...] | None = None
    deadline: datetime | None = None


class QuestionAnswered(EventData):
    """The user answered, in the message named."""

    type = "question.answered"
    question_id: str
    text: str
    message_id: str


class QuestionExpired(EventData):
    """The question can no longer be answered."""

    type = "question.expired"
    question_id: str
    reason: str


class ApprovalRequested(EventData):
    """A call of this tool with just these arguments needs a person's decision."""

    type = "approval.requested"
    approval_id: str
    tool_call_id: str
    name: str
    arguments: dict[str, JsonValue]
    deadline: datetime | None = None


class ApprovalDecided(EventData):
    """A person decided."""

    type = "approval.decided"
    approval_id: str
    tool_call_id: str
    decision: Decision
    decided_by: str | None = None
    reason: str | None = None


class ApprovalExpired(EventData):
    """The approval can no longer be decided: the call is denied, or the run has ended."""

    type = "approval.expired"
    approval_id: str
    tool_call_id: str
    reason: str


def _concrete(root: type[EventData]) -> dict[str, type[EventData]]:
    found = {root.type: root} if "type" in root.__dict__ else {}
    for child in root.__subclasses__():
        found |= _concrete(child)
    return found


EVENT_TYPES: Mapping[str, type[EventData]] = _concrete(EventData)

Upcast = Callable[[dict[str, Any]], dict[str, Any]]


def _with(**more: Any) -> Upcast:
    """The upcast that adds fields."""
    return lambda data: {**data, **more}


UPCASTERS: Mapping[tuple[str, int], Upcast] = {
    ("run.started", 1): _with(retry_from=None),
    ("run.waiting", 1): _with(approval=None, until=None, limit=None),
    ("round.started", 1): _with(attempt=1),
    ("round.finished", 1): _with(repeats=0),
    ("tool.started", 1): _with(repeatable=False),
}
"""From (type, version) to the data of the next version. A chain: no version is ever skipped."""


def upcast(event: Event) -> Event:
    """The event in the shape this code knows, as it is or brought forward step by step.

    Raises `UnknownEvent` for a type or a version that is newer than the code.
    """
    known = EVENT_TYPES.get(event.type)
    if known is None or event.schema_version > known.version:
        raise UnknownEvent(
            f"event {event.id} is {event.type} version {event.schema_version}, "
            "which this version of Turnwright does not know: upgrade before reading this log"
        )
    data = event.data
    for version in range(event.schema_version, known.version):
        data = UPCASTERS[event.type, version](data)
    if data is event.data:
        return event
    return replace(event, data=data, schema_version=known.version)


def decode(event: Event) -> EventData:
    """The typed content of an event, upcast. Raises `UnknownEvent`."""
    current = upcast(event)
    return EVENT_TYPES[current.type].model_validate(current.data)
