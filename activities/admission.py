"""Opening and settling a run: the first and the last step of every execution."""

from dataclasses import dataclass

from temporalio import activity

from activities.boundary import owner_of
from activities.inputs import Facts, RunInput, SettleInput
from activities.referee import Referee
from turnwright.domain.errors import Fenced, Held
from turnwright.domain.ports import Executions, Owner, Recorded, Runs
from turnwright.domain.turn import RunRef, Turn


@dataclass(frozen=True)
class Admission:
    """Opens runs from the log, and ends them in it."""

    runs: Runs
    executions: Executions
    referee: Referee

    @activity.defn(name="open_run")
    async def open(self, run: RunInput) -> Turn:
        """Make this execution the run's owner, and fold the run's log to where it stands.

        Found again by the row's owner. Another owner is displaced only by the execution that
        Temporal itself calls the current one (DESIGN.md, decision 3); else it is `Fenced`. An
        operator's reset of a failed run reopens it; one of a run that has long ended takes up
        the session's active run, which lost its execution to it.
        """
        owner = owner_of(run.run_id)
        try:
            opened = await self.runs.open(owner, reopens=run.reset)
        except Held as held:
            if not await self.executions.is_current(run.session_id, owner.execution_id):
                raise Fenced from None
            opened = await self.runs.open(owner, displaces=held.execution_id, reopens=run.reset)
        turn = self.referee.turn(opened, owner.execution_id)
        if run.reset and (instead := await self._instead(owner, opened)) is not None:
            return turn.model_copy(update={"instead": instead})
        return turn

    async def _instead(self, owner: Owner, opened: Recorded) -> RunRef | None:
        if opened.run.status.active:
            return None
        active = await self.runs.active_root(opened.run.session_id)
        if active is None or active.execution_id in (None, owner.execution_id):
            return None
        return RunRef(run_id=active.id, actor=active.actor)

    @activity.defn(name="settle_run")
    async def settle(self, request: SettleInput) -> Facts:
        """End the run, unless it has ended, or what was accepted meanwhile lets it go on.

        Found again by the row's terminal status.
        """
        settled = await self.runs.settle(
            owner_of(request.run_id), request.step, moment=request.moment, after=request.after
        )
        return self.referee.facts(settled)
