"""A run: its states, and the row it shows, folded from its events.

`evolve` is the only way a row changes, for the live run and for a rebuild alike, so that the two
cannot differ (CONTRACT.md, guarantee 3).
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from turnwright.domain.base import Frozen
from turnwright.domain.messages import Usage


class RunStatus(StrEnum):
    """Where a run stands (CONTRACT.md, "Runs")."""

    STARTING = "starting"
    RUNNING = "running"
    WAITING_FOR_USER = "waiting_for_user"
    WAITING_FOR_APPROVAL = "waiting_for_approval"
    WAITING_FOR_SCHEDULE = "waiting_for_schedule"
    WAITING_FOR_BUDGET = "waiting_for_budget"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"

    @property
    def active(self) -> bool:
        """Whether the run still goes on."""
        return self not in TERMINAL


TERMINAL = frozenset(
    {RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.TIMED_OUT}
)
ACTIVE = tuple(status for status in RunStatus if status not in TERMINAL)

RunKind = Literal["turn", "child"]

FailureReason = Literal[
    "model_error",
    "model_refused",
    "empty_model_turn",
    "context_overflow",
    "budget_exceeded",
    "max_rounds_exceeded",
    "tool_loop_detected",
    "tool_failed",
    "tool_outcome_unknown",
    "agent_unavailable",
    "terminated",
    "internal_error",
]

AtLeastOne = Annotated[int, Field(ge=1)]
LimitName = Literal["rounds", "tool_calls", "total_tokens", "seconds"]
LIMITS: tuple[LimitName, ...] = ("rounds", "tool_calls", "total_tokens", "seconds")
RetryFrom = Literal["checkpoint", "start"]
Decision = Literal["approve", "deny"]


class Limits(Frozen):
    """What a run may use. None is unlimited; `seconds` is wall-clock time, waits included."""

    rounds: AtLeastOne | None = 50
    tool_calls: AtLeastOne | None = 100
    total_tokens: AtLeastOne | None = 400_000
    seconds: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = None


class Failure(Frozen):
    """Why a run failed: a reason for programs, a message for people, advice about a retry."""

    reason: FailureReason
    message: str
    retryable: bool = False


class Question(Frozen):
    """A question to the user. With `choices`, only one of them is an answer."""

    id: str
    text: str
    choices: tuple[str, ...] | None = None
    deadline: datetime | None = None


class Approval(Frozen):
    """A tool call that waits for a person's decision."""

    id: str
    tool_call_id: str
    name: str
    arguments: JsonValue
    deadline: datetime | None = None


class Waiting(Frozen):
    """What a waiting run waits for. The fields that do not apply are null."""

    since: datetime
    until: datetime | None = None
    limit: LimitName | None = None
    approval: Approval | None = None
    question: Question | None = None


class Output(Frozen):
    """A run's final response."""

    message_id: str
    text: str


_NOTHING = Usage()


class RunUsage(Frozen):
    """What a run has used."""

    rounds: int = 0
    """Requests to a model: a failed attempt at a round is one too."""
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None

    def plus(self, usage: Usage = _NOTHING, *, rounds: int = 0, tool_calls: int = 0) -> "RunUsage":
        """This, and so much more."""
        costs = [cost for cost in (self.cost_usd, usage.cost_usd) if cost is not None]
        return RunUsage(
            rounds=self.rounds + rounds,
            tool_calls=self.tool_calls + tool_calls,
            input_tokens=self.input_tokens + usage.input_tokens,
            output_tokens=self.output_tokens + usage.output_tokens,
            cost_usd=sum(costs) if costs else None,
        )


class RunIdentity(Frozen):
    """What never changes about a run from its acceptance on."""

    id: str
    kind: RunKind = "turn"
    session_id: str
    room: str | None = None
    actor: str
    agent_version: str
    trigger_message_id: str
    triggered_by_run_id: str | None = None
    parent_run_id: str | None = None
    root_run_id: str
    retry_of: str | None = None
    retry_from: RetryFrom | None = None
    """Where a retry goes on from; None for a first attempt."""
    attempt: int = 1
    created_at: datetime


class Run(RunIdentity):
    """A run's row, as CONTRACT.md shows it (without the links into Temporal)."""

    model: str
    status: RunStatus = RunStatus.STARTING
    waiting: Waiting | None = None
    cancel_requested_at: datetime | None = None
    output: Output | None = None
    failure: Failure | None = None
    usage: RunUsage = RunUsage()
    limits: Limits = Limits()
    started_at: datetime | None = None
    updated_at: datetime
    ended_at: datetime | None = None
    last_sequence: int = 0
    execution_id: str | None = None
    """The Temporal execution that owns the run; None until one has opened it."""
