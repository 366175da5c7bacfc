"""Limits and loops: a run that waits for budget, wraps up, or is told that it repeats itself."""

from dataclasses import dataclass

from temporalio import activity

from activities.boundary import owner_of
from activities.inputs import Facts, LimitInput, RunInput
from activities.referee import Referee
from turnwright.domain.ports import Runs


@dataclass(frozen=True)
class Budgets:
    """What an agent's policy has become of a run at its limits."""

    runs: Runs
    referee: Referee

    @activity.defn(name="await_budget")
    async def wait(self, request: LimitInput) -> Facts:
        """Log that the run waits for more. Found again by the run's waiting status."""
        owner = owner_of(request.run_id)
        waits = await self.runs.await_budget(owner, request.limit, after=request.after)
        return self.referee.facts(waits)

    @activity.defn(name="wrap_up")
    async def wrap_up(self, request: LimitInput) -> Facts:
        """Tell the model to come to an end. Found again by the run: it is told once."""
        owner = owner_of(request.run_id)
        told = await self.runs.wrap_up(owner, request.limit, after=request.after)
        return self.referee.facts(told)

    @activity.defn(name="reflect")
    async def reflect(self, run: RunInput) -> Facts:
        """Tell the model that it repeats itself. Found again by the run: it is told once."""
        return self.referee.facts(await self.runs.reflect(owner_of(run.run_id)))
