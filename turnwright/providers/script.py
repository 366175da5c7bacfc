"""What a scripted model is told to do: rounds, and playbooks that choose among them.

A script is data: it says what each model round answers, how slowly, and how it fails. Unknown
fields are refused, so that a misspelt script is an error and not a silently different test.
"""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue

from turnwright.domain.base import Frozen


class ScriptedCall(Frozen):
    """A tool call. Arguments given as a string stand for what is not a JSON object."""

    name: str
    arguments: dict[str, JsonValue] | str = Field(default_factory=dict)
    id: str | None = None
    """By default `call_<round>_<index>`: the same in every attempt, unique within the run."""


class ScriptedError(Frozen):
    """A round that fails, after the round's text has been streamed."""

    kind: Literal["unavailable", "rejected", "refused", "overflow"]
    until_attempt: int | None = None
    """Attempts with a lower number fail; without it all do."""
    retry_after: float | None = None

    def fails(self, attempt: int) -> bool:
        return self.until_attempt is None or attempt < self.until_attempt


class ScriptedUsage(Frozen):
    """Tokens the round claims to have used, in place of the estimate."""

    input_tokens: int = 0
    output_tokens: int = 0


class Round(Frozen):
    """One model round: the text and calls it answers, and how."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    delay: float = Field(default=0, ge=0)
    """Seconds before each piece of the text but the first."""
    pieces: int | None = Field(default=None, ge=1)
    """How many pieces the text comes in; by default one for each word."""
    error: ScriptedError | None = None
    hang: bool = False
    """Stream the text, then wait until cancelled."""
    usage: ScriptedUsage | None = None
    finish_reason: str = "stop"
    """Of a round without calls; one with calls always says `tool_calls`."""
    reasoning: str | None = None
    """Comes back as the response's opaque part, in place of a provider's encrypted reasoning."""
    journal: str | None = None
    """A file that gets the line `<run id> <round index> <attempt>` each time the model is asked."""


class Script(Frozen):
    """The rounds of one run, in order. Further rounds answer "Done." and end it."""

    rounds: tuple[Round, ...]


def _regular_expression(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return pattern


class Rule(Frozen):
    """The rounds of a run whose trigger matches `when` (anywhere in its text)."""

    when: Annotated[str, AfterValidator(_regular_expression)]
    rounds: tuple[Round, ...]


class Playbook(Frozen):
    """The first rule that matches the trigger decides; `otherwise` when none does."""

    rules: tuple[Rule, ...] = ()
    otherwise: tuple[Round, ...] = ()

    def choose(self, trigger: str) -> tuple[tuple[Round, ...], dict[str, str]]:
        """The rounds for this trigger, and the named groups of the rule that matched."""
        for rule in self.rules:
            if match := re.search(rule.when, trigger):
                return rule.rounds, match.groupdict(default="")
        return self.otherwise, {}
