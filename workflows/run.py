"""The run as a workflow: it carries out what `decide` says, and holds no content."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, TypeVar, assert_never

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities.admission import Admission
    from activities.calls import ToolCalls
    from activities.inputs import (
        AnswerInput,
        CallInput,
        Facts,
        InputRef,
        RoundInput,
        RunInput,
        SettleInput,
    )
    from activities.model_rounds import ModelRounds
    from activities.questions import Questions
    from turnwright.domain import turn as t
    from turnwright.domain.run import RunStatus
    from workflows import policies, visibility

T = TypeVar("T")


@workflow.defn(name="Run")
class RunWorkflow:
    """Drives one run from its opening to its terminal event, and ends as its row says."""

    @workflow.init
    def __init__(self, run: RunInput) -> None:
        self._run = run
        self._opened = False
        self._inputs = 0
        """How many signals came; each is a hint to look into the inbox."""

    @workflow.signal(name="input")
    def deliver(self, ref: InputRef) -> None:
        """An answer was accepted: it is in the inbox, under this id."""
        self._inputs += 1

    @workflow.run
    async def run(self, run: RunInput) -> str:
        """The run's terminal status. Failed runs fail, cancelled ones are cancelled."""
        try:
            ended = await self._to_its_end()
        except (ActivityError, ApplicationError) as error:
            if _type_of(error) != "Fenced":
                raise
            raise ApplicationError(
                "superseded: another execution owns this run", type="Fenced", non_retryable=True
            ) from None
        visibility.show_ended(self._run, ended)
        return self._finish(ended)

    async def _to_its_end(self) -> t.Ended:
        try:
            return await self._drive()
        except asyncio.CancelledError:
            return await self._cancel()
        except (ActivityError, ApplicationError) as error:
            if is_cancelled_exception(error):
                return await self._cancel()
            if _type_of(error) == "Fenced":
                raise
            return await self._end(t.Settle(status=RunStatus.FAILED, reason="internal_error"))

    async def _cancel(self) -> t.Ended:
        if not self._opened:
            # What was accepted is in the log all the same, and a session is free only then.
            await _shielded(self._open())
        return await self._end(t.Settle(status=RunStatus.CANCELLED))

    async def _drive(self) -> t.Ended:
        turn = await self._open()
        while True:
            step = t.decide(turn)
            visibility.show(self._run, turn, step)
            if isinstance(step, t.Finish):
                if not _inherited(turn):
                    return step.ended
                turn = await self._open()
                continue
            try:
                facts = await self._take(step)
            except (ActivityError, ApplicationError) as error:
                if _type_of(error) != "Fenced" or not _inherited(turn):
                    raise
                turn = await self._open()
                continue
            for fact in facts:
                turn = t.advance(turn, fact)

    async def _take(
        self, step: t.AskModel | t.CallTools | t.AskUser | t.AwaitAnswer | t.Settle
    ) -> tuple[t.Fact, ...]:
        match step:
            case t.AskModel():
                return await self._ask_model(step)
            case t.CallTools():
                return await self._call_tools(step)
            case t.AskUser():
                return await self._ask_user(step)
            case t.AwaitAnswer():
                return await self._await_answer(step)
            case t.Settle():
                return (await self._end(step),)
            case _:
                assert_never(step)

    async def _open(self) -> t.Turn:
        turn: t.Turn = await workflow.execute_local_activity_method(
            Admission.open, self._run, **_STORE, summary="open the run"
        )
        self._opened = True
        return turn

    async def _ask_model(self, step: t.AskModel) -> tuple[t.Fact, ...]:
        done = await workflow.execute_activity_method(
            ModelRounds.round,
            RoundInput(run_id=self._run.run_id, round=step.round),
            start_to_close_timeout=policies.ROUND_TIMEOUT,
            heartbeat_timeout=policies.HEARTBEAT_TIMEOUT,
            retry_policy=policies.ROUND_RETRY,
            summary=f"round {step.round}",
        )
        return done.facts

    async def _call_tools(self, step: t.CallTools) -> tuple[t.Fact, ...]:
        done = await asyncio.gather(*(self._call_tool(call) for call in step.calls))
        return tuple(fact for facts in done for fact in facts)

    async def _call_tool(self, call: t.CallRef) -> tuple[t.Fact, ...]:
        timeout = policies.TOOL_DEFAULT_TIMEOUT
        if call.timeout is not None:
            timeout = timedelta(seconds=call.timeout)
        done = await workflow.execute_activity_method(
            ToolCalls.call,
            self._call(call),
            start_to_close_timeout=timeout + policies.TOOL_MARGIN,
            heartbeat_timeout=policies.HEARTBEAT_TIMEOUT,
            retry_policy=policies.TOOL_RETRY,
            summary=call.name,
        )
        return done.facts

    async def _await_answer(self, step: t.AwaitAnswer) -> tuple[t.Fact, ...]:
        seen = self._inputs
        request = AnswerInput(run_id=self._run.run_id, asked=step.asked)
        done: Facts = await workflow.execute_local_activity_method(
            Questions.take, request, **_STORE, summary="take the answer"
        )
        if not done.facts:
            await workflow.wait_condition(lambda: self._inputs > seen)
        return done.facts

    async def _end(self, step: t.Settle) -> t.Ended:
        """Settle the run, whatever asks this execution to stop meanwhile."""
        request = SettleInput(run_id=self._run.run_id, step=step)
        done = await _shielded(
            workflow.execute_local_activity_method(
                Admission.settle, request, **_STORE, summary=f"settle: {step.status}"
            )
        )
        (ended,) = done.facts
        if not isinstance(ended, t.Ended):
            raise TypeError("settling a run says how it ended")
        return ended

    async def _ask_user(self, step: t.AskUser) -> tuple[t.Fact, ...]:
        done: Facts = await workflow.execute_local_activity_method(
            Questions.ask, self._call(step.call), **_STORE, summary="ask the user"
        )
        return done.facts

    def _call(self, call: t.CallRef) -> CallInput:
        return CallInput(run_id=self._run.run_id, call=call)

    def _finish(self, ended: t.Ended) -> str:
        match ended.status:
            case RunStatus.COMPLETED:
                return ended.status
            case RunStatus.CANCELLED if workflow.cancellation_reason() is not None:
                raise asyncio.CancelledError
            case _:
                reason = ended.reason or ended.status
                raise ApplicationError(
                    f"the run ended {ended.status}: {reason}", type=reason, non_retryable=True
                )


_STORE: dict[str, Any] = {
    "start_to_close_timeout": policies.STORE_TIMEOUT,
    "retry_policy": policies.STORE_RETRY,
    "local_retry_threshold": policies.LOCAL_RETRY_THRESHOLD,
}


def _inherited(turn: t.Turn) -> bool:
    """Whether another execution opened the run: a reset replays the opening of the one before it.

    The reset has to open the run itself then, but not before the first step that tells: what it
    replays has to stay as it was.
    """
    return turn.execution_id != workflow.info().run_id


async def _shielded(work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns, however often this execution is asked to stop meanwhile."""
    task = asyncio.ensure_future(work)
    while True:
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise


def _type_of(error: ActivityError | ApplicationError) -> str | None:
    cause = error.cause if isinstance(error, ActivityError) else error
    return cause.type if isinstance(cause, ApplicationError) else None
