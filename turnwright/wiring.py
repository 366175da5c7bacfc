"""The adapters of one process, made from the settings: what every composition root shares."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from temporalio.client import Client

from turnwright.dispatch import Dispatcher
from turnwright.domain.errors import Invalid
from turnwright.domain.ports import LiveText
from turnwright.executions import Executions, connect
from turnwright.live import Hub, LiveTexts, LocalLive
from turnwright.loading import Agents, AgentsError
from turnwright.providers import Providers
from turnwright.settings import Settings
from turnwright.store.engine import Database
from turnwright.store.notify import PostgresHints, watching_sqlite
from turnwright.store.shared_live import SharedLive


@dataclass(frozen=True)
class Wired:
    """A process's adapters, ready for use."""

    settings: Settings
    agents: Agents
    client: Client
    database: Database
    executions: Executions
    dispatcher: Dispatcher
    providers: Providers
    hub: Hub
    live: LiveText
    texts: LiveTexts


@asynccontextmanager
async def wired(
    settings: Settings, agents: Agents, *, public_url: str | None = None, alone: bool = False
) -> AsyncIterator[Wired]:
    """Everything connected, until the context is left.

    `alone`: API and worker share this process and no other uses the database, so that nothing
    needs to cross between processes. Temporal need not be there yet. Raises what
    `turnwright.store.migrate.check` raises for a database of another version.
    """
    from turnwright.store.migrate import check

    check(settings.sqlalchemy_url)
    hub = Hub()
    async with AsyncExitStack() as stack:
        database = Database(settings.sqlalchemy_url, on_commit=hub.grown)
        stack.callback(database.close)
        live: LocalLive | SharedLive = LocalLive(hub)
        texts: LiveTexts = hub
        if not database.sqlite:
            hints = PostgresHints(settings.sqlalchemy_url, hub)
            database.on_commit = hints.committed
            live = texts = SharedLive(database, hints)
            await stack.enter_async_context(hints.running())
        elif not alone:
            await stack.enter_async_context(watching_sqlite(settings.sqlalchemy_url, hub))
        client = await connect(settings, lazy=True)
        executions = Executions(client, settings.task_queue, public_url)
        dispatcher = Dispatcher(executions)
        database.hand_on = dispatcher.take
        stack.push_async_callback(dispatcher.close)
        providers = Providers()
        _check_models(agents, providers)
        stack.push_async_callback(providers.close)
        yield Wired(
            settings=settings,
            agents=agents,
            client=client,
            database=database,
            executions=executions,
            dispatcher=dispatcher,
            providers=providers,
            hub=hub,
            live=live,
            texts=texts,
        )


def _check_models(agents: Agents, providers: Providers) -> None:
    """Raise `AgentsError` for an agent whose model no provider has."""
    for name in agents.names():
        agent = agents.get(name)
        for model in agent.models if agent else ():
            try:
                providers.check(model)
            except Invalid as error:
                raise AgentsError(f"agent {name!r}: {error.detail}") from None
