"""What each event means for the turn of its run, and for the run's row."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from tests.domain import building as b
from turnwright.domain import events as e
from turnwright.domain import turn as t
from turnwright.domain.evolve import fold as fold_run
from turnwright.domain.folding import facts, fold
from turnwright.domain.run import Approval, Failure, Limits, RunStatus, RunUsage

DEADLINE = b.START + timedelta(hours=1)
REQUESTED = e.ApprovalRequested(
    approval_id="apr_1", tool_call_id="c1", name="pay", arguments={"of": 1}, deadline=DEADLINE
)
SHOWN = Approval(id="apr_1", tool_call_id="c1", name="pay", arguments={"of": 1}, deadline=DEADLINE)


def refer(call: e.ToolCalled) -> t.CallRef:
    return t.CallRef(id=call.tool_call_id, name=call.name, kind="function", needs_approval=True)


def decided(decision: str) -> e.ApprovalDecided:
    fields = {"approval_id": "apr_1", "tool_call_id": "c1", "decision": decision}
    return e.ApprovalDecided.model_validate(fields)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ([REQUESTED], [t.ApprovalOpened(approval_id="apr_1", call_id="c1", deadline=DEADLINE)]),
        ([decided("approve")], [t.Approved(call_id="c1")]),
        ([decided("deny")], []),
        ([e.RunWaiting(status=RunStatus.WAITING_FOR_APPROVAL, approval=SHOWN)], []),
        (
            [e.RunWaiting(status=RunStatus.WAITING_FOR_SCHEDULE, until=DEADLINE)],
            [t.Waits(until=DEADLINE)],
        ),
        (
            [e.RunWaiting(status=RunStatus.WAITING_FOR_BUDGET, limit="rounds")],
            [t.Waits(limit="rounds")],
        ),
        ([e.RunCancelRequested()], [t.CancelRequested()]),
        (
            [e.MessageInjected(message_id="msg_1", text="More", source="steering")],
            [t.Injected(source="steering")],
        ),
        (
            [e.RunBudgetExtended(limit="rounds", before=50, after=60)],
            [t.Extended(limits=Limits(rounds=60), deadline=None)],
        ),
        ([e.RunModelSwitched(before="scripted:echo", after="scripted:script")], []),
    ],
    ids=lambda said: said[0].type if said and hasattr(said[0], "type") else None,
)
def test_an_event_means_this_for_the_turn(
    said: Sequence[e.EventData], meant: Sequence[t.Fact]
) -> None:
    log = b.Log().add("run_a", b.started(), *said)
    assert facts(fold_run(log), log, refer) == meant


def test_a_model_switch_and_a_top_up_change_the_row() -> None:
    run = fold_run(
        b.Log().add(
            "run_a",
            b.started(limits=Limits(seconds=60)),
            e.RunModelSwitched(before="scripted:echo", after="scripted:script"),
            e.RunBudgetExtended(limit="tool_calls", before=100, after=110),
            e.RunBudgetExtended(limit="seconds", before=60, after=90.5),
        )
    )
    assert run.model == "scripted:script"
    assert run.limits == Limits(tool_calls=110, seconds=90.5)
    assert isinstance(run.limits.tool_calls, int)


def test_a_reopened_run_is_running_and_has_no_failure() -> None:
    failure = Failure(reason="model_error", message="No.")
    log = b.Log().add(
        "run_a",
        b.started(),
        e.RunCancelRequested(),
        e.RunFailed(failure=failure, usage=RunUsage()),
        e.RunReopened(execution_id="execution-2"),
    )
    run = fold_run(log)
    assert (run.status, run.execution_id) == (RunStatus.RUNNING, "execution-2")
    assert (run.failure, run.ended_at, run.cancel_requested_at) == (None, None, None)
    turn = fold(run, log, refer, execution_id="execution-2", on_limit="wait")
    assert (turn.ended, turn.cancelling, turn.on_limit) == (None, False, "wait")


def test_a_turn_knows_how_far_it_has_read_and_how_often_a_model_was_asked() -> None:
    log = b.Log().add(
        "run_a", b.started(), b.began(1), b.began(1, attempt=2), b.finished(1, ("c1", "look"))
    )
    turn = fold(fold_run(log), log, refer, execution_id="execution-1")
    assert (turn.sequence, turn.rounds, turn.attempts) == (4, 1, 2)
