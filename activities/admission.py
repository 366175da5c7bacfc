"""Opening and settling a run: the first and the last step of every execution."""

from dataclasses import dataclass

from temporalio import activity

from activities.boundary import owner_of
from activities.calls import Referee
from activities.inputs import Facts, RunInput, SettleInput
from turnwright.domain.errors import Fenced, Held
from turnwright.domain.ports import Executions, Runs
from turnwright.domain.turn import Turn, fold


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
        Temporal itself calls the current one (DESIGN.md, decision 3); else it is `Fenced`.
        """
        owner = owner_of(run.run_id)
        try:
            opened = await self.runs.open(owner)
        except Held as held:
            if not await self.executions.is_current(run.session_id, owner.execution_id):
                raise Fenced from None
            opened = await self.runs.open(owner, displaces=held.execution_id)
        refer = self.referee.of(opened.run)
        return fold(opened.run, opened.log, refer, execution_id=owner.execution_id)

    @activity.defn(name="settle_run")
    async def settle(self, request: SettleInput) -> Facts:
        """End the run, unless it has ended. Found again by the row's terminal status."""
        ended = await self.runs.settle(owner_of(request.run_id), request.step)
        return Facts(facts=(ended,))
