"""Rows folded from events."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain import building as b
from turnwright.domain import events as e
from turnwright.domain.errors import UnknownEvent
from turnwright.domain.evolve import begin, evolve, fold, fold_session
from turnwright.domain.messages import Usage
from turnwright.domain.run import (
    ACTIVE,
    TERMINAL,
    Failure,
    Limits,
    Output,
    Question,
    RunStatus,
    RunUsage,
)
from turnwright.domain.sessions import Session

QUESTION = Question(id="qst_1", text="Which?", choices=("a", "b"))

FACTS = st.sampled_from(
    [
        e.RoundStarted(round=1, attempt=1, model="m", message_id="msg_1"),
        b.finished(1, ("c1", "look")),
        b.said(1, "Looking"),
        b.said(2, "Done", final=True),
        b.called("c1"),
        b.returned("c1"),
        e.RunWaiting(status=b.WAITING, question=QUESTION),
        e.RunResumed(left=b.WAITING),
        e.RunCancelRequested(reason="enough"),
        *(ending(usage=RunUsage()) for ending in e.ENDINGS.values()),
    ]
)


def test_a_started_run_is_running_and_holds_all_that_its_event_says() -> None:
    said = b.started(limits=Limits(rounds=3))
    run = begin(b.event(said, 4), said)
    assert run.status is RunStatus.RUNNING
    assert run.limits.rounds == 3
    assert run.last_sequence == 4
    assert run.started_at == run.updated_at == b.START + timedelta(seconds=4)
    for name, value in said:
        assert getattr(run, name) == value


def test_rounds_and_calls_are_counted_and_the_final_text_is_the_output() -> None:
    log = b.Log().add(
        "run_a",
        b.started(),
        b.began(1),
        b.began(1, attempt=2),
        b.finished(1, ("c1", "look"), tokens=5),
        b.said(1, "Looking"),
        b.called("c1"),
        b.returned("c1"),
        b.began(2),
        b.finished(2, tokens=7),
        b.said(2, "Done", final=True),
        e.RunCompleted(output_message_id="msg_out_2", usage=RunUsage()),
    )
    run = fold(log)
    assert run.usage == RunUsage(rounds=3, tool_calls=1, input_tokens=10, output_tokens=2)
    assert run.output == Output(message_id="msg_out_2", text="Done")
    assert run.status is RunStatus.COMPLETED
    assert run.ended_at == run.updated_at == log.events[-1].created_at
    assert run.last_sequence == 11


def test_a_waiting_run_holds_what_it_waits_for_until_it_goes_on() -> None:
    log = b.Log().add("run_a", b.started(), e.RunWaiting(status=b.WAITING, question=QUESTION))
    run = fold(log)
    assert run.status is b.WAITING
    assert run.waiting is not None
    assert (run.waiting.question, run.waiting.since) == (QUESTION, log.events[1].created_at)
    run = fold(log.add("run_a", e.RunResumed(left=b.WAITING)))
    assert (run.status, run.waiting) == (RunStatus.RUNNING, None)


def test_a_run_that_ends_while_it_waits_waits_no_more() -> None:
    failure = Failure(reason="terminated", message="Ended from outside.")
    run = fold(
        b.Log().add(
            "run_a",
            b.started(),
            e.RunWaiting(status=b.WAITING, question=QUESTION),
            e.RunCancelRequested(),
            e.RunFailed(failure=failure, usage=RunUsage()),
        )
    )
    assert (run.status, run.waiting, run.failure) == (RunStatus.FAILED, None, failure)
    assert run.cancel_requested_at == b.START + timedelta(seconds=3)


@given(st.lists(FACTS, max_size=12))
def test_folding_a_log_is_the_same_as_following_it(facts: list[e.EventData]) -> None:
    log = b.Log().add("run_a", b.started(), *facts).events
    run = begin(log[0], b.started())
    for event, data in zip(log[1:], facts, strict=True):
        run = evolve(run, event, data)
    assert run == fold(log)
    assert run.last_sequence == log[-1].sequence
    assert run.updated_at == log[-1].created_at


def test_every_status_is_either_active_or_terminal() -> None:
    assert {*ACTIVE, *TERMINAL} == set(RunStatus)
    assert all(status.active for status in ACTIVE)
    assert not any(status.active for status in TERMINAL)
    assert set(e.ENDINGS) == TERMINAL


def test_costs_add_up_where_they_are_known() -> None:
    usage = RunUsage().plus(Usage(input_tokens=1), rounds=1)
    assert usage.cost_usd is None
    usage = usage.plus(Usage(cost_usd=0.5)).plus(Usage()).plus(Usage(cost_usd=0.25))
    assert usage.cost_usd == pytest.approx(0.75)


def test_a_log_without_a_start_is_no_run() -> None:
    with pytest.raises(UnknownEvent, match=r"no run\.started"):
        fold(b.Log().add("run_a", b.user("msg_1", "hi")))


def test_an_event_of_no_run_starts_none() -> None:
    with pytest.raises(UnknownEvent, match="names none"):
        begin(b.event(b.started(), run_id=None), b.started())


def state(title: str | None = None) -> dict[str, object]:
    return {"agent": "a", "mode": "task", "room": "lab", "title": title, "metadata": {"k": [1]}}


def test_a_session_is_its_latest_state_and_its_log_is_its_clock() -> None:
    log = b.Log()
    log.add(None, e.SessionCreated.model_validate(state()))
    log.turn("run_a", "hi", "hello")
    log.add(None, e.SessionUpdated.model_validate(state("New")))
    session = fold_session(log)
    assert session == Session.model_validate(
        state("New")
        | {
            "id": "ses_a",
            "status": "open",
            "active_run": None,
            "last_sequence": 7,
            "created_at": b.START + timedelta(seconds=1),
            "updated_at": b.START + timedelta(seconds=7),
            "closed_at": None,
        }
    )
    session = fold_session(log.add(None, e.SessionClosed.model_validate(state("New"))))
    assert (session.status, session.closed_at) == ("closed", session.updated_at)


@pytest.mark.parametrize("log", [b.Log(), b.Log().turn("run_a", "hi", "hello")])
def test_a_log_without_a_creation_is_no_session(log: b.Log) -> None:
    with pytest.raises(UnknownEvent, match=r"no session\.created"):
        fold_session(log)
