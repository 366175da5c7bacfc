"""What the workflow and its activities hand each other: references and counts, never content.

New fields have defaults, so that old histories decode.
"""

from datetime import datetime

from turnwright.domain.base import Frozen
from turnwright.domain.deciding import Settle
from turnwright.domain.run import LimitName
from turnwright.domain.turn import Asked, CallRef, Fact


class RunInput(Frozen):
    """Which run an execution drives."""

    run_id: str
    session_id: str
    actor: str = ""
    link: str | None = None
    """The run's own page, for the details in the Temporal UI."""
    searchable: bool = True
    """Whether the search attributes are registered in this cluster."""
    reset: bool = False
    """Whether this execution is an operator's reset of another."""


class RoundInput(Frozen):
    """A model round to be had. The `last` one is without tools."""

    run_id: str
    round: int
    last: bool = False
    after: int = 0


class CallInput(Frozen):
    """A tool call to be run, a question to be put, or a sleep to begin."""

    run_id: str
    call: CallRef


class CallsInput(Frozen):
    """Calls that need approval."""

    run_id: str
    calls: tuple[CallRef, ...]


class AnswerInput(Frozen):
    """A question whose answer may be in the inbox."""

    run_id: str
    asked: Asked
    after: int = 0


class TakeInput(Frozen):
    """A run for which something may be in the inbox; `budget`: nothing else is wanted."""

    run_id: str
    after: int
    budget: bool = False


class MomentInput(Frozen):
    """A moment that a wait was to end at."""

    run_id: str
    moment: datetime
    after: int


class LimitInput(Frozen):
    """A limit that is reached."""

    run_id: str
    limit: LimitName
    after: int


class SettleInput(Frozen):
    """A run to be ended; at this moment, if that is why."""

    run_id: str
    step: Settle
    moment: datetime | None = None
    after: int = 0


class Facts(Frozen):
    """What a step put into the log, which is known up to `sequence` then (0: unknown)."""

    facts: tuple[Fact, ...] = ()
    sequence: int = 0


class InputRef(Frozen):
    """The signal that something was accepted, by its id in the inbox."""

    message_id: str
