"""What a run does next, and what each fact changes about it."""

import pytest

from tests.domain import building as b
from turnwright.domain import deciding as d
from turnwright.domain import events as e
from turnwright.domain import turn as t
from turnwright.domain.deciding import decide
from turnwright.domain.evolve import fold as fold_run
from turnwright.domain.folding import ended, facts, fold
from turnwright.domain.run import Failure, Limits, Question, RunStatus, RunUsage

LOOK = t.CallRef(id="c1", name="look", kind="function")
SEE = t.CallRef(id="c2", name="see", kind="function")
ASK = t.CallRef(id="c3", name="conversation.ask_user", kind="ask_user")
ASK_AGAIN = ASK.model_copy(update={"id": "c4"})
ASKED = t.Asked(call_id="c3", question_id="qst_1")


def turn(*facts: t.Fact, limits: Limits | None = None) -> t.Turn:
    state = t.Turn(execution_id="execution-1", limits=limits or Limits())
    for fact in facts:
        state = t.advance(state, fact)
    return state


def a_round(number: int, *calls: t.CallRef, tokens: int = 10) -> t.RoundRecorded:
    return t.RoundRecorded(round=number, tokens=tokens, calls=calls)


def returned(call: t.CallRef, *, fatal: bool = False) -> t.CallReturned:
    return t.CallReturned(call_id=call.id, outcome="ok", fatal=fatal)


def refer(call: e.ToolCalled) -> t.CallRef:
    kind: t.CallKind = "ask_user" if call.name.startswith("conversation.") else "function"
    return t.CallRef(id=call.tool_call_id, name=call.name, kind=kind)


def test_a_new_run_asks_the_model() -> None:
    assert decide(turn()) == d.AskModel(round=1)


def test_the_functions_of_a_round_are_called_together_and_before_its_questions() -> None:
    state = turn(a_round(1, ASK, LOOK, SEE))
    assert decide(state) == d.CallTools(calls=(LOOK, SEE))
    state = t.advance(state, returned(SEE))
    assert decide(state) == d.CallTools(calls=(LOOK,))
    state = t.advance(state, returned(LOOK))
    assert decide(state) == d.AskUser(call=ASK)


def test_questions_are_put_one_after_the_other() -> None:
    state = turn(a_round(1, ASK, ASK_AGAIN))
    assert decide(state) == d.AskUser(call=ASK)
    state = t.advance(state, ASKED)
    assert decide(state) == d.Wait(status=RunStatus.WAITING_FOR_USER, asked=ASKED)
    state = t.advance(state, t.Answered(call_id="c3"))
    assert decide(state) == d.AskUser(call=ASK_AGAIN)


def test_a_question_that_was_refused_is_a_result_like_any_other() -> None:
    assert decide(turn(a_round(1, ASK), returned(ASK))) == d.AskModel(round=2)


def test_the_next_round_is_asked_when_every_call_has_its_result() -> None:
    assert decide(turn(a_round(1, LOOK), returned(LOOK))) == d.AskModel(round=2)


def test_an_ended_run_finishes_whatever_else_is_open() -> None:
    ended = t.Ended(status=RunStatus.CANCELLED)
    assert decide(turn(a_round(1, LOOK, ASK), ASKED, ended)) == d.Finish(ended=ended)


def test_a_fatal_result_fails_the_run_before_anything_else_is_begun() -> None:
    step = decide(turn(a_round(1, LOOK, SEE, ASK), returned(LOOK, fatal=True)))
    assert isinstance(step, d.Settle)
    assert (step.status, step.reason) == (RunStatus.FAILED, "tool_failed")


def test_a_fatal_result_stays_fatal_when_other_calls_return() -> None:
    state = turn(a_round(1, LOOK, SEE), returned(LOOK, fatal=True), returned(SEE))
    assert isinstance(decide(state), d.Settle)


@pytest.mark.parametrize(
    ("limits", "facts", "reason"),
    [
        (Limits(rounds=1), [a_round(1, LOOK), returned(LOOK)], "max_rounds_exceeded"),
        (Limits(total_tokens=10), [a_round(1, LOOK)], "budget_exceeded"),
        (Limits(total_tokens=10), [a_round(1, ASK)], "budget_exceeded"),
        (Limits(total_tokens=10), [a_round(1, LOOK), returned(LOOK)], "budget_exceeded"),
        (Limits(tool_calls=1), [a_round(1, LOOK, SEE)], "budget_exceeded"),
        (Limits(tool_calls=1), [a_round(1, ASK, ASK_AGAIN)], "budget_exceeded"),
    ],
)
def test_a_limit_that_is_reached_fails_the_run(
    limits: Limits, facts: list[t.Fact], reason: str
) -> None:
    step = decide(turn(*facts, limits=limits))
    assert isinstance(step, d.Settle)
    assert (step.status, step.reason) == (RunStatus.FAILED, reason)


@pytest.mark.parametrize(
    "limits",
    [Limits(rounds=2, tool_calls=1, total_tokens=11), Limits(rounds=None, total_tokens=None)],
)
def test_within_the_limits_a_run_goes_on(limits: Limits) -> None:
    state = turn(a_round(1, LOOK), limits=limits)
    assert decide(state) == d.CallTools(calls=(LOOK,))
    assert decide(t.advance(state, returned(LOOK))) == d.AskModel(round=2)


def test_tool_calls_without_a_limit_are_not_counted_against_one() -> None:
    assert isinstance(
        decide(turn(a_round(1, LOOK, SEE), limits=Limits(tool_calls=None))), d.CallTools
    )


@pytest.mark.parametrize(
    "fact",
    [a_round(1, LOOK, ASK), returned(LOOK), ASKED, t.Answered(call_id="c3")],
    ids=lambda fact: fact.fact,
)
def test_a_fact_that_is_folded_twice_changes_nothing_more(fact: t.Fact) -> None:
    once = t.advance(turn(a_round(1, LOOK, ASK)), fact)
    assert t.advance(once, fact) == once


def test_a_result_of_another_call_leaves_the_question_open() -> None:
    state = turn(a_round(1, LOOK, ASK), ASKED, returned(LOOK))
    assert decide(state) == d.Wait(status=RunStatus.WAITING_FOR_USER, asked=ASKED)


def test_a_run_is_opened_from_its_log_where_it_stands() -> None:
    """At every point of a run its log, folded, is what its workflow had come to."""
    facts: list[e.EventData] = [
        b.started(limits=Limits(rounds=9)),
        e.RoundStarted(round=1, attempt=1, model="m", message_id="msg_1"),
        b.finished(1, ("c1", "look"), ("c3", "conversation.ask_user")),
        b.said(1, "Looking"),
        b.called("c1"),
        b.called("c3", "conversation.ask_user"),
        e.ToolStarted(tool_call_id="c1", name="look", attempt=1, repeatable=False),
        b.returned("c1"),
        e.QuestionAsked(question_id="qst_1", tool_call_id="c3", text="Which?"),
        e.RunWaiting(status=b.WAITING, question=Question(id="qst_1", text="Which?")),
        b.returned("c3", "this", "conversation.ask_user"),
        e.RunResumed(left=b.WAITING),
        b.finished(2),
        b.said(2, "Done", final=True),
        e.RunCompleted(usage=RunUsage()),
    ]
    expected: dict[int, d.Step] = {
        1: d.AskModel(round=1),
        6: d.CallTools(calls=(LOOK,)),
        8: d.AskUser(call=ASK),
        10: d.Wait(status=RunStatus.WAITING_FOR_USER, asked=ASKED),
        12: d.AskModel(round=2),
        15: d.Finish(ended=t.Ended(status=RunStatus.COMPLETED)),
    }
    for upto, step in expected.items():
        log = b.Log().add("run_a", *facts[:upto])
        state = fold(fold_run(log), log, refer, execution_id="execution-2")
        assert decide(state) == step
        assert (state.execution_id, state.limits.rounds) == ("execution-2", 9)


def test_how_a_run_ended_names_its_failure() -> None:
    failure = Failure(reason="model_refused", message="No.")
    log = b.Log().add("run_a", b.started(), e.RunFailed(failure=failure, usage=RunUsage()))
    assert ended(fold_run(log)) == t.Ended(status=RunStatus.FAILED, reason="model_refused")


def test_a_recorded_round_counts_its_tokens_and_refers_to_its_calls() -> None:
    log = b.Log().add("run_a", b.started(), b.finished(3, ("c1", "look"), tokens=7), b.called("c1"))
    assert facts(fold_run(log), log, refer) == [
        t.RoundRecorded(round=3, tokens=7),
        t.Called(call=LOOK),
    ]
