"""Runs driven through the store and Temporal by hand: what the API does, without the API."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from uuid import uuid4

from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Worker

from activities.interruption import GRACE
from tests.store.building import TENANT
from tests.support.app import PATIENCE, SCRIPTED
from tests.support.oracle import check_oracle
from turnwright import Agent
from turnwright.domain.events import Event
from turnwright.domain.ids import workflow_id
from turnwright.domain.ports import Models, Runs
from turnwright.domain.run import Run
from turnwright.domain.sessions import Accepted, AgentChoice, UserInput
from turnwright.executions import Executions
from turnwright.live import Hub, LocalLive
from turnwright.loading import Agents
from turnwright.providers import Providers
from turnwright.settings import sqlalchemy_url
from turnwright.store.admission import accept_answer, accept_message
from turnwright.store.engine import Database
from turnwright.store.event_log import read_events
from turnwright.store.run_rows import get_run
from turnwright.store.runs import RunStore
from turnwright.store.sessions import NewSession, create_session
from worker import SANDBOX, Parts, build_worker

Reached = Callable[[Run], bool]


@dataclass(frozen=True)
class Theatre:
    """A store, a Temporal, and the parts of workers that are yet to come."""

    client: Client
    hub: Hub
    parts: Parts
    agent: Agent

    @property
    def database(self) -> Database:
        return self.parts.database

    def worker(
        self, *, runs: Runs | None = None, models: Models | None = None, grace: float = GRACE
    ) -> Worker:
        """A worker, to be entered. It has no sweep: nothing is mended behind a test's back."""
        parts = replace(
            self.parts,
            runs=runs or self.parts.runs,
            models=models or self.parts.models,
            grace=grace,
        )
        return build_worker(self.client, parts, runner=SANDBOX)

    async def session(self) -> str:
        new = NewSession(tenant=TENANT, agent=self.agent.name, room="lab")
        return (await self.database.write(create_session, new)).id

    async def say(self, session_id: str, text: str) -> Run:
        """A message accepted, and its execution started."""
        accepted: Accepted = await self.database.write(
            accept_message, session_id, UserInput(text=text), tenant=TENANT, choose=self._choose
        )
        await self.parts.executions.start(accepted.run)
        return accepted.run

    async def answer(self, run: Run, text: str) -> None:
        """An answer accepted, and the execution told of it."""
        accepted = await self.database.write(
            accept_answer, run.id, tenant=TENANT, author=None, text=text, choice=None,
            question_id=None,
        )  # fmt: skip
        assert await self.parts.executions.wake(run.session_id, accepted.message.id)

    async def until(self, run: Run, reached: Reached) -> Run:
        """The run, as soon as it is so; looked at whenever its log grows."""
        async with asyncio.timeout(PATIENCE):
            with self.hub.subscribe(run.session_id) as changes:
                while not reached(now := await self.database.read(get_run, run.id)):
                    await changes.wait(PATIENCE)
                    changes.take()
        return now

    async def ended(self, run: Run) -> Run:
        return await self.until(run, lambda now: not now.status.active)

    async def asked(self, run: Run) -> Run:
        return await self.until(run, lambda now: now.waiting is not None)

    async def log(self, run: Run) -> list[Event]:
        return await self.database.read(read_events, run_id=run.id)

    def handle(self, run: Run) -> WorkflowHandle[object, object]:
        return self.client.get_workflow_handle(workflow_id(run.session_id))

    def _choose(self, name: str) -> AgentChoice:
        return AgentChoice(
            actor=name,
            version=self.agent.version,
            model=self.agent.models[0],
            limits=self.agent.limits,
        )


@asynccontextmanager
async def theatre(
    database_url: str, client: Client, *, agent: Agent = SCRIPTED, searchable: bool = True
) -> AsyncIterator[Theatre]:
    """A stage with nobody on it, until the context is left; then the oracle is asked."""
    hub, providers = Hub(), Providers()
    database = Database(sqlalchemy_url(database_url), on_commit=hub.grown)
    executions = Executions(client, f"stage-{uuid4().hex[:8]}", searchable=searchable)
    parts = Parts(
        runs=RunStore(database),
        database=database,
        executions=executions,
        agents=Agents([agent]),
        models=providers,
        live=LocalLive(hub),
    )
    try:
        yield Theatre(client, hub, parts, agent)
    finally:
        await providers.close()
        database.close()
    check_oracle(database_url)
