"""The conversation as a projection of the log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain import building as b
from turnwright.domain import events as e
from turnwright.domain.history import INTERRUPTED, conversation, estimate_tokens
from turnwright.domain.messages import Message, Opaque
from turnwright.domain.run import RunUsage


def spoken(messages: tuple[Message, ...]) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in messages]


def test_what_belongs_to_no_run_is_not_said() -> None:
    closed = e.SessionClosed(agent="a", mode="task", room=None, title=None, metadata=None)
    assert conversation(b.Log().add(None, closed)) == ()


def test_ended_turns_are_remembered_in_their_order() -> None:
    log = b.Log().turn("run_a", "one", "1").turn("run_b", "two", "2")
    said = conversation(log)
    assert spoken(said) == [
        ("user", "one"), ("assistant", "1"), ("user", "two"), ("assistant", "2")
    ]  # fmt: skip
    assert [(m.run_id, m.sequence) for m in said] == [
        ("run_a", 1), ("run_a", 4), ("run_b", 6), ("run_b", 9)
    ]  # fmt: skip


def test_an_active_run_is_left_out_unless_it_is_the_one_that_is_seeded() -> None:
    log = b.Log().turn("run_a", "one", "1").add("run_b", b.user("msg_b", "two"), b.started("run_b"))
    assert spoken(conversation(log)) == [("user", "one"), ("assistant", "1")]
    assert spoken(conversation(log, run_id="run_b"))[-1] == ("user", "two")


def test_a_child_run_and_a_message_of_no_started_run_are_left_out() -> None:
    log = b.Log().turn("run_a", "one", "1")
    log.add("run_c", b.user("msg_c", "task"), b.started("run_c", kind="child"), b.cancelled())
    log.add("run_d", b.user("msg_d", "lost"))
    assert spoken(conversation(log)) == [("user", "one"), ("assistant", "1")]


def test_an_attempt_that_was_retried_is_left_out() -> None:
    """Behaviour 35: the trigger, which only the first attempt logged, is there once."""
    failed = e.RunFailed(usage=RunUsage())
    log = b.Log().add("run_a", b.user("msg_a", "one"), b.started("run_a"), b.finished(1))
    log.add("run_a", b.said(1, "half"), failed)
    log.add("run_b", b.started("run_b", retry_of="run_a"), b.finished(1, ("c1", "look")), failed)
    log.add("run_c", b.started("run_c", retry_of="run_b"))
    assert spoken(conversation(log, run_id="run_c")) == [("user", "one")]
    log.add("run_c", b.finished(1), b.said(1, "1", final=True), e.RunCompleted(usage=RunUsage()))
    assert spoken(conversation(log)) == [("user", "one"), ("assistant", "1")]


def test_a_turn_that_was_cancelled_leaves_its_trigger_and_its_completed_rounds() -> None:
    log = b.Log().add("run_a", b.user("msg_a", "one"), b.started("run_a"), b.finished(1))
    log.add("run_a", b.said(1, "so far"), b.cancelled())
    assert spoken(conversation(log)) == [("user", "one"), ("assistant", "so far")]


def test_an_answer_appears_once_as_the_result_of_the_call_that_asked() -> None:
    ask = "conversation.ask_user"
    log = b.Log().add(
        "run_a",
        b.user("msg_a", "one"),
        b.started("run_a"),
        b.finished(1, ("c1", ask)),
        b.called("c1", ask),
        e.QuestionAsked(question_id="qst_1", tool_call_id="c1", text="Which?"),
        b.user("msg_x", "this", in_reply_to="qst_1"),
        b.returned("c1", "this", ask),
    )
    said = conversation(log, run_id="run_a")
    assert spoken(said) == [("user", "one"), ("assistant", ""), ("tool", "this")]
    assert (said[2].tool_call_id, said[2].name, said[2].outcome) == ("c1", ask, "ok")


def test_a_round_that_said_nothing_is_no_message() -> None:
    log = b.Log().add("run_a", b.user("msg_a", "one"), b.started("run_a"), b.finished(1))
    log.add("run_a", e.RunCompleted(usage=RunUsage()))
    assert spoken(conversation(log)) == [("user", "one")]


def test_opaque_records_go_to_their_own_run_alone() -> None:
    mine = Opaque(provider="scripted", writer="1", data={"reasoning": "sealed"})
    log = b.Log().turn("run_a", "one", "1").add("run_b", b.user("msg_b", "two"))
    log.add("run_b", b.started("run_b"), b.finished(1, ("c1", "look")), b.called("c1"))
    said = conversation(log, run_id="run_b", opaque={1: mine})
    assert [message.opaque for message in said if message.role == "assistant"] == [None, mine]


def test_injected_words_stand_between_rounds_and_a_round_s_results_come_first() -> None:
    """However late the results were logged; before the first round they follow the trigger."""
    log = b.Log().add("run_a", b.user("msg_a", "go"), b.started("run_a"), b.injected("early"))
    log.add("run_a", b.began(1), b.injected("into the first"))
    log.add("run_a", b.finished(1, ("c1", "look"), ("c2", "look")), b.called("c1"), b.called("c2"))
    log.add("run_a", b.returned("c2", "2"), b.injected("mid", "reflection"), b.returned("c1", "1"))
    log.add("run_a", b.injected("late"), b.finished(2), b.said(2, "done", final=True))
    log.add("run_a", e.RunCompleted(usage=RunUsage()))
    said = conversation(log, run_id="run_a")
    assert spoken(said) == [
        ("user", "go"), ("user", "early"), ("user", "into the first"),
        ("assistant", ""), ("tool", "1"), ("tool", "2"), ("user", "mid"), ("user", "late"),
        ("assistant", "done"),
    ]  # fmt: skip
    assert {message.run_id for message in said} == {"run_a"}
    assert conversation(log) == said, "a later turn reads the same"


def test_a_reopened_run_is_active_again_until_it_ends_once_more() -> None:
    log = b.Log().add("run_a", b.user("msg_a", "one"), b.started("run_a"), b.finished(1))
    log.add("run_a", b.said(1, "half"), e.RunFailed(usage=RunUsage()))
    assert spoken(conversation(log)) == [("user", "one"), ("assistant", "half")]
    log.add("run_a", e.RunReopened(execution_id="execution-2"))
    assert conversation(log) == ()
    log.add("run_a", b.finished(2), b.said(2, "whole", final=True))
    log.add("run_a", e.RunCompleted(usage=RunUsage()))
    assert spoken(conversation(log))[1:] == [("assistant", "half"), ("assistant", "whole")]


@pytest.mark.parametrize("run_id", [None, "run_x"])
def test_an_empty_log_is_an_empty_conversation(run_id: str | None) -> None:
    assert conversation(b.Log(), run_id=run_id) == ()


@st.composite
def runs_with_calls(draw: st.DrawFn) -> b.Log:
    """A run of some rounds with calls, whose results come in any order, or not at all."""
    log = b.Log().add("run_a", b.user("msg_a", "go"), b.started("run_a"))
    for number in range(1, draw(st.integers(1, 4)) + 1):
        ids = [f"c{number}.{i}" for i in range(draw(st.integers(0, 4)))]
        log.add("run_a", b.finished(number, *((i, "look") for i in ids)))
        if draw(st.booleans()):
            log.add("run_a", b.said(number, f"round {number}"))
        log.add("run_a", *(b.called(i, number=number) for i in ids))
        results = draw(st.permutations(ids))
        results = results[: draw(st.integers(0, len(results)))]
        log.add("run_a", *(b.returned(i, f"result of {i}") for i in results))
    if draw(st.booleans()):
        log.add("run_a", b.cancelled())
    return log


@given(runs_with_calls())
def test_every_call_has_exactly_one_result_in_call_order(log: b.Log) -> None:
    """Whatever the order in which results came, and wherever the run was cut short."""
    messages = list(conversation(log, run_id="run_a"))
    recorded = {
        data.tool_call_id: data.content
        for event in log
        if isinstance(data := e.decode(event), e.ToolReturned)
    }
    while messages:
        message = messages.pop(0)
        assert message.role in ("user", "assistant")
        results = [messages.pop(0) for _ in message.tool_calls]
        assert [r.tool_call_id for r in results] == [call.id for call in message.tool_calls]
        for result in results:
            assert result.role == "tool"
            assert result.text == recorded.get(result.tool_call_id or "", INTERRUPTED)
            assert result.outcome == ("ok" if result.tool_call_id in recorded else "cancelled")


def test_tokens_are_estimated_from_all_that_is_said_and_called() -> None:
    log = b.Log().add("run_a", b.user("msg_a", "x" * 400), b.started("run_a"))
    assert estimate_tokens(conversation(log, run_id="run_a")) == 120
    log.add("run_a", b.finished(1, ("c1", "look")), b.called("c1"))
    assert estimate_tokens(conversation(log, run_id="run_a")) > 120
