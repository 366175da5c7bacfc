"""Which live text a reader is shown: the rules alone, without a stream."""

from datetime import UTC, datetime
from typing import Any

from api.live_cursor import LiveCursor, Missing
from turnwright.domain.events import Event
from turnwright.live import Delta, Progress


def event(type_: str, **data: Any) -> Event:
    """An event of the run."""
    return Event(
        id="evt",
        session_id="ses",
        sequence=1,
        type=type_,
        schema_version=1,
        run_id="run",
        created_at=datetime.now(UTC),
        data=data,
    )


def delta(offset: int, text: str, *, number: int = 1, attempt: int = 1) -> Delta:
    """A piece of the run's text."""
    return Delta(
        session_id="ses",
        run_id="run",
        round=number,
        attempt=attempt,
        message_id="msg",
        offset=offset,
        text=text,
    )


def progress(call: str) -> Progress:
    """What a call of the run says."""
    return Progress(session_id="ses", run_id="run", tool_call_id=call, name="t", text="x")


def reading(number: int = 1) -> LiveCursor:
    """A reader who has seen the round start."""
    return LiveCursor({"run": number})


def test_text_is_shown_only_while_its_round_streams() -> None:
    live = LiveCursor({})
    assert live.next(delta(0, "early")) is None
    live.emitted(event("run.started"))
    live.emitted(event("round.started", round=1))
    assert live.next(delta(0, "on")) == delta(0, "on")
    live.emitted(event("round.finished", round=1))
    assert live.next(delta(2, "late")) is None


def test_nothing_is_shown_twice() -> None:
    live = reading()
    live.next(delta(0, "one "))
    assert live.next(delta(0, "one ")) is None
    assert live.next(delta(0, "one two")) == delta(4, "two")
    assert live.next(delta(6, "o three")) == delta(7, " three")


def test_a_gap_is_noticed_and_filled_by_the_text_so_far() -> None:
    live = reading()
    live.next(delta(0, "one "))
    assert live.next(delta(8, "three")) is Missing.TEXT
    assert live.next(delta(0, "one two three")) == delta(4, "two three")


def test_a_new_attempt_starts_over_and_the_old_one_is_silent() -> None:
    live = reading()
    live.next(delta(0, "first"))
    assert live.next(delta(0, "second", attempt=2)) == delta(0, "second", attempt=2)
    assert live.next(delta(5, " more")) is None


def test_text_of_another_round_is_not_shown() -> None:
    live = reading(2)
    assert live.next(delta(0, "old", number=1)) is None
    assert live.next(delta(0, "new", number=2)) == delta(0, "new", number=2)


def test_nothing_of_an_ended_run_is_shown() -> None:
    live = reading()
    live.emitted(event("run.failed"))
    assert live.next(delta(0, "late")) is None
    assert not live.shows(progress("call"))


def test_progress_is_shown_until_its_call_has_returned() -> None:
    live = reading()
    assert live.shows(progress("call"))
    live.emitted(event("tool.returned", tool_call_id="call"))
    assert not live.shows(progress("call"))
    assert live.shows(progress("other"))
