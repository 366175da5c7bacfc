"""Waits: questions, approvals and sleeps begin here, and end with what was accepted, or in time."""

from dataclasses import dataclass

from temporalio import activity

from activities.boundary import owner_of
from activities.inputs import AnswerInput, CallInput, CallsInput, Facts, MomentInput, TakeInput
from activities.referee import Referee
from activities.results import facts_of, result_of
from turnwright.agents import Agent
from turnwright.domain.events import ToolCalled
from turnwright.domain.ports import Owner, Runs
from turnwright.loading import Agents, AgentUnavailable
from turnwright.tools.control import ask_user_arguments, sleep_until_arguments
from turnwright.tools.errors import ArgumentsInvalid

NO_QUESTIONS = "You cannot ask the user in this run. Go on with what you know."
NO_SLEEP = "You cannot sleep in this run. Go on with what you know."


@dataclass(frozen=True)
class Waits:
    """Has a run wait, and hears what it waited for."""

    runs: Runs
    agents: Agents
    referee: Referee

    @activity.defn(name="ask_user")
    async def ask(self, request: CallInput) -> Facts:
        """Log the question; the run then waits. Found again by the run and the call's id.

        Arguments that make no question, and an agent that may not ask, are the call's result.
        """
        owner, (agent, called) = owner_of(request.run_id), await self._called(request)
        if not isinstance(agent, Agent):
            return await self._refused(owner, request, agent)
        if not agent.can_ask_user:
            return await self._refused(owner, request, NO_QUESTIONS)
        try:
            question = ask_user_arguments(called.arguments)
        except ArgumentsInvalid as error:
            return await self._refused(owner, request, error.detail)
        asked = await self.runs.ask(
            owner,
            request.call.id,
            text=question.question,
            choices=question.choices,
            within=agent.ask_timeout,
        )
        return self.referee.facts(asked)

    @activity.defn(name="sleep_until")
    async def sleep(self, request: CallInput) -> Facts:
        """Log that the run sleeps. Found again by the run and the call's id.

        A moment that has passed needs no sleep: `pass_time` wakes the run at once.
        """
        owner, (agent, called) = owner_of(request.run_id), await self._called(request)
        if not isinstance(agent, Agent):
            return await self._refused(owner, request, agent)
        if not agent.can_sleep:
            return await self._refused(owner, request, NO_SLEEP)
        try:
            until = sleep_until_arguments(called.arguments)
        except ArgumentsInvalid as error:
            return await self._refused(owner, request, error.detail)
        return self.referee.facts(await self.runs.sleep(owner, request.call.id, until))

    @activity.defn(name="request_approvals")
    async def request_approvals(self, request: CallsInput) -> Facts:
        """Log the approvals, all open at once. Found again by the run and the calls' ids."""
        run = await self.runs.get(request.run_id)
        agent = self._agent(run.actor, run.agent_version)
        requested = await self.runs.request_approvals(
            owner_of(request.run_id),
            [call.id for call in request.calls],
            within=agent.approval_timeout if isinstance(agent, Agent) else None,
        )
        return self.referee.facts(requested)

    @activity.defn(name="take_answer")
    async def take_answer(self, request: AnswerInput) -> Facts:
        """`take`, as the first version's workflows call it."""
        owner = owner_of(request.run_id)
        return self.referee.facts(await self.runs.take(owner, after=request.after))

    @activity.defn(name="take_inputs")
    async def take(self, request: TakeInput) -> Facts:
        """Log what was accepted for the run. Found again by the sequences after `after`."""
        owner, kinds = owner_of(request.run_id), ("budget",) if request.budget else None
        return self.referee.facts(await self.runs.take(owner, after=request.after, kinds=kinds))

    @activity.defn(name="pass_time")
    async def pass_time(self, request: MomentInput) -> Facts:
        """Log what the moment brings: a sleep is over, a question or approval expires."""
        run = await self.runs.get(request.run_id)
        agent = self._agent(run.actor, run.agent_version)
        goes_on = isinstance(agent, Agent) and agent.on_ask_timeout == "continue"
        passed = await self.runs.pass_time(
            owner_of(request.run_id), request.moment, goes_on=goes_on, after=request.after
        )
        return self.referee.facts(passed)

    def _agent(self, actor: str, version: str) -> Agent | str:
        try:
            return self.agents.resolve(actor, version)
        except AgentUnavailable as error:
            return error.detail

    async def _called(self, request: CallInput) -> tuple[Agent | str, ToolCalled]:
        """The agent, or why there is none; and what the call asks for."""
        run = await self.runs.get(request.run_id)
        called = await self.runs.get_call(request.run_id, request.call.id)
        return self._agent(run.actor, run.agent_version), called

    async def _refused(self, owner: Owner, request: CallInput, text: str) -> Facts:
        refusal = result_of(request, "error", text)
        return facts_of(await self.runs.finish_call(owner, refusal))
