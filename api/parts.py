"""What an app is made of: adapters that its composition root has wired."""

from dataclasses import dataclass, field
from functools import cached_property

from fastapi import Request
from prometheus_client import CollectorRegistry

from api.schemas import TemporalPlace
from turnwright.dispatch import Dispatcher
from turnwright.domain.errors import NotFound
from turnwright.domain.ports import Models
from turnwright.domain.sessions import AgentChoice
from turnwright.executions import Executions
from turnwright.live import Hub, LiveTexts
from turnwright.loading import Agents
from turnwright.repair import Repair
from turnwright.settings import Settings
from turnwright.store.engine import Database


@dataclass(frozen=True)
class ApiParts:
    """The adapters of one API process."""

    database: Database
    executions: Executions
    dispatcher: Dispatcher
    repair: Repair
    agents: Agents
    models: Models
    hub: Hub
    texts: LiveTexts
    settings: Settings
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    @cached_property
    def place(self) -> TemporalPlace:
        """The Temporal that runs live in, for links."""
        return TemporalPlace(
            namespace=self.settings.temporal_namespace, ui_url=self.settings.temporal_ui_url
        )

    def choose(self, name: str) -> AgentChoice:
        """What a new run takes from the agent of this name. Raises `NotFound`."""
        agent = self.agents.get(name)
        if agent is None:
            raise NotFound(f"There is no agent {name!r}.")
        return AgentChoice(
            actor=agent.name, version=agent.version, model=agent.models[0], limits=agent.limits
        )


async def parts_of(request: Request) -> ApiParts:
    """The parts of the app that a request came to."""
    parts = request.app.state.parts
    if not isinstance(parts, ApiParts):
        raise TypeError("an app is made by create_app")
    return parts
