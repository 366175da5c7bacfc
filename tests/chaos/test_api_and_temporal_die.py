"""The API or Temporal is killed: what was accepted takes effect once, when they are back."""

import json
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.chaos.processes import Deployment, client_of, read, until_run
from tests.support.oracle import check_oracle
from tests.support.servers import lasting_port
from turnwright.embedded import temporal_dev_server

ASK = {
    "rounds": [
        {"calls": [{"name": "conversation_ask_user", "arguments": {"question": "Go on?"}}]},
        {"text": "done"},
    ]
}
SAY = {"rounds": [{"text": "done"}]}


async def test_api_killed_between_acceptance_and_start(deployment: Deployment) -> None:
    """The caller got no answer; the same key gives the one run, which starts by itself."""
    await deployment.worker()
    api, url = await deployment.crashing_api()
    key = {"Idempotency-Key": "the-one"}
    async with client_of(url) as client:
        created = await client.post("/sessions", json={"agent": "scripted"})
        path = f"/sessions/{created.json()['id']}/messages"
        body = {"text": json.dumps(SAY)}
        with pytest.raises(httpx.TransportError):
            await client.post(path, json=body, headers=key)
    await api.wait()
    _, url = await deployment.api()
    async with client_of(url) as client:
        again = await client.post(path, json=body, headers=key)
        assert again.status_code == 202
        assert again.headers["Idempotency-Replayed"] == "true"
        run = await until_run(client, again.json()["run"]["id"], lambda r: r["ended_at"])
        assert run["status"] == "completed"
        assert len((await read(client, "/runs"))["data"]) == 1


async def test_api_killed_between_an_answer_s_acceptance_and_its_signal(
    deployment: Deployment,
) -> None:
    """The answer is in the inbox; the sweep tells the run, and the same key tells the caller."""
    await deployment.worker()
    _, url = await deployment.api()
    async with client_of(url) as client:
        created = await client.post("/sessions", json={"agent": "scripted"})
        path = f"/sessions/{created.json()['id']}/messages"
        asked = await client.post(path, json={"text": json.dumps(ASK)})
        run_id = asked.json()["run"]["id"]
        await until_run(client, run_id, lambda r: r["status"] == "waiting_for_user")
    crashing, url = await deployment.crashing_api()
    key = {"Idempotency-Key": "the-answer"}
    async with client_of(url) as client:
        with pytest.raises(httpx.TransportError):
            await client.post(f"/runs/{run_id}/input", json={"text": "yes"}, headers=key)
    await crashing.wait()
    _, url = await deployment.api()
    async with client_of(url) as client:
        run = await until_run(client, run_id, lambda r: r["ended_at"])
        assert run["status"] == "completed"
        again = await client.post(f"/runs/{run_id}/input", json={"text": "yes"}, headers=key)
        assert again.status_code == 202
        assert again.headers["Idempotency-Replayed"] == "true"
        answers = await read(client, f"/runs/{run_id}/events?type=question.answered")
        assert len(answers["data"]) == 1


async def test_temporal_away_while_a_message_and_an_answer_are_accepted(
    migrated_database_url: str, tmp_path: Path
) -> None:
    """Behaviour 2: 202 with Temporal down, and it takes effect once when Temporal is back."""
    file = tmp_path / "temporal.db"
    port = lasting_port()
    async with temporal_dev_server(port=port, database=file) as server:
        deployment = Deployment(
            migrated_database_url, server.address, f"chaos-{uuid4().hex[:8]}", tmp_path
        )
        _, url = await deployment.api()
        await deployment.worker()
        async with client_of(url) as client:
            created = await client.post("/sessions", json={"agent": "scripted"})
            path = f"/sessions/{created.json()['id']}"
            asked = await client.post(f"{path}/messages", json={"text": json.dumps(ASK)})
            waiting = asked.json()["run"]["id"]
            await until_run(client, waiting, lambda r: r["status"] == "waiting_for_user")
    async with client_of(url) as client:
        answered = await client.post(f"/runs/{waiting}/input", json={"text": "yes"})
        assert answered.status_code == 202
        assert answered.json()["run"]["status"] == "waiting_for_user"
        other = await client.post("/sessions", json={"agent": "scripted"})
        said = await client.post(
            f"/sessions/{other.json()['id']}/messages", json={"text": json.dumps(SAY)}
        )
        assert said.status_code == 202
        assert said.json()["run"]["status"] == "starting"
        async with temporal_dev_server(port=port, database=file):
            for run_id in (waiting, said.json()["run"]["id"]):
                run = await until_run(client, run_id, lambda r: r["ended_at"])
                assert run["status"] == "completed"
            await deployment.stop()
    check_oracle(migrated_database_url)
