"""The whole application in this process: real Temporal, real worker, real sockets.

async with running_app(url, temporal, agents=[…]) as app:
    session = await app.session("assistant")
    run = await app.turn(session, "Hello")
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol
from uuid import uuid4

import httpx

from api.app import create_app
from api.serve import api_parts
from tests.support.oracle import check_oracle
from tests.support.sse import SseFrame, read_frames
from turnwright import Agent
from turnwright.domain.ports import Models
from turnwright.loading import Agents
from turnwright.service import listen, serving, url_of
from turnwright.settings import Settings
from turnwright.store.engine import Database
from turnwright.wiring import Wired, wired
from worker import SANDBOX, running_worker, worker_parts

Json = dict[str, Any]
PATIENCE = 30.0
"""Seconds for anything to happen; it takes milliseconds on an idle machine."""
SCRIPTED = Agent(name="scripted", instructions="Play.", model="scripted:script", can_ask_user=True)
"""Performs the script that its trigger holds."""


def script(*rounds: Json) -> str:
    """A trigger that makes `scripted:script` perform these rounds."""
    return json.dumps({"rounds": rounds})


def ask(question: str, *choices: str) -> Json:
    """A round of a script that asks the user."""
    arguments: Json = {"question": question} | ({"choices": choices} if choices else {})
    return {"calls": [{"name": "conversation_ask_user", "arguments": arguments}]}


@dataclass(frozen=True)
class App:
    """A running application and a client of it."""

    client: httpx.AsyncClient
    base_url: str
    process: Wired
    models: Models

    @property
    def database(self) -> Database:
        """What API and worker use."""
        return self.process.database

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """A worker, until the context is left."""
        parts = replace(worker_parts(self.process), models=self.models)
        async with running_worker(self.process.client, parts, runner=SANDBOX):
            yield

    async def get(self, path: str, **query: Any) -> Json:
        """The JSON of a GET that must succeed."""
        response = await self.client.get(path, params=query)
        assert response.status_code == 200, response.text
        answer: Json = response.json()
        return answer

    async def post(self, path: str, body: Json, *, key: str | None = None) -> httpx.Response:
        """A POST, under an idempotency key where one is given."""
        headers = {} if key is None else {"Idempotency-Key": key}
        return await self.client.post(path, json=body, headers=headers)

    async def session(self, agent: str = "scripted", **more: Any) -> str:
        """The id of a new session."""
        response = await self.post("/v1/sessions", {"agent": agent, **more})
        assert response.status_code == 201, response.text
        return str(response.json()["id"])

    async def say(self, session_id: str, text: str, **more: Any) -> Json:
        """What a message that must be accepted is answered."""
        response = await self.post(f"/v1/sessions/{session_id}/messages", {"text": text, **more})
        assert response.status_code == 202, response.text
        accepted: Json = response.json()
        return accepted

    async def run(self, run_id: str) -> Json:
        """The run as it is."""
        return await self.get(f"/v1/runs/{run_id}")

    async def turn(self, session_id: str, text: str, **more: Any) -> Json:
        """The run of a message, after it has ended."""
        accepted = await self.say(session_id, text, **more)
        return await self.ended(accepted["run"]["id"])

    async def ended(self, run_id: str) -> Json:
        """The run, after it has ended."""
        async with self.stream(f"/v1/runs/{run_id}/stream") as frames, asyncio.timeout(PATIENCE):
            async for _ in frames:
                pass
        return await self.run(run_id)

    async def reached(self, run_id: str, event: str) -> Json:
        """The run, after this event of it was seen in its stream."""
        async with self.stream(f"/v1/runs/{run_id}/stream") as frames, asyncio.timeout(PATIENCE):
            async for frame in frames:
                if frame.event == event:
                    return await self.run(run_id)
        raise AssertionError(f"{run_id} ended without {event}")

    async def asked(self, session_id: str, *rounds: Json) -> Json:
        """The run that plays these rounds, once it waits for the user."""
        accepted = await self.say(session_id, script(*rounds))
        return await self.reached(accepted["run"]["id"], "run.waiting")

    async def events(self, session_id: str) -> list[Json]:
        """The session's whole log."""
        return list((await self.get(f"/v1/sessions/{session_id}/events", limit=200))["data"])

    @asynccontextmanager
    async def stream(
        self, path: str, *, last: int | str | None = None, **query: Any
    ) -> AsyncIterator[AsyncIterator[SseFrame]]:
        """The frames of a stream, from the `last` id on."""
        headers = {} if last is None else {"Last-Event-ID": str(last)}
        async with self.client.stream("GET", path, params=query, headers=headers) as response:
            if response.status_code != 200:
                raise AssertionError((await response.aread()).decode())
            frames = read_frames(response)
            yield frames
            await frames.aclose()  # type: ignore[attr-defined]


class Addressed(Protocol):
    """A Temporal server, or where one could be."""

    @property
    def address(self) -> str:
        """As `host:port`."""


@asynccontextmanager
async def running_app(
    database_url: str,
    temporal: Addressed,
    *,
    agents: Sequence[Agent] = (SCRIPTED,),
    models: Models | None = None,
    worker: bool = True,
    **settings: Any,
) -> AsyncIterator[App]:
    """The application on this database, until the context is left; then the oracle is asked.

    `models` takes the place of the providers; `settings` are those of `turnwright.settings`.
    """
    chosen = {
        "database_url": database_url,
        "temporal_address": temporal.address,
        "task_queue": f"app-{uuid4().hex[:8]}",
    }
    async with AsyncExitStack() as stack:
        process = await stack.enter_async_context(
            wired(Settings(**(chosen | settings)), Agents(agents), alone=True)
        )
        listening = stack.enter_context(listen("127.0.0.1", 0))
        url = url_of(listening)
        app = create_app(api_parts(process))
        await stack.enter_async_context(serving(app, listening, process.hub))
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=url, timeout=PATIENCE))
        running = App(client, url, process, models or process.providers)
        if worker:
            await stack.enter_async_context(running.working())
        yield running
    check_oracle(database_url)
