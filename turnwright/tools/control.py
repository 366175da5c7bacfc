"""The tools that the runtime itself answers, as models are shown them and as they are checked."""

from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from turnwright.domain.messages import ToolDefinition
from turnwright.tools.names import ASK_USER
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
