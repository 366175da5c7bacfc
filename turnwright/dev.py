"""`turnwright dev`: everything on one machine, in one process but for Temporal's own server."""

import fcntl
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from api.app import create_app
from api.serve import api_parts
from turnwright.embedded import temporal_dev_server
from turnwright.loading import Agents
from turnwright.service import ServiceError, listen, serving, url_of
from turnwright.settings import Settings
from turnwright.store.migrate import migrate
from turnwright.wiring import Wired, wired
from worker import connected, running_worker, worker_parts


@dataclass(frozen=True)
class DevOptions:
    """What `turnwright dev` may be told beyond the settings. A port 0 picks a free one."""

    port: int = 8000
    temporal_port: int = 7233
    ui_port: int = 8233
    data_dir: Path = Path(".turnwright")


@dataclass(frozen=True)
class Running:
    """A development server that is up."""

    url: str
    ui_url: str | None
    wired: Wired


@asynccontextmanager
async def dev_server(
    settings: Settings, agents: Agents, options: DevOptions
) -> AsyncIterator[Running]:
    """Temporal with its UI, database, worker and API, until the context is left.

    The data are kept in `data_dir`. An address that a setting gives is used instead of the
    embedded part. Raises `DevServerError`, `ServiceError`, `MigrationError`.
    """
    async with AsyncExitStack() as stack:
        listening = listen(settings.api_host, options.port)
        stack.callback(listening.close)
        if not (settings.given("temporal_address") and settings.given("database_url")):
            stack.enter_context(_only_user_of(options.data_dir))
        changes: dict[str, object] = {}
        if not settings.given("temporal_address"):
            temporal = await stack.enter_async_context(
                temporal_dev_server(
                    port=options.temporal_port,
                    ui_port=options.ui_port,
                    database=options.data_dir / "temporal.db",
                    namespace=settings.temporal_namespace,
                )
            )
            changes["temporal_address"] = temporal.address
            if not settings.given("temporal_ui_url"):
                changes["temporal_ui_url"] = temporal.ui_url
        if not settings.given("database_url"):
            changes["database_url"] = f"sqlite:///{options.data_dir / 'turnwright.db'}"
        settings = settings.model_copy(update=changes)
        migrate(settings.sqlalchemy_url)
        url = url_of(listening)
        process = await stack.enter_async_context(
            wired(settings, agents, public_url=url, alone=True)
        )
        await connected(process.client)
        await stack.enter_async_context(running_worker(process.client, worker_parts(process)))
        await stack.enter_async_context(
            serving(create_app(api_parts(process)), listening, process.hub)
        )
        yield Running(url=url, ui_url=settings.temporal_ui_url, wired=process)


@contextmanager
def _only_user_of(folder: Path) -> Iterator[None]:
    """Two servers on one database file would not hear of each other's writes."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ServiceError(f"another `turnwright dev` uses the data in {folder}") from None
        yield
