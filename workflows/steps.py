"""The steps of a run, each one activity: what `decide` says, carried out."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow

from activities.admission import Admission
from activities.budgets import Budgets
from activities.calls import ToolCalls
from activities.inputs import (
    AnswerInput,
    CallInput,
    CallsInput,
    Facts,
    LimitInput,
    MomentInput,
    RoundInput,
    RunInput,
    SettleInput,
    TakeInput,
)
from activities.model_rounds import ModelRounds
from activities.waits import Waits
from turnwright.domain import deciding as d
from turnwright.domain.turn import CallRef, Turn
from workflows import policies

T = TypeVar("T")

_STORE: dict[str, Any] = {
    "start_to_close_timeout": policies.STORE_TIMEOUT,
    "retry_policy": policies.STORE_RETRY,
    "local_retry_threshold": policies.LOCAL_RETRY_THRESHOLD,
}


async def open_run(run: RunInput) -> Turn:
    """The run's turn, as this execution takes it over."""
    turn: Turn = await workflow.execute_local_activity_method(
        Admission.open, run, **_STORE, summary="open the run"
    )
    return turn


async def ask_model(run_id: str, step: d.AskModel, after: int) -> Facts:
    """One model round."""
    request = RoundInput(run_id=run_id, round=step.round, last=step.last, after=after)
    return await workflow.execute_activity_method(
        ModelRounds.round,
        request,
        start_to_close_timeout=policies.ROUND_TIMEOUT,
        heartbeat_timeout=policies.HEARTBEAT_TIMEOUT,
        retry_policy=policies.ROUND_RETRY,
        summary=f"round {step.round}",
    )


async def call_tools(run_id: str, calls: tuple[CallRef, ...]) -> tuple[Facts, ...]:
    """These calls, all at once. Ends, or raises, only once each of them has come to its end.

    When the run is cancelled, each call is given the time it needs for its one result.
    """
    work = (_call_tool(run_id, call) for call in calls)
    done = await asyncio.gather(*work, return_exceptions=True)
    for outcome in done:
        if isinstance(outcome, BaseException):
            raise outcome
    return tuple(outcome for outcome in done if not isinstance(outcome, BaseException))


async def _call_tool(run_id: str, call: CallRef) -> Facts:
    timeout = policies.TOOL_DEFAULT_TIMEOUT
    if call.timeout is not None:
        timeout = timedelta(seconds=call.timeout)
    return await workflow.execute_activity_method(
        ToolCalls.call,
        CallInput(run_id=run_id, call=call),
        start_to_close_timeout=timeout + policies.TOOL_MARGIN,
        heartbeat_timeout=policies.HEARTBEAT_TIMEOUT,
        retry_policy=policies.TOOL_RETRY,
        cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=call.name,
    )


async def begin_wait(run_id: str, step: d.AskUser | d.Sleep | d.RequestApprovals) -> Facts:
    """Put a question, begin a sleep, or ask for approvals."""
    if isinstance(step, d.RequestApprovals):
        calls = CallsInput(run_id=run_id, calls=step.calls)
        return await workflow.execute_local_activity_method(
            Waits.request_approvals, calls, **_STORE, summary="ask for approval"
        )
    asks = isinstance(step, d.AskUser)
    return await workflow.execute_local_activity_method(
        Waits.ask if asks else Waits.sleep,
        CallInput(run_id=run_id, call=step.call),
        **_STORE,
        summary="ask the user" if asks else "sleep",
    )


async def take(run_id: str, wait: d.Wait, after: int) -> Facts:
    """What was accepted for the run that waits."""
    if wait.asked is not None:
        request = AnswerInput(run_id=run_id, asked=wait.asked, after=after)
        return await workflow.execute_local_activity_method(
            Waits.take_answer, request, **_STORE, summary="take the answer"
        )
    return await workflow.execute_local_activity_method(
        Waits.take, TakeInput(run_id=run_id, after=after), **_STORE, summary="take what came"
    )


async def take_budget(run_id: str, after: int) -> Facts:
    """What was added to the run's limits, while it is at work."""
    request = TakeInput(run_id=run_id, after=after, budget=True)
    return await workflow.execute_local_activity_method(
        Waits.take, request, **_STORE, summary="take what was added"
    )


async def pass_time(run_id: str, after: int) -> Facts:
    """What this moment brings a run that waits."""
    request = MomentInput(run_id=run_id, moment=workflow.now(), after=after)
    return await workflow.execute_local_activity_method(
        Waits.pass_time, request, **_STORE, summary="time has passed"
    )


async def at_limit(run_id: str, step: d.AwaitBudget | d.WrapUp, after: int) -> Facts:
    """Wait for more of a limit, or have the model wrap up."""
    request = LimitInput(run_id=run_id, limit=step.limit, after=after)
    method = Budgets.wait if isinstance(step, d.AwaitBudget) else Budgets.wrap_up
    return await workflow.execute_local_activity_method(
        method, request, **_STORE, summary=f"at the limit of {step.limit}"
    )


async def reflect(run: RunInput) -> Facts:
    """Tell the model that it repeats itself."""
    return await workflow.execute_local_activity_method(
        Budgets.reflect, run, **_STORE, summary="tell the model that it repeats itself"
    )


async def settle(run_id: str, step: d.Settle, after: int) -> Facts:
    """End the run, whatever asks this execution to stop meanwhile."""
    request = SettleInput(run_id=run_id, step=step, moment=workflow.now(), after=after)
    return await shielded(
        workflow.execute_local_activity_method(
            Admission.settle, request, **_STORE, summary=f"settle: {step.status}"
        )
    )


async def shielded(work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns, however often this execution is asked to stop meanwhile."""
    task = asyncio.ensure_future(work)
    while True:
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
