"""The run as a workflow: it carries out what `decide` says, and holds no content."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import NoReturn, assert_never

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities.inputs import Facts, InputRef, RunInput
    from turnwright.domain import deciding as d
    from turnwright.domain.run import RunStatus
    from turnwright.domain.turn import Ended, RunRef, Turn, advance
    from workflows import policies, steps, visibility


@workflow.defn(name="Run")
class RunWorkflow:
    """Drives one run from its opening to its terminal event, and ends as its row says."""

    @workflow.init
    def __init__(self, run: RunInput) -> None:
        self._run = run
        self._turn: Turn | None = None
        """Where the run stands; None until it is open."""
        self._inputs = 0
        """How many signals came; each is a hint to look into the inbox."""
        self._overdue = False
        """The run's own deadline has passed."""

    @workflow.signal(name="input")
    def deliver(self, ref: InputRef) -> None:
        """Something was accepted for the run: it is in the inbox, under this id."""
        self._inputs += 1

    @workflow.run
    async def run(self, run: RunInput) -> str:
        """The run's terminal status. Failed runs fail, cancelled ones are cancelled."""
        clock = asyncio.ensure_future(self._keep_deadline(asyncio.current_task()))
        try:
            ended = await self._to_its_end()
        except (ActivityError, ApplicationError) as error:
            if _type_of(error) != "Fenced":
                raise
            raise ApplicationError(
                "superseded: another execution owns this run", type="Fenced", non_retryable=True
            ) from None
        finally:
            clock.cancel()
        visibility.show_ended(self._run, ended)
        return await self._finish(ended)

    async def _to_its_end(self) -> Ended:
        while True:
            try:
                return await self._drive()
            except asyncio.CancelledError:
                step = self._interrupted()
            except (ActivityError, ApplicationError) as error:
                if _type_of(error) == "Fenced":
                    raise
                # Temporal does not attempt again what it cancelled: that a step failed then is no
                # fault of the run's.
                if is_cancelled_exception(error) or _cancelled() or self._overdue:
                    step = self._interrupted()
                else:
                    step = d.Settle(status=RunStatus.FAILED, reason="internal_error")
            if self._turn is None:
                # What was accepted is in the log all the same, and a session is free only then.
                self._turn = await steps.shielded(steps.open_run(self._run))
            self._fold(await steps.settle(self._run.run_id, step, self._turn.sequence))
            if self._turn.ended is None:
                # It was given more time meanwhile. What it was doing then is in the log.
                await self._open()

    def _interrupted(self) -> d.Settle:
        overdue, self._overdue = self._overdue, False
        cancelled = _cancelled() or not overdue
        return d.Settle(status=RunStatus.CANCELLED if cancelled else RunStatus.TIMED_OUT)

    async def _drive(self) -> Ended:
        turn = self._turn or await self._open()
        while True:
            step = d.decide(turn)
            visibility.show(self._run, turn, step)
            if isinstance(step, d.MoveOn):
                self._move_on(step.run)
            if isinstance(step, d.Finish):
                if not _inherited(turn):
                    return step.ended
                turn = await self._open()
                continue
            if isinstance(step, d.AskModel) and workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(self._run)
            try:
                done = await self._take(step, turn)
            except (ActivityError, ApplicationError) as error:
                if _type_of(error) != "Fenced" or not _inherited(turn):
                    raise
                turn = await self._open()
                continue
            turn = self._fold(*done)

    async def _take(
        self,
        step: d.AskModel
        | d.CallTools
        | d.RequestApprovals
        | d.AskUser
        | d.Sleep
        | d.Wait
        | d.AwaitBudget
        | d.WrapUp
        | d.Reflect
        | d.Settle,
        turn: Turn,
    ) -> tuple[Facts, ...]:
        run_id, after = self._run.run_id, turn.sequence
        match step:
            case d.CallTools():
                return await steps.call_tools(run_id, step.calls)
            case d.AskModel():
                done = await steps.ask_model(run_id, step, after)
            case d.RequestApprovals() | d.AskUser() | d.Sleep():
                done = await steps.begin_wait(run_id, step)
            case d.Wait():
                done = await self._wait(step, after)
            case d.AwaitBudget() | d.WrapUp():
                done = await steps.at_limit(run_id, step, after)
            case d.Reflect():
                done = await steps.reflect(self._run)
            case d.Settle():
                done = await steps.settle(run_id, step, after)
            case _:
                assert_never(step)
        return (done,)

    async def _wait(self, step: d.Wait, after: int) -> Facts:
        seen = self._inputs
        done = await steps.take(self._run.run_id, step, after)
        if done.facts:
            return done
        left = None if step.until is None else step.until - workflow.now()
        in_time = left is None or left > timedelta()
        if in_time and await _until(lambda: self._inputs > seen, left):
            return done
        return await steps.pass_time(self._run.run_id, after)

    async def _open(self) -> Turn:
        """Open the run, again where the opening that was replayed is another execution's."""
        info = workflow.info()
        run = self._run
        if info.original_execution_run_id != info.run_id:
            run = run.model_copy(update={"reset": True})
        self._turn = await steps.open_run(run)
        return self._turn

    def _fold(self, *done: Facts) -> Turn:
        """The turn after what these steps have put into the log."""
        if self._turn is None:
            raise RuntimeError("a run is opened before its steps")
        turn = self._turn
        for facts in done:
            for fact in facts.facts:
                turn = advance(turn, fact)
            turn = turn.model_copy(update={"sequence": max(turn.sequence, facts.sequence)})
        self._turn = turn
        return turn

    async def _keep_deadline(self, main: "asyncio.Task[object] | None") -> None:
        """Interrupt the run when its time is up, unless it was given more."""
        while True:
            await workflow.wait_condition(
                lambda: self._turn is not None and self._turn.deadline is not None
            )
            if self._turn is None or (deadline := self._turn.deadline) is None:
                return
            moved = partial(self._has_another_deadline, deadline)
            left = deadline - workflow.now()
            if left > timedelta():
                await _until(moved, left)
                continue
            self._fold(await steps.take_budget(self._run.run_id, self._turn.sequence))
            if not moved() and main is not None:
                self._overdue = True
                main.cancel()
                await workflow.wait_condition(moved)

    def _has_another_deadline(self, than: datetime) -> bool:
        return self._turn is None or self._turn.deadline != than

    def _move_on(self, run: RunRef) -> NoReturn:
        """Drive another run of the session, which lost its execution to this one's reset."""
        link = None
        if self._run.link is not None:
            link = self._run.link.replace(self._run.run_id, run.run_id)
        other = RunInput(
            run_id=run.run_id,
            session_id=self._run.session_id,
            actor=run.actor,
            link=link,
            searchable=self._run.searchable,
        )
        visibility.move_on(other)

    async def _finish(self, ended: Ended) -> str:
        match ended.status:
            case RunStatus.COMPLETED:
                return ended.status
            # A cancel that was found in the inbox is on its way here too: only with it does
            # Temporal show this execution as cancelled.
            case RunStatus.CANCELLED if await _until(_cancelled, policies.CANCEL_ARRIVES):
                raise asyncio.CancelledError
            case _:
                reason = ended.reason or ended.status
                raise ApplicationError(
                    f"the run ended {ended.status}: {reason}", type=reason, non_retryable=True
                )


def _cancelled() -> bool:
    return workflow.cancellation_reason() is not None


async def _until(reached: Callable[[], bool], within: timedelta | None) -> bool:
    """Whether it was reached in time."""
    try:
        await workflow.wait_condition(reached, timeout=within)
    except TimeoutError:
        return False
    return True


def _inherited(turn: Turn) -> bool:
    """Whether another execution opened the run: a reset replays the opening of the one before it.

    The reset has to open the run itself then, but not before the first step that tells: what it
    replays has to stay as it was.
    """
    return turn.execution_id != workflow.info().run_id


def _type_of(error: ActivityError | ApplicationError) -> str | None:
    cause = error.cause if isinstance(error, ActivityError) else error
    return cause.type if isinstance(cause, ApplicationError) else None
