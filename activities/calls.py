"""Tool calls: their references, and their execution."""

from dataclasses import dataclass

from temporalio import activity

from activities.boundary import heartbeats, owner_of
from activities.inputs import CallInput, Facts
from activities.interruption import CUT_SHORT, GIVEN_UP, GRACE, NOT_RUN, Interruption
from activities.results import facts_of, result_of
from turnwright.agents import AnyTool
from turnwright.domain.events import ToolReturned
from turnwright.domain.ports import CallWork, LiveText, Owner, Runs
from turnwright.loading import Agents, AgentUnavailable
from turnwright.tools.call import call_function_tool
from turnwright.tools.context import ToolContext
from turnwright.tools.toolset import toolset

UNKNOWN = (
    "The outcome of this call is unknown: it was started, and the process that ran it was lost "
    "before it recorded a result. It may or may not have taken effect. It was not run again."
)


@dataclass(frozen=True)
class ToolCalls:
    """Runs function tools, each effect at most once unless the tool is repeatable."""

    runs: Runs
    agents: Agents
    live: LiveText
    grace: float = GRACE

    @activity.defn(name="call_tool")
    async def call(self, request: CallInput) -> Facts:
        """Run one call and log its result. Found again by the run and the call's id.

        A call that began in an attempt that was lost is run again only if its tool is
        repeatable; else its result says that the outcome is unknown (guarantee 7). When the
        workflow cancels it, it has its one result all the same: a repeatable one is `cancelled`
        at once, another has `grace` seconds to finish and is `unknown` after them.
        """
        interruption = Interruption()
        return await interruption.over(self._call(request, interruption))

    async def _call(self, request: CallInput, interruption: Interruption) -> Facts:
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
        returned, whole = await self._run(request, tool, work, interruption)
        return await self._returned(owner, returned, whole=whole)

    async def _run(
        self, request: CallInput, tool: AnyTool, work: CallWork, interruption: Interruption
    ) -> tuple[ToolReturned, str | None]:
        """The call's result, and the whole of it where it was shortened."""
        if interruption.asked:
            return result_of(request, "cancelled", NOT_RUN), None
        context = self._context(work, interruption)
        async with heartbeats():
            result = await interruption.bound(
                call_function_tool(tool, work.called.arguments, context),
                grace=0 if tool.repeatable else self.grace,
            )
        if result is not None:
            fields = result.model_dump(exclude={"full"})
            call = request.call
            return ToolReturned(tool_call_id=call.id, name=call.name, **fields), result.full
        if tool.repeatable:
            return result_of(request, "cancelled", CUT_SHORT), None
        fatal = tool.on_unknown == "fail"
        return result_of(request, "unknown", GIVEN_UP, fatal=fatal), None

    def _context(self, work: CallWork, interruption: Interruption) -> ToolContext:
        run, call = work.run, work.called

        def progress(text: str) -> None:
            self.live.progress(run, call.tool_call_id, call.name, text)

        return ToolContext(
            run_id=run.id,
            session_id=run.session_id,
            tool_call_id=call.tool_call_id,
            attempt=work.attempt,
            progress=progress,
            is_cancelled=interruption.seen,
        )

    async def _returned(
        self, owner: Owner, returned: ToolReturned, *, whole: str | None = None
    ) -> Facts:
        return facts_of(await self.runs.finish_call(owner, returned, whole=whole))
