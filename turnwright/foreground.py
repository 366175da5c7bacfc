"""The commands that run until they are told to stop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from api.serve import api_service
from turnwright.dev import DevOptions, dev_server
from turnwright.loading import load_agents
from turnwright.service import run_service
from turnwright.settings import PREFIX, Settings, SettingsError
from worker import worker_service


def run_dev(settings: Settings, options: DevOptions, *, fallback: Path) -> None:
    """`turnwright dev`. Without agents of the author's own, those in `fallback`."""
    agents = load_agents(settings.agents or (str(fallback),))

    @asynccontextmanager
    async def service() -> AsyncIterator[None]:
        async with dev_server(settings, agents, options) as running:
            if running.ui_url:
                print(f"Temporal UI: {running.ui_url}")
            print(f"agents: {', '.join(agents.names())}")
            print(f"ready: {running.url}", flush=True)
            yield

    run_service(service())


def run_api(settings: Settings) -> None:
    """`turnwright api`."""
    _require_agents(settings)

    @asynccontextmanager
    async def service() -> AsyncIterator[None]:
        async with api_service(settings) as url:
            print(f"ready: {url}", flush=True)
            yield

    run_service(service())


def run_worker(settings: Settings) -> None:
    """`turnwright worker`."""
    _require_agents(settings)

    @asynccontextmanager
    async def service() -> AsyncIterator[None]:
        async with worker_service(settings) as worker:
            print(f"ready: polling {worker.task_queue}", flush=True)
            yield

    run_service(service())


def _require_agents(settings: Settings) -> None:
    """A deployment has no examples to fall back on."""
    if not settings.agents:
        raise SettingsError(
            f"{PREFIX}AGENTS: not given: name the modules that define the agents,"
            " path/to/agents.py or package.module"
        )
