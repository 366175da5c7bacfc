"""What goes over the wire. The domain's own values are used wherever callers see them whole."""

from datetime import datetime
from typing import Annotated, Any, Final, Generic, Literal, Self, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from api.text import AtLeastOne, Metadata, Name, Text
from turnwright.domain import run as domain
from turnwright.domain.base import Frozen
from turnwright.domain.ids import workflow_id
from turnwright.domain.messages import Message
from turnwright.domain.queue import IfBusy, QueuedMessage
from turnwright.domain.sessions import Acceptance, Mode, UserMessageView

T = TypeVar("T")

EVENT_TYPES: Final = frozenset(
    {
        *("session.created", "session.updated", "session.closed", "session.compacted"),
        *("message.user", "message.assistant", "message.injected"),
        *("message.queued", "message.dequeued", "message.withdrawn"),
        *("run.started", "run.resumed", "run.reopened", "run.waiting", "run.cancel_requested"),
        *("run.model_switched", "run.budget_extended"),
        *("run.completed", "run.failed", "run.cancelled", "run.timed_out"),
        *("round.started", "round.finished", "tool.called", "tool.started", "tool.returned"),
        *("question.asked", "question.answered", "question.expired"),
        *("approval.requested", "approval.decided", "approval.expired"),
        *("child.started", "child.finished"),
    }
)
"""Every type of CONTRACT.md, so that a filter may name one that no log holds yet."""


class Request(BaseModel):
    """A request body: nothing is coerced, and unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class NewSession(Request):
    """A session that is asked for."""

    agent: Name
    mode: Mode = "conversation"
    room: Name | None = None
    title: Text | None = None
    metadata: Metadata | None = None


def _without_default(schema: dict[str, Any]) -> None:
    del schema["default"]


_LEFT_OUT: Final = Field(json_schema_extra=_without_default)
"""A field whose absence means something that none of its values does. The default that Python
needs is kept out of the description: a generated client might send it."""


class SessionPatch(Request):
    """Changes of a session. `title` and `metadata` are cleared by null."""

    title: Text | None = None
    metadata: Metadata | None = None
    agent: Annotated[Name, _LEFT_OUT] = ""
    status: Annotated[Literal["closed"], _LEFT_OUT] = "closed"


class LimitsPatch(Request):
    """Single values that replace the agent's. Null is unlimited."""

    rounds: AtLeastOne | None = None
    tool_calls: AtLeastOne | None = None
    total_tokens: AtLeastOne | None = None
    seconds: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = None


class NewMessage(Request):
    """A user's message: it starts a run."""

    text: Text
    agent: Name | None = None
    model: Name | None = None
    limits: LimitsPatch | None = None
    if_busy: IfBusy = "reject"
    metadata: Metadata | None = None


class Words(Request):
    """A user's words, to be routed by the session's state."""

    text: Text


class Answer(Request):
    """The answer to a question: `text` or `choice`."""

    text: Text | None = None
    choice: Text | None = None
    question_id: Text | None = None


class Cancel(Request):
    """A cancellation."""

    reason: Text | None = None


class Steer(Request):
    """Words for the run's next round, or the model from its next round on: one of them."""

    text: Text | None = None
    model: Name | None = None


class Budget(Request):
    """How much more of its limits a run may use. `seconds` moves its deadline."""

    rounds: AtLeastOne | None = None
    tool_calls: AtLeastOne | None = None
    total_tokens: AtLeastOne | None = None
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class ApprovalDecision(Request):
    """A person's decision over a tool call."""

    decision: domain.Decision
    reason: Text | None = None


class Retry(Request):
    """Where a retry goes on from, and what it does otherwise."""

    from_: Annotated[domain.RetryFrom, Field(alias="from")] = "checkpoint"
    model: Name | None = None
    limits: LimitsPatch | None = None


class TemporalLink(Frozen):
    """Where a run is found in Temporal. `execution_id` is the latest."""

    namespace: str
    workflow_id: str
    execution_id: str | None
    url: str | None


class TemporalPlace(Frozen):
    """The Temporal that runs live in, for links."""

    namespace: str
    ui_url: str | None

    def link(self, run: domain.Run) -> TemporalLink:
        """The run's place; without a URL where there is no UI, or no execution yet."""
        name = workflow_id(run.session_id)
        url = None
        if self.ui_url is not None and run.execution_id is not None:
            parts = (self.namespace, "workflows", name, run.execution_id)
            path = "/".join(quote(part, safe="") for part in parts)
            url = f"{self.ui_url.rstrip('/')}/namespaces/{path}"
        return TemporalLink(
            namespace=self.namespace, workflow_id=name, execution_id=run.execution_id, url=url
        )


class Run(Frozen):
    """One turn, or one child run."""

    id: str
    kind: domain.RunKind
    session_id: str
    room: str | None
    actor: str
    agent_version: str
    model: str
    trigger_message_id: str
    triggered_by_run_id: str | None
    parent_run_id: str | None
    root_run_id: str
    retry_of: str | None
    attempt: int
    status: domain.RunStatus
    waiting: domain.Waiting | None
    cancel_requested_at: datetime | None
    output: domain.Output | None
    failure: domain.Failure | None
    usage: domain.RunUsage
    limits: domain.Limits
    created_at: datetime
    started_at: datetime | None
    updated_at: datetime
    ended_at: datetime | None
    last_sequence: int
    temporal: TemporalLink

    @classmethod
    def of(cls, run: domain.Run, place: TemporalPlace) -> Self:
        """The run as callers see it."""
        fields = {name: getattr(run, name) for name in cls.model_fields if name != "temporal"}
        return cls(**fields, temporal=place.link(run))


class ActiveRuns(Frozen):
    """What a watch begins with."""

    runs: list[Run]


class RunChange(Frozen):
    """What happened to a run, by the type of the event, and the run as that event left it."""

    type: str
    run: Run


class RunAccepted(Frozen):
    """A run as it is after what was accepted for it, and the sequence before that."""

    run: Run
    message: UserMessageView | None
    after: int

    @classmethod
    def of(cls, accepted: Acceptance, place: TemporalPlace) -> Self:
        """What acceptance answers."""
        run = Run.of(accepted.run, place)
        return cls(run=run, message=accepted.message, after=accepted.after)


class InQueue(Frozen):
    """A queued message, and its place: 1 is the next to become a run."""

    message_id: str
    position: int


class Queued(Frozen):
    """What a message that waits is answered."""

    queued: InQueue

    @classmethod
    def of(cls, message: QueuedMessage) -> Self:
        """What acceptance into the queue answers."""
        return cls(queued=InQueue(message_id=message.message_id, position=message.position))


class RunAnswer(Frozen):
    """A run as it is."""

    run: Run


class RetryAccepted(Frozen):
    """The new attempt, and the sequence before it."""

    run: Run
    after: int


class CancelledRuns(Frozen):
    """The runs that were to be cancelled, as they are."""

    runs: list[Run]


class Sent(Frozen):
    """What became of words that were routed."""

    routed: Literal["input", "message"]
    run: Run
    message: UserMessageView
    after: int


class Page(Frozen, Generic[T]):
    """One page of a list. `next_cursor` is null on the last."""

    data: list[T]
    next_cursor: str | None


class HistoryCall(Frozen):
    """A tool call in a history."""

    id: str
    name: str
    arguments: dict[str, JsonValue] | str


class HistoryMessage(Frozen):
    """One entry of a history. `tool_calls` and `tool_call_id` are there where they apply."""

    role: Literal["user", "assistant", "tool"]
    text: str
    tool_calls: tuple[HistoryCall, ...] = ()
    tool_call_id: str = ""
    run_id: str
    sequence: int

    @classmethod
    def of(cls, message: Message) -> Self:
        """The entry, with no field set that does not apply."""
        extra: dict[str, Any] = {}
        if message.tool_calls:
            extra["tool_calls"] = tuple(
                HistoryCall(**call.model_dump()) for call in message.tool_calls
            )
        if message.tool_call_id is not None:
            extra["tool_call_id"] = message.tool_call_id
        return cls(
            role=message.role,
            text=message.text,
            run_id=message.run_id,
            sequence=message.sequence,
            **extra,
        )


class Compaction(Frozen):
    """The summary that stands for the log up to a sequence."""

    up_to_sequence: int
    summary: str


class History(Frozen):
    """What a new run would be seeded with now."""

    messages: list[HistoryMessage]
    tokens: int
    compaction: Compaction | None
    last_sequence: int


class AgentTool(Frozen):
    """A tool as an agent has it."""

    name: str
    description: str
    parameters: dict[str, Any]
    repeatable: bool
    approval: Literal["never", "always", "conditional"]


class Agent(Frozen):
    """An agent that can be addressed."""

    name: str
    version: str
    description: str | None
    model: str
    tools: list[AgentTool]
    can_ask_user: bool
    can_sleep: bool
    delegates_to: list[str]
    limits: domain.Limits


class Problem(BaseModel):
    """Why a request was refused (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    run_id: str | None = None
    run_status: domain.RunStatus | None = None
    session_id: str | None = None
    errors: list[dict[str, Any]] | None = None
