"""What the workflow and its activities hand each other: references and counts, never content."""

from turnwright.domain.base import Frozen
from turnwright.domain.turn import Asked, CallRef, Fact, Settle


class RunInput(Frozen):
    """Which run an execution drives. New fields have defaults, so that old histories decode."""

    run_id: str
    session_id: str
    actor: str = ""
    link: str | None = None
    """The run's own page, for the details in the Temporal UI."""
    searchable: bool = True
    """Whether the search attributes are registered in this cluster."""


class RoundInput(Frozen):
    """A model round to be had."""

    run_id: str
    round: int


class CallInput(Frozen):
    """A tool call to be run, or a question to be put."""

    run_id: str
    call: CallRef


class AnswerInput(Frozen):
    """A question whose answer may be in the inbox."""

    run_id: str
    asked: Asked


class SettleInput(Frozen):
    """A run to be ended."""

    run_id: str
    step: Settle


class Facts(Frozen):
    """What a step put into the log."""

    facts: tuple[Fact, ...] = ()


class InputRef(Frozen):
    """The signal that an answer was accepted, by the id of its message."""

    message_id: str
