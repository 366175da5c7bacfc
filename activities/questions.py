"""`conversation.ask_user`: putting a question, and taking its accepted answer into the log."""

from dataclasses import dataclass

from temporalio import activity

from activities.boundary import owner_of
from activities.calls import facts_of, result_of
from activities.inputs import AnswerInput, CallInput, Facts
from turnwright.domain.ports import Owner, Runs
from turnwright.loading import Agents, AgentUnavailable
from turnwright.tools.control import ask_user_arguments
from turnwright.tools.errors import ArgumentsInvalid

NOT_ALLOWED = "You cannot ask the user in this run. Go on with what you know."


@dataclass(frozen=True)
class Questions:
    """Asks the user, and hears the answer."""

    runs: Runs
    agents: Agents

    @activity.defn(name="ask_user")
    async def ask(self, request: CallInput) -> Facts:
        """Log the question; the run then waits. Found again by the run and the call's id.

        Arguments that make no question, and an agent that may not ask, are the call's result.
        """
        owner = owner_of(request.run_id)
        run = await self.runs.get(request.run_id)
        try:
            agent = self.agents.resolve(run.actor, run.agent_version)
        except AgentUnavailable as error:
            return await self._refused(owner, request, error.detail)
        if not agent.can_ask_user:
            return await self._refused(owner, request, NOT_ALLOWED)
        called = await self.runs.get_call(request.run_id, request.call.id)
        try:
            question = ask_user_arguments(called.arguments)
        except ArgumentsInvalid as error:
            return await self._refused(owner, request, error.detail)
        asked = await self.runs.ask(
            owner, request.call.id, text=question.question, choices=question.choices
        )
        return Facts(facts=(asked,))

    @activity.defn(name="take_answer")
    async def take(self, request: AnswerInput) -> Facts:
        """Log the answer that was accepted, if one was. Found again by the call's result."""
        answered = await self.runs.resume(owner_of(request.run_id), request.asked)
        return Facts(facts=() if answered is None else (answered,))

    async def _refused(self, owner: Owner, request: CallInput, text: str) -> Facts:
        refusal = result_of(request, "error", text)
        return facts_of(await self.runs.finish_call(owner, refusal))
