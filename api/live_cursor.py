"""Which live text a reader has been shown, and what to show next: the rules of CONTRACT.md.

A delta follows its `round.started` and precedes its `round.finished`; nothing is shown twice; a
new attempt starts over at offset 0. Pure: fed with the log as it is emitted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from turnwright.domain import events as e
from turnwright.domain.events import Event
from turnwright.live import Delta, Progress

_ENDINGS = frozenset(ending.type for ending in e.ENDINGS.values())


class Missing(Enum):
    """Why a delta cannot be shown as it is."""

    TEXT = auto()
    """Text before it never came: what there is so far has to be fetched."""


@dataclass
class _Reading:
    """One active run: its streaming round, and how much of which attempt was shown."""

    round: int | None = None
    attempt: int = 0
    length: int = 0
    returned: set[str] = field(default_factory=set)


class LiveCursor:
    """Where one reader stands in the live text of the runs it reads."""

    def __init__(self, open_rounds: Mapping[str, int | None]) -> None:
        """`open_rounds`: the active runs in the part of the log that the reader has had."""
        self._runs = {run_id: _Reading(number) for run_id, number in open_rounds.items()}

    def emitted(self, event: Event) -> None:
        """The reader has been sent this event."""
        if event.run_id is None:
            return
        if event.type in _ENDINGS:
            self._runs.pop(event.run_id, None)
            return
        reading = self._runs.setdefault(event.run_id, _Reading())
        match event.type:
            case e.RoundStarted.type:
                reading.round = event.data["round"]
                reading.attempt = reading.length = 0
            case e.RoundFinished.type:
                reading.round = None
            case e.ToolReturned.type:
                reading.returned.add(event.data["tool_call_id"])
            case _:
                pass

    def next(self, delta: Delta) -> Delta | Missing | None:
        """What of this delta to show now; None if nothing. What is returned counts as shown."""
        reading = self._runs.get(delta.run_id)
        if reading is None or reading.round != delta.round or delta.attempt < reading.attempt:
            return None
        if delta.attempt > reading.attempt:
            reading.attempt, reading.length = delta.attempt, 0
        if delta.offset > reading.length:
            return Missing.TEXT
        new = delta.text[reading.length - delta.offset :]
        if not new:
            return None
        shown = delta.model_copy(update={"offset": reading.length, "text": new})
        reading.length += len(new)
        return shown

    def shows(self, progress: Progress) -> bool:
        """Whether the call that says this still runs."""
        reading = self._runs.get(progress.run_id)
        return reading is not None and progress.tool_call_id not in reading.returned
