"""The composition root of an API process: settings → adapters → app → uvicorn."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from api.app import ApiParts, create_app
from turnwright.loading import load_agents
from turnwright.repair import Repair
from turnwright.service import listen, serving, url_of
from turnwright.settings import Settings
from turnwright.wiring import Wired, wired


def api_parts(process: Wired) -> ApiParts:
    """What the API gets of a process's adapters."""
    return ApiParts(
        database=process.database,
        executions=process.executions,
        dispatcher=process.dispatcher,
        repair=Repair(process.database, process.executions),
        agents=process.agents,
        models=process.providers,
        hub=process.hub,
        texts=process.texts,
        settings=process.settings,
    )


@asynccontextmanager
async def api_service(settings: Settings) -> AsyncIterator[str]:
    """An API process, at the URL it yields, until the context is left."""
    agents = load_agents(settings.agents)
    listening = listen(settings.api_host, settings.api_port)
    url = url_of(listening)
    async with wired(settings, agents, public_url=url) as process:
        with listening:
            async with serving(create_app(api_parts(process)), listening, process.hub):
                yield url
