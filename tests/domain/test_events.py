"""Events on their way in and out: every type round-trips, old ones are upcast, new ones refused."""

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from tests.domain import building as b
from turnwright.domain import events as e
from turnwright.domain.errors import UnknownEvent
from turnwright.domain.ids import id_pattern, is_id, new_id, workflow_id

CONTRACT = {
    "session.created", "session.updated", "session.closed", "message.user", "message.assistant",
    "run.started", "run.resumed", "run.waiting", "run.cancel_requested", "run.completed",
    "run.failed", "run.cancelled", "run.timed_out", "round.started", "round.finished",
    "tool.called", "tool.started", "tool.returned", "question.asked", "question.answered",
    "question.expired", "approval.requested", "approval.decided", "approval.expired",
    "message.injected", "message.queued", "message.dequeued", "message.withdrawn",
    "run.reopened", "run.model_switched", "run.budget_extended",
}  # fmt: skip


def test_the_types_are_those_of_the_contract() -> None:
    assert set(e.EVENT_TYPES) == CONTRACT


def test_the_waiting_status_that_was_left_is_called_from() -> None:
    event = b.event(e.RunResumed(left=b.WAITING))
    assert event.data == {"from": "waiting_for_user"}
    assert e.decode(event) == e.RunResumed(left=b.WAITING)


def test_an_event_of_a_later_type_is_refused() -> None:
    event = replace(b.event(b.cancelled()), type="run.teleported")
    with pytest.raises(UnknownEvent, match=r"run\.teleported .* upgrade"):
        e.decode(event)


def test_an_event_of_a_later_version_is_refused() -> None:
    with pytest.raises(UnknownEvent, match="version 2"):
        e.decode(b.event(b.cancelled(), version=2))


def test_an_event_of_this_version_is_itself() -> None:
    event = b.event(b.cancelled())
    assert e.upcast(event) is event


def test_an_older_event_is_brought_forward_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    class Newer(e.EventData):
        type = "round.started"
        version: ClassVar[int] = 3
        number: int
        model: str

    def rename(data: dict[str, Any]) -> dict[str, Any]:
        return {"number": data["round"], "model": data["model"]}

    def prefix(data: dict[str, Any]) -> dict[str, Any]:
        return data | {"model": f"any:{data['model']}"}

    started = e.RoundStarted(round=4, attempt=1, model="m", message_id="msg_1")
    old = b.event(started, version=1)
    monkeypatch.setattr(e, "EVENT_TYPES", {"round.started": Newer})
    monkeypatch.setattr(
        e, "UPCASTERS", {("round.started", 1): rename, ("round.started", 2): prefix}
    )
    assert e.decode(old) == Newer(number=4, model="any:m")
    assert e.upcast(old).schema_version == 3
    assert old.data["round"] == 4


def test_ids_sort_by_time_and_say_what_they_name() -> None:
    first, second = new_id("run"), new_id("run")
    assert first < second
    assert is_id("run", first)
    assert not is_id("ses", first)
    assert not is_id("run", f"{first}\n")
    assert id_pattern("run").startswith("^run_")
    assert workflow_id("ses_1") == "session/ses_1"
