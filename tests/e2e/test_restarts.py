"""Behaviour 16: a wait survives the loss of every process."""

from pathlib import Path

from tests.chaos.processes import Deployment, client_of, read, until_run
from tests.support.app import ask, script
from tests.support.oracle import check_oracle
from tests.support.servers import lasting_port
from turnwright.embedded import temporal_dev_server


async def test_a_waiting_run_completes_once_after_everything_was_stopped_and_started(
    migrated_database_url: str, tmp_path: Path
) -> None:
    """API, worker and Temporal; the answer comes while no worker is there yet."""
    file = tmp_path / "temporal.db"
    port = lasting_port()
    async with temporal_dev_server(port=port, database=file) as server:
        deployment = Deployment(migrated_database_url, server.address, "restarts", tmp_path)
        _, url = await deployment.api()
        await deployment.worker()
        async with client_of(url) as client:
            created = await client.post("/sessions", json={"agent": "scripted"})
            session = created.json()["id"]
            text = script(ask("Go on?"), {"text": "Done."})
            said = await client.post(f"/sessions/{session}/messages", json={"text": text})
            run_id = said.json()["run"]["id"]
            await until_run(client, run_id, lambda r: r["status"] == "waiting_for_user")
        await deployment.stop()
    async with temporal_dev_server(port=port, database=file):
        _, url = await deployment.api()
        async with client_of(url) as client:
            answered = await client.post(f"/runs/{run_id}/input", json={"text": "yes"})
            assert answered.status_code == 202
            await deployment.worker()
            run = await until_run(client, run_id, lambda r: r["ended_at"])
            assert (run["status"], run["output"]["text"]) == ("completed", "Done.")
            events = (await read(client, f"/sessions/{session}/events"))["data"]
        await deployment.stop()
    types = [event["type"] for event in events]
    for once in ("question.asked", "question.answered", "run.resumed", "run.completed"):
        assert types.count(once) == 1
    assert types.count("run.started") == 1
    check_oracle(migrated_database_url)
