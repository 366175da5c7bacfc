"""A worker is killed (`kill -9`): the turn ends once, and nothing is paid for or done twice."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.chaos.processes import (
    PATIENCE,
    Deployment,
    client_of,
    kill,
    read,
    until_event,
    until_run,
)


async def _begin(client: httpx.AsyncClient, *rounds: dict[str, Any]) -> str:
    created = await client.post("/sessions", json={"agent": "scripted"})
    session_id = created.raise_for_status().json()["id"]
    text = json.dumps({"rounds": rounds})
    accepted = await client.post(f"/sessions/{session_id}/messages", json={"text": text})
    run_id: str = accepted.raise_for_status().json()["run"]["id"]
    return run_id


async def _events(client: httpx.AsyncClient, run_id: str, event_type: str) -> list[dict[str, Any]]:
    listed = await read(client, f"/runs/{run_id}/events?limit=200&type={event_type}")
    data: list[dict[str, Any]] = listed["data"]
    return data


def _ended(run: dict[str, Any]) -> bool:
    return run["ended_at"] is not None


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


async def test_killed_in_mid_stream_the_round_is_asked_again(deployment: Deployment) -> None:
    """The interrupted attempt leaves no record; the next one does, and the turn completes."""
    journal = deployment.folder / "journal"
    _, url = await deployment.api()
    worker = await deployment.worker()
    async with client_of(url) as client:
        run_id = await _begin(
            client, {"text": "one two three four", "delay": 1, "journal": str(journal)}
        )
        await until_event(client, run_id, "round.started")
        async with asyncio.timeout(PATIENCE):
            while not _lines(journal):
                await asyncio.sleep(0.01)
        await kill(worker)
        await deployment.worker()
        run = await until_run(client, run_id, _ended)
        assert run["status"] == "completed"
        assert run["output"]["text"] == "one two three four"
        assert [line.split()[-1] for line in _lines(journal)] == ["1", "2"]
        assert len(await _events(client, run_id, "round.finished")) == 1


@pytest.mark.parametrize("step", ["opened", "round-recorded"])
async def test_killed_after_recording_a_step_the_record_is_found(
    deployment: Deployment, step: str
) -> None:
    """The step is not done again: a recorded round is called once."""
    journal = deployment.folder / "journal"
    _, url = await deployment.api()
    worker = await deployment.crashing_worker(step)
    async with client_of(url) as client:
        run_id = await _begin(
            client,
            {
                "calls": [{"name": "nope", "arguments": {}}],
                "journal": str(journal),
            },
            {"text": "done", "journal": str(journal)},
        )
        async with asyncio.timeout(PATIENCE):
            await worker.wait()
        await deployment.worker()
        run = await until_run(client, run_id, _ended)
        assert run["status"] == "completed"
        assert [line.split()[1] for line in _lines(journal)] == ["0", "1"]
        assert len(await _events(client, run_id, "run.started")) == 1
        assert len(await _events(client, run_id, "round.finished")) == 2


@pytest.mark.parametrize(
    ("tool", "effects", "outcome"),
    [("effect", 1, "unknown"), ("repeatable_effect", 2, "ok")],
)
async def test_killed_between_a_tool_s_effect_and_its_result(
    deployment: Deployment, tool: str, effects: int, outcome: str
) -> None:
    """Behaviour 39: never a silent second effect."""
    path = deployment.folder / "effects"
    _, url = await deployment.api()
    worker = await deployment.crashing_worker("before-result-recorded")
    async with client_of(url) as client:
        run_id = await _begin(
            client,
            {"calls": [{"name": tool, "arguments": {"path": str(path)}}]},
            {"text": "done"},
        )
        async with asyncio.timeout(PATIENCE):
            await worker.wait()
        await deployment.worker()
        run = await until_run(client, run_id, _ended)
        assert run["status"] == "completed"
        assert len(_lines(path)) == effects
        (returned,) = await _events(client, run_id, "tool.returned")
        assert returned["data"]["outcome"] == outcome
