"""Model rounds: one request to a model and its response, recorded once."""

import json
from dataclasses import dataclass
from datetime import timedelta

import structlog
from pydantic import JsonValue
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.boundary import heartbeats, owner_of
from activities.inputs import Facts, RoundInput
from activities.referee import Referee
from turnwright.agents import Agent
from turnwright.domain.errors import ModelError
from turnwright.domain.limits import reached
from turnwright.domain.messages import (
    Message,
    ModelRequest,
    ModelResponse,
    ToolCall,
    ToolDefinition,
)
from turnwright.domain.ports import LiveText, Models, Owner, RoundWork, Runs
from turnwright.domain.run import Failure, Run
from turnwright.domain.turn import Attempted
from turnwright.loading import Agents, AgentUnavailable
from turnwright.tools.names import wire_name
from turnwright.tools.results import clean
from turnwright.tools.toolset import Toolset, toolset

log = structlog.get_logger()

ATTEMPTS = 10
"""How often a provider that cannot answer now is asked: some six minutes, with the policy's
growing pauses. Then the run fails, and can be retried from its checkpoint."""


@dataclass(frozen=True)
class ModelRounds:
    """Asks models, and records what they said."""

    runs: Runs
    agents: Agents
    models: Models
    live: LiveText
    referee: Referee

    @activity.defn(name="model_round")
    async def round(self, request: RoundInput) -> Facts:
        """Have one round. Found again by the run and the round's number: never paid for twice.

        A response without calls ends the run in the same transaction. A provider that cannot
        answer now is an error that Temporal retries, within the run's limit of rounds; one that
        never will fails the run.
        """
        owner = owner_of(request.run_id)
        work = await self.runs.begin_round(
            owner, request.round, last=request.last, after=request.after
        )
        if work.instead is not None:
            attempts = Attempted(attempts=work.instead.run.usage.rounds)
            return self.referee.facts(work.instead, attempts)
        try:
            agent = self.agents.resolve(work.run.actor, work.run.agent_version)
        except AgentUnavailable as error:
            failure = Failure(reason="agent_unavailable", message=error.detail, retryable=True)
            return self.referee.facts(await self.runs.fail(owner, failure))
        tools = toolset(agent)
        try:
            async with heartbeats():
                offered = () if request.last else tools.definitions
                response = await self._respond(work, request.round, agent, offered)
        except ModelError as error:
            return await self._failed(owner, work.run, request, error)
        response = _ours(response, tools, work)
        if request.last:
            # It was given no tools, and can have none.
            response = response.model_copy(update={"tool_calls": ()})
        done = await self.runs.finish_round(
            owner,
            request.round,
            response,
            message_id=work.message_id,
            allow_empty=agent.allow_empty,
        )
        return self.referee.facts(done)

    async def _respond(
        self, work: RoundWork, number: int, agent: Agent, tools: tuple[ToolDefinition, ...]
    ) -> ModelResponse:
        attempt = activity.info().attempt
        request = ModelRequest(
            model=work.run.model,
            instructions=agent.instructions,
            messages=tuple(_wired(message) for message in work.messages),
            tools=tools,
            attempt=attempt,
        )
        live = self.live.round(work.run, number=number, attempt=attempt, message_id=work.message_id)
        try:
            return await self.models.respond(request, live.write)
        finally:
            await live.close()

    async def _failed(
        self, owner: Owner, run: Run, request: RoundInput, error: ModelError
    ) -> Facts:
        attempt = activity.info().attempt
        log.warning("model_round_failed", run_id=run.id, attempt=attempt, label=error.label)
        if error.retryable and attempt < ATTEMPTS:
            if not request.last and reached(run.limits, run.usage, "rounds"):
                # Failed attempts count: what comes next is the agent's policy for its limits.
                return Facts(facts=(Attempted(attempts=run.usage.rounds),))
            pause = error.retry_after
            raise ApplicationError(
                error.label,
                type=error.reason,
                next_retry_delay=None if pause is None else timedelta(seconds=pause),
            ) from None
        failure = Failure(reason=error.reason, message=error.detail, retryable=error.retryable)
        return self.referee.facts(await self.runs.fail(owner, failure))


def _wired(message: Message) -> Message:
    """The message with its tools under the names that models see."""
    if not message.tool_calls and message.name is None:
        return message
    calls = tuple(c.model_copy(update={"name": wire_name(c.name)}) for c in message.tool_calls)
    name = None if message.name is None else wire_name(message.name)
    return message.model_copy(update={"tool_calls": calls, "name": name})


def _ours(response: ModelResponse, tools: Toolset, work: RoundWork) -> ModelResponse:
    """The response with our names of tools, ids of the run's own, and text that can be stored.

    Some providers number the calls of each response from zero; a call's id has to be one of a
    kind in its run. The provider's own record then no longer fits, and is dropped.
    """
    mine = (message for message in work.messages if message.run_id == work.run.id)
    taken = {call.id for message in mine for call in message.tool_calls}
    calls: list[ToolCall] = []
    opaque = response.opaque
    for call in response.tool_calls:
        call_id, again = call.id, 2
        while call_id in taken:
            call_id, again, opaque = f"{call.id}_{again}", again + 1, None
        taken.add(call_id)
        name = tools.contract_name(clean(call.name))
        arguments = _storable(call.arguments)
        calls.append(ToolCall(id=clean(call_id), name=name, arguments=arguments))
    return response.model_copy(
        update={"text": clean(response.text), "tool_calls": tuple(calls), "opaque": opaque}
    )


def _storable(arguments: dict[str, JsonValue] | str) -> dict[str, JsonValue] | str:
    """The arguments without what a database refuses; such characters are replaced."""
    if isinstance(arguments, str):
        return clean(arguments)
    text = json.dumps(arguments, ensure_ascii=False)
    return arguments if (cleaned := clean(text)) == text else json.loads(cleaned)
