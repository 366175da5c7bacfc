"""Tool calls: their references, and their execution."""

from dataclasses import dataclass

from temporalio import activity

from activities.boundary import heartbeats, owner_of
from activities.inputs import CallInput, Facts
from turnwright.domain.events import ToolReturned
from turnwright.domain.messages import Outcome
from turnwright.domain.ports import CallWork, LiveText, Owner, Runs
from turnwright.domain.run import Run
from turnwright.domain.turn import CallRef, CallReturned, Refer
from turnwright.loading import Agents, AgentUnavailable
from turnwright.tools.call import call_function_tool
from turnwright.tools.context import ToolContext
from turnwright.tools.names import ASK_USER
from turnwright.tools.toolset import toolset

FOR_EVER = 30 * 24 * 3600.0
"""Seconds that a call may take whose tool has no timeout; its worker's death is noticed anyway."""
UNKNOWN = (
    "The outcome of this call is unknown: it was started, and the process that ran it was lost "
    "before it recorded a result. It may or may not have taken effect. It was not run again."
)


@dataclass(frozen=True)
class Referee:
    """Says what a call is: a function with its timeout, or a question."""

    agents: Agents

    def of(self, run: Run) -> Refer:
        """The references of this run's calls."""
        try:
            tools = toolset(self.agents.resolve(run.actor, run.agent_version))
        except AgentUnavailable:
            # The next round, or the call itself, says so in the run's failure.
            tools = None

        def refer(call_id: str, name: str) -> CallRef:
            if name == ASK_USER:
                return CallRef(id=call_id, name=name, kind="ask_user")
            tool = tools.get(name) if tools else None
            timeout = None if tool is None else tool.timeout or FOR_EVER
            return CallRef(id=call_id, name=name, kind="function", timeout=timeout)

        return refer


@dataclass(frozen=True)
class ToolCalls:
    """Runs function tools, each effect at most once unless the tool is repeatable."""

    runs: Runs
    agents: Agents
    live: LiveText

    @activity.defn(name="call_tool")
    async def call(self, request: CallInput) -> Facts:
        """Run one call and log its result. Found again by the run and the call's id.

        A call that began in an attempt that was lost is run again only if its tool is
        repeatable; else its result says that the outcome is unknown (guarantee 7).
        """
        owner = owner_of(request.run_id)
        name = request.call.name
        run = await self.runs.get(request.run_id)
        try:
            agent = self.agents.resolve(run.actor, run.agent_version)
        except AgentUnavailable as error:
            # The next round settles the run; this call still gets its one result.
            return await self._returned(owner, result_of(request, "error", error.detail))
        tool = toolset(agent).get(name)
        if tool is None:
            text = f"There is no tool named {name!r}. Use one of the tools you were given."
            return await self._returned(owner, result_of(request, "error", text))
        work = await self.runs.begin_call(owner, request.call.id, repeatable=tool.repeatable)
        if work.returned is not None:
            return facts_of(work.returned)
        if work.attempt > 1 and not tool.repeatable:
            fatal = tool.on_unknown == "fail"
            return await self._returned(owner, result_of(request, "unknown", UNKNOWN, fatal=fatal))
        async with heartbeats():
            result = await call_function_tool(tool, work.called.arguments, self._context(work))
        returned = ToolReturned(
            tool_call_id=request.call.id, name=name, **result.model_dump(exclude={"full"})
        )
        return await self._returned(owner, returned, whole=result.full)

    def _context(self, work: CallWork) -> ToolContext:
        run, call = work.run, work.called

        def progress(text: str) -> None:
            self.live.progress(run, call.tool_call_id, call.name, text)

        return ToolContext(
            run_id=run.id,
            session_id=run.session_id,
            tool_call_id=call.tool_call_id,
            attempt=work.attempt,
            progress=progress,
            is_cancelled=activity.is_cancelled,
        )

    async def _returned(
        self, owner: Owner, returned: ToolReturned, *, whole: str | None = None
    ) -> Facts:
        return facts_of(await self.runs.finish_call(owner, returned, whole=whole))


def result_of(
    request: CallInput, outcome: Outcome, text: str, *, fatal: bool = False
) -> ToolReturned:
    """A result in words of ours, for a call that no function has answered."""
    return ToolReturned(
        tool_call_id=request.call.id,
        name=request.call.name,
        outcome=outcome,
        content=text,
        bytes=len(text.encode()),
        fatal=fatal,
    )


def facts_of(returned: ToolReturned) -> Facts:
    """A recorded result, as the workflow needs it."""
    fact = CallReturned(
        call_id=returned.tool_call_id, outcome=returned.outcome, fatal=returned.fatal
    )
    return Facts(facts=(fact,))
