"""The agents that can be addressed."""

from fastapi import APIRouter

from api import cursors
from api.dependencies import Cursor, Limit, Parts
from api.openapi import problems
from api.route import CheckedRoute
from api.schemas import Agent, Page
from turnwright.domain.errors import NotFound
from turnwright.loading import Agents

router = APIRouter(prefix="/v1/agents", tags=["agents"], route_class=CheckedRoute)


@router.get("", responses=problems(422))
async def list_agents(parts: Parts, limit: Limit = 50, cursor: Cursor = None) -> Page[Agent]:
    """List the agents by name."""
    after = cursors.decode(cursor) or ""
    names = sorted(name for name in parts.agents.names() if name > after)
    found = [_describe(parts.agents, name) for name in names[: limit + 1]]
    return cursors.page(found, limit, last=lambda agent: agent.name)


@router.get("/{name}", responses=problems(404, 422))
async def get_agent(name: str, parts: Parts) -> Agent:
    """Describe an agent."""
    return _describe(parts.agents, name)


def _describe(agents: Agents, name: str) -> Agent:
    described = agents.describe(name)
    if described is None:
        raise NotFound("There is no such agent.")
    return Agent.model_validate(described)
