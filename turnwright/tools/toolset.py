"""All that one agent's models may call."""

from collections.abc import Mapping
from dataclasses import dataclass

from turnwright.agents import Agent, AnyTool
from turnwright.domain.messages import ToolDefinition
from turnwright.tools.control import ASK_USER_DEFINITION, SLEEP_UNTIL_DEFINITION
from turnwright.tools.names import contract_name, wire_name


@dataclass(frozen=True)
class Toolset:
    """An agent's tools, by either spelling of their names."""

    definitions: tuple[ToolDefinition, ...]
    """What models are shown, names as on the wire; control tools too, where the agent may."""
    _functions: Mapping[str, AnyTool]
    _names: Mapping[str, str]

    def get(self, name: str) -> AnyTool | None:
        """The function tool of this name (`orders.lookup`); None for control and unknown tools."""
        return self._functions.get(name)

    def contract_name(self, wire: str) -> str:
        """Our name for what a model called `wire`. A name that is nobody's stays as it is."""
        return self._names.get(wire) or contract_name(wire)


def toolset(agent: Agent) -> Toolset:
    """What the models of this agent may call."""
    definitions = [tool.definition for tool in agent.functions]
    if agent.can_ask_user:
        definitions.append(ASK_USER_DEFINITION)
    if agent.can_sleep:
        definitions.append(SLEEP_UNTIL_DEFINITION)
    return Toolset(
        definitions=tuple(
            definition.model_copy(update={"name": wire_name(definition.name)})
            for definition in definitions
        ),
        _functions={tool.name: tool for tool in agent.functions},
        _names={wire_name(definition.name): definition.name for definition in definitions},
    )
