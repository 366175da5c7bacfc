"""Approvals, sleeps, limits and loops: what a run does about them, and in which order."""

from datetime import timedelta

import pytest

from tests.domain import building as b
from turnwright.domain import deciding as d
from turnwright.domain import turn as t
from turnwright.domain.deciding import decide
from turnwright.domain.run import LimitName, Limits, RunStatus

LOOK = t.CallRef(id="c1", name="look", kind="function")
PAY = t.CallRef(id="c2", name="pay", kind="function", needs_approval=True)
SELL = t.CallRef(id="c3", name="sell", kind="function", needs_approval=True)
ASK = t.CallRef(id="c4", name="conversation.ask_user", kind="ask_user")
SLEEP = t.CallRef(id="c5", name="run.sleep_until", kind="sleep")
SOON, LATER = b.START + timedelta(minutes=1), b.START + timedelta(hours=1)
PAY_OPEN = t.ApprovalOpened(approval_id="apr_1", call_id="c2", deadline=LATER)
SELL_OPEN = t.ApprovalOpened(approval_id="apr_2", call_id="c3", deadline=SOON)
DENIED = t.CallReturned(call_id="c2", outcome="denied")
EXECUTION = "execution-1"


def turn(*facts: t.Fact, limits: Limits | None = None, on_limit: t.OnLimit = "fail") -> t.Turn:
    state = t.Turn(execution_id=EXECUTION, limits=limits or Limits(), on_limit=on_limit)
    for fact in facts:
        state = t.advance(state, fact)
    return state


def calling(*calls: t.CallRef, repeats: int = 1, tokens: int = 10) -> list[t.Fact]:
    """A round that asked for these."""
    a_round = t.RoundRecorded(round=1, tokens=tokens, repeats=repeats, attempts=1)
    return [a_round, *(t.Called(call=call) for call in calls)]


def done(call: t.CallRef) -> t.CallReturned:
    return t.CallReturned(call_id=call.id, outcome="ok")


def test_what_needs_no_approval_is_run_first_and_the_approvals_are_opened_together() -> None:
    state = turn(*calling(ASK, PAY, LOOK, SELL))
    assert decide(state) == d.CallTools(calls=(LOOK,))
    state = t.advance(state, done(LOOK))
    assert decide(state) == d.RequestApprovals(calls=(PAY, SELL))
    state = t.advance(t.advance(state, PAY_OPEN), SELL_OPEN)
    assert decide(state) == d.Wait(status=RunStatus.WAITING_FOR_APPROVAL, until=SOON)


def test_an_approved_call_runs_while_another_approval_is_open() -> None:
    state = turn(*calling(PAY, SELL), PAY_OPEN, SELL_OPEN, t.Approved(call_id="c2"))
    allowed = PAY.model_copy(update={"needs_approval": False})
    assert decide(state) == d.CallTools(calls=(allowed,))
    state = t.advance(state, done(PAY))
    assert decide(state) == d.Wait(status=RunStatus.WAITING_FOR_APPROVAL, until=SOON)


def test_a_denial_is_a_result_and_a_question_comes_after_every_approval() -> None:
    state = turn(*calling(ASK, PAY), PAY_OPEN, DENIED)
    assert decide(state) == d.AskUser(call=ASK)


def test_an_approval_without_a_deadline_waits_for_ever() -> None:
    opened = PAY_OPEN.model_copy(update={"deadline": None})
    assert decide(turn(*calling(PAY), opened)) == d.Wait(status=RunStatus.WAITING_FOR_APPROVAL)


def test_sleeps_and_questions_come_one_by_one_in_call_order() -> None:
    state = turn(*calling(SLEEP, ASK))
    assert decide(state) == d.Sleep(call=SLEEP)
    state = t.advance(state, t.Waits(until=LATER))
    assert decide(state) == d.Wait(status=RunStatus.WAITING_FOR_SCHEDULE, until=LATER)
    state = t.advance(t.advance(state, done(SLEEP)), t.Resumed())
    assert decide(state) == d.AskUser(call=ASK)


def test_a_question_is_waited_for_until_its_deadline() -> None:
    asked = t.Asked(call_id="c4", question_id="qst_1", deadline=SOON)
    step = decide(turn(*calling(ASK), asked))
    assert step == d.Wait(status=RunStatus.WAITING_FOR_USER, until=SOON, asked=asked)


def test_a_cancel_goes_before_everything_but_the_end() -> None:
    state = turn(*calling(LOOK, PAY), PAY_OPEN, t.CancelRequested())
    assert decide(state) == d.Settle(status=RunStatus.CANCELLED)
    ended = t.Ended(status=RunStatus.CANCELLED)
    assert decide(t.advance(state, ended)) == d.Finish(ended=ended)


def test_the_reset_of_an_old_run_takes_up_the_one_that_lost_its_execution() -> None:
    other = t.RunRef(run_id="run_b", actor="assistant")
    state = turn(t.Ended(status=RunStatus.COMPLETED)).model_copy(update={"instead": other})
    assert decide(state) == d.MoveOn(run=other)


def test_an_unknown_outcome_that_is_fatal_has_a_reason_of_its_own() -> None:
    lost = t.CallReturned(call_id="c1", outcome="unknown", fatal=True)
    step = decide(turn(*calling(LOOK), lost))
    assert isinstance(step, d.Settle)
    assert step.reason == "tool_outcome_unknown"


def test_a_reopened_run_goes_on_as_if_it_had_not_failed() -> None:
    failed = t.CallReturned(call_id="c1", outcome="error", fatal=True)
    ended = t.Ended(status=RunStatus.FAILED, reason="tool_failed")
    assert decide(turn(*calling(LOOK), failed, ended, t.Reopened())) == d.AskModel(round=2)


OVER: list[tuple[LimitName, Limits, list[t.Fact]]] = [
    ("rounds", Limits(rounds=1), [*calling(LOOK), done(LOOK)]),
    ("rounds", Limits(rounds=3), [t.Attempted(attempts=3)]),
    ("tool_calls", Limits(tool_calls=1), calling(LOOK, ASK)),
    ("total_tokens", Limits(total_tokens=10), calling(LOOK)),
    ("total_tokens", Limits(total_tokens=10), [*calling(LOOK), done(LOOK)]),
]


@pytest.mark.parametrize(("limit", "limits", "facts"), OVER)
def test_a_reached_limit_is_what_the_agent_s_policy_makes_of_it(
    limit: LimitName, limits: Limits, facts: list[t.Fact]
) -> None:
    failed = decide(turn(*facts, limits=limits))
    assert isinstance(failed, d.Settle)
    assert (failed.status, failed.limit) == (RunStatus.FAILED, limit)
    assert decide(turn(*facts, limits=limits, on_limit="wait")) == d.AwaitBudget(limit=limit)
    assert decide(turn(*facts, limits=limits, on_limit="wrap_up")) == d.WrapUp(limit=limit)


def test_a_run_waits_for_budget_until_it_is_enough() -> None:
    facts = [*calling(LOOK), done(LOOK), t.Waits(limit="rounds")]
    state = turn(*facts, limits=Limits(rounds=1), on_limit="wait")
    assert decide(state) == d.Wait(status=RunStatus.WAITING_FOR_BUDGET, limit="rounds")
    more = t.Extended(limits=Limits(rounds=2), deadline=LATER)
    state = t.advance(t.advance(state, more), t.Resumed())
    assert decide(state) == d.AskModel(round=2)
    assert state.deadline == LATER


def test_a_run_that_wraps_up_has_one_last_round_beyond_its_limit() -> None:
    facts = [*calling(LOOK), done(LOOK), t.Injected(source="budget")]
    state = turn(*facts, limits=Limits(rounds=1, total_tokens=1), on_limit="wrap_up")
    assert decide(state) == d.AskModel(round=2, last=True)


def test_a_loop_is_told_of_once_and_then_fails() -> None:
    at = [*calling(LOOK, repeats=d.REPEATS), done(LOOK)]
    assert decide(turn(*at)) == d.Reflect()
    told = t.Injected(source="reflection")
    assert decide(turn(*at, told)) == d.AskModel(round=2)
    step = decide(turn(told, *calling(LOOK, repeats=2 * d.REPEATS)))
    assert isinstance(step, d.Settle)
    assert step.reason == "tool_loop_detected"


def test_steering_asks_for_a_round_and_nothing_else() -> None:
    steered = t.Injected(source="steering")
    last = t.RoundRecorded(round=1, tokens=1, attempts=1)
    assert decide(turn(last, steered)) == d.AskModel(round=2)


@pytest.mark.parametrize(
    "fact",
    [
        t.Called(call=PAY),
        PAY_OPEN,
        t.Approved(call_id="c2"),
        DENIED,
        t.Waits(limit="rounds"),
        t.Resumed(),
        t.Attempted(attempts=4),
        t.Injected(source="budget"),
        t.CancelRequested(),
    ],
    ids=lambda fact: fact.fact,
)
def test_a_fact_that_is_folded_twice_changes_nothing_more(fact: t.Fact) -> None:
    once = t.advance(turn(*calling(LOOK, PAY, SELL), PAY_OPEN, SELL_OPEN), fact)
    assert t.advance(once, fact) == once
