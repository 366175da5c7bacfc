"""The tools that the runtime itself answers, as models are shown them and as they are checked."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
)

from turnwright.domain.messages import ToolDefinition
from turnwright.tools.names import ASK_USER, SLEEP_UNTIL
from turnwright.tools.schema import parameters, validated


def _speakable(text: str) -> str:
    # JSON text cannot hold a lone surrogate by the time it gets here; NUL it can.
    if not text.strip():
        raise ValueError("must not be blank")
    if "\0" in text:
        raise ValueError("must not hold the character NUL")
    return text


def _distinct(choices: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if choices is not None and len(set(choices)) < len(choices):
        raise ValueError("must differ from each other")
    return choices


Speakable = Annotated[str, AfterValidator(_speakable)]


class AskUser(BaseModel):
    """What `conversation.ask_user` is called with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: Speakable = Field(description="The question, as the user will read it.")
    choices: Annotated[
        Annotated[tuple[Speakable, ...], Field(min_length=2, max_length=20)] | None,
        AfterValidator(_distinct),
    ] = Field(
        default=None,
        description="The only answers to choose from. Leave it out for an answer in free words.",
    )


ASK_USER_DEFINITION: Final = ToolDefinition(
    name=ASK_USER,
    description=(
        "Ask the user a question and wait for the answer, which is the result. Use it when you "
        "cannot go on without something only the user knows or decides; a question in your "
        "final answer does not wait."
    ),
    parameters=parameters(AskUser),
)


def ask_user_arguments(arguments: dict[str, JsonValue] | str) -> AskUser:
    """The question a model asks, or `ArgumentsInvalid` with words for the model to mend it."""
    return validated(AskUser, arguments)


LONGEST_SLEEP: Final = timedelta(days=3652)
"""Ten years. Who asks for more has miscalculated."""
_MOMENT: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


def _written_out(value: object) -> object:
    # Pydantic alone would take a number of seconds too, and a day for its midnight.
    moment = _MOMENT.fullmatch(value) if isinstance(value, str) else None
    if moment is None:
        raise ValueError("must be a date and time like 2030-01-31T09:00:00+02:00")
    if moment[3] is None:
        raise ValueError("must end in its offset from UTC, like Z or +02:00")
    return value


def _within_reach(until: datetime) -> datetime:
    if until - datetime.now(UTC) > LONGEST_SLEEP:
        raise ValueError("must be at most ten years from now")
    return until


class SleepUntil(BaseModel):
    """What `run.sleep_until` is called with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    until: Annotated[
        AwareDatetime, BeforeValidator(_written_out), AfterValidator(_within_reach)
    ] = Field(description="When to go on: RFC 3339 with offset, like 2030-01-31T09:00:00+02:00.")


SLEEP_UNTIL_DEFINITION: Final = ToolDefinition(
    name=SLEEP_UNTIL,
    description=(
        "Pause until a moment and then go on here; nobody is kept waiting by it, and it may be "
        "months. You do not know the current time unless somebody gave it to you in this "
        "conversation. The result is the time when you woke; a moment that has passed returns "
        "at once."
    ),
    parameters=parameters(SleepUntil),
)


def sleep_until_arguments(arguments: dict[str, JsonValue] | str) -> datetime:
    """The moment a model wants to sleep until, in UTC, perhaps past.

    Raises `ArgumentsInvalid` with words for the model to mend it.
    """
    until = validated(SleepUntil, arguments).until
    # The first day of the calendar has moments that are not in it by UTC; past is past.
    return max(until, _EPOCH).astimezone(UTC)
