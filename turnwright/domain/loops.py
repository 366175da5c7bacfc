"""Whether a model goes round in circles: rounds in a row that ask for just the same calls."""

import json
from collections.abc import Iterable
from typing import Protocol

from pydantic import JsonValue


class Asked(Protocol):
    """What a model asked for, whoever records it."""

    @property
    def name(self) -> str:
        """The tool's name."""

    @property
    def arguments(self) -> dict[str, JsonValue] | str:
        """As the model gave them."""


def repeats(calls: Iterable[Asked], before: Iterable[Asked], before_repeats: int) -> int:
    """How many rounds in a row, this one included, asked for just these `calls`.

    `before` is what the round before asked for, and `before_repeats` is this very number for it.
    0 for a round without calls, 1 for the first that asks for its own. The order of calls does
    not matter, nor does that of keys; arguments are equal as JSON: 1, 1.0 and true are three.
    """
    these = _written(calls)
    if not these:
        return 0
    # A round of an older version does not know how often it was repeated: at least once.
    return max(before_repeats, 1) + 1 if these == _written(before) else 1


def _written(calls: Iterable[Asked]) -> list[tuple[str, str]]:
    return sorted((call.name, json.dumps(call.arguments, sort_keys=True)) for call in calls)
