"""What a recorded step means for the workflow: its facts, with each call referred to."""

from dataclasses import dataclass

from activities.inputs import Facts
from turnwright.agents import Agent
from turnwright.domain.events import ToolCalled
from turnwright.domain.folding import Refer, facts, fold
from turnwright.domain.ports import Recorded
from turnwright.domain.run import Run
from turnwright.domain.turn import CallKind, CallRef, Fact, Turn
from turnwright.loading import Agents, AgentUnavailable
from turnwright.tools.names import ASK_USER, SLEEP_UNTIL
from turnwright.tools.toolset import toolset

FOR_EVER = 30 * 24 * 3600.0
"""Seconds that a call may take whose tool has no timeout; its worker's death is noticed anyway."""


@dataclass(frozen=True)
class Referee:
    """Says what a call is: a function, a question or a sleep, and whether it needs approval."""

    agents: Agents

    def turn(self, opened: Recorded, execution_id: str) -> Turn:
        """The run's whole log, folded."""
        agent = self._agent(opened.run)
        return fold(
            opened.run,
            opened.log,
            _refer(agent),
            execution_id=execution_id,
            on_limit=agent.on_limit if agent else "fail",
        )

    def facts(self, recorded: Recorded, *more: Fact) -> Facts:
        """The facts of a step, and the sequence that they lead to."""
        found = facts(recorded.run, recorded.log, _refer(self._agent(recorded.run)))
        return Facts(facts=(*found, *more), sequence=recorded.run.last_sequence)

    def _agent(self, run: Run) -> Agent | None:
        try:
            return self.agents.resolve(run.actor, run.agent_version)
        except AgentUnavailable:
            # The next round, or the call itself, says so in the run's failure.
            return None


def _refer(agent: Agent | None) -> Refer:
    tools = None if agent is None else toolset(agent)

    def refer(call: ToolCalled) -> CallRef:
        if call.name in (ASK_USER, SLEEP_UNTIL):
            kind: CallKind = "ask_user" if call.name == ASK_USER else "sleep"
            return CallRef(id=call.tool_call_id, name=call.name, kind=kind)
        tool = tools.get(call.name) if tools else None
        if tool is None:
            return CallRef(id=call.tool_call_id, name=call.name, kind="function")
        return CallRef(
            id=call.tool_call_id,
            name=call.name,
            kind="function",
            timeout=tool.timeout or FOR_EVER,
            needs_approval=tool.needs_approval(call.arguments),
        )

    return refer
