"""A scripted model has tools called as its script says: who may choose one is not left open."""

from pathlib import Path

import pytest

from tests.support.app import running_app, script
from tests.support.servers import TemporalServer
from turnwright import Agent
from turnwright.loading import Agents, AgentsError
from turnwright.settings import Settings
from turnwright.wiring import wired


async def test_a_playbook_is_no_caller_s_to_choose(
    migrated_database_url: str, temporal_server: TemporalServer
) -> None:
    """It is a file of the worker's."""
    async with running_app(migrated_database_url, temporal_server, worker=False) as app:
        session_id = await app.session()
        for model in ("scripted:/etc/passwd.json", "scripted:examples/support.json"):
            body = {"text": "hi", "model": model}
            answer = await app.post(f"/v1/sessions/{session_id}/messages", body)
            assert (answer.status_code, answer.json()["code"]) == (422, "VALIDATION_FAILED")
        assert (await app.get("/v1/runs"))["data"] == []


async def test_a_journal_is_written_among_temporary_files_alone(
    migrated_database_url: str, temporal_server: TemporalServer
) -> None:
    """A caller's script gets no say over other files of the worker's."""
    # Not the working directory: a checkout may itself lie among temporary files.
    path = Path.home() / "written-by-a-caller"
    async with running_app(migrated_database_url, temporal_server) as app:
        run = await app.turn(await app.session(), script({"text": "hi", "journal": str(path)}))
        assert run["failure"]["reason"] == "model_error"
    assert not path.exists()


async def test_an_agent_whose_model_nobody_provides_stops_the_start(
    migrated_database_url: str,
) -> None:
    """A typing error is found before the first run, not by it."""
    agent = Agent(name="typo", instructions="…", model="opnai:gpt-5")
    with pytest.raises(AgentsError, match=r"'typo': .*opnai"):
        async with wired(Settings(database_url=migrated_database_url), Agents([agent])):
            pass
