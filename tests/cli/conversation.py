"""Conversations with the agent `scripted` of a running API process."""

import json
from typing import Any

import httpx

from tests.chaos.processes import until_run
from tests.support.app import Json, ask, script

QUESTION = script(ask("Go on?"), {"text": "Done."})


async def new_session(client: httpx.AsyncClient, agent: str = "scripted") -> str:
    """The id of a new session."""
    created = await client.post("/sessions", json={"agent": agent})
    return str(created.raise_for_status().json()["id"])


async def say(client: httpx.AsyncClient, session_id: str, text: str, **more: Any) -> Json:
    """The run of an accepted message."""
    path = f"/sessions/{session_id}/messages"
    accepted = await client.post(path, json={"text": text, **more})
    run: Json = accepted.raise_for_status().json()["run"]
    return run


async def ended(client: httpx.AsyncClient, run_id: str) -> Json:
    """The run, after it has ended."""
    return await until_run(client, run_id, lambda run: run["ended_at"] is not None)


async def waiting(client: httpx.AsyncClient) -> str:
    """The id of a run of a new session that waits for the user."""
    run = await say(client, await new_session(client), QUESTION)
    await until_run(client, run["id"], lambda run: run["status"] == "waiting_for_user")
    return str(run["id"])


async def answered(client: httpx.AsyncClient, run_id: str) -> Json:
    """The run, once it has been answered and has ended."""
    (await client.post(f"/runs/{run_id}/input", json={"text": "yes"})).raise_for_status()
    return await ended(client, run_id)


async def live_text(client: httpx.AsyncClient, session_id: str) -> str:
    """The text of the session's next answer, as its readers see it come."""
    text = ""
    async with client.stream("GET", f"/sessions/{session_id}/stream") as stream:
        event = ""
        async for line in stream.aiter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "data" and event == "message.delta":
                text += json.loads(value)["text"]
            elif name == "data" and event == "message.assistant":
                return text
    raise AssertionError("the stream ended without an answer")
