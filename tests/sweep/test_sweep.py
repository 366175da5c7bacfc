"""The sweep carries on what was accepted and lost on its way, and harms nothing else."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from tests.support.app import App, ask, running_app, script
from tests.support.servers import TemporalServer, dev_server
from turnwright.domain.run import Limits, Run
from turnwright.domain.sessions import AgentChoice, UserInput
from turnwright.executions import Executions, Start
from turnwright.store.admission import accept_answer, accept_message
from turnwright.store.run_rows import get_run
from turnwright.sweep import Sweep

NOW = timedelta()
TENANT = "default"


@pytest.fixture
async def app(migrated_database_url: str, temporal_server: TemporalServer) -> AsyncIterator[App]:
    """A running application."""
    async with running_app(migrated_database_url, temporal_server) as running:
        yield running


def sweep_of(app: App, executions: Executions | None = None) -> Sweep:
    """A sweep that finds everything old enough."""
    return Sweep(
        app.database,
        executions or app.process.executions,
        fresh=NOW,
        quiet=NOW,
        long_ended=NOW,
        meant=NOW,
    )


async def _run(app: App, run_id: str) -> Run:
    return await app.database.read(get_run, run_id)


async def _accepted(app: App, session_id: str, text: str) -> Run:
    """A run as an API leaves it that dies before it could hand it to Temporal."""
    accepted = await app.database.write(
        accept_message, session_id, UserInput(text=text), tenant=TENANT, choose=_choose
    )
    return accepted.run


def _choose(name: str) -> AgentChoice:
    return AgentChoice(actor=name, version="1", model="scripted:script", limits=Limits())


async def test_a_run_that_was_never_started_is_started(app: App) -> None:
    """Swept twice, it still is one execution and one turn."""
    run = await _accepted(app, await app.session(), script({"text": "done"}))
    await sweep_of(app).once()
    await sweep_of(app).once()
    assert (await app.ended(run.id))["status"] == "completed"


async def test_a_wake_up_that_was_lost_is_repeated(app: App) -> None:
    """The answer is in the inbox, and nobody told the run."""
    run = await app.asked(await app.session(), ask("Go on?"), {"text": "done"})
    await app.database.write(
        accept_answer,
        run["id"],
        tenant=TENANT,
        author=None,
        text="yes",
        choice=None,
        question_id=None,
    )
    await sweep_of(app).once()
    assert (await app.ended(run["id"]))["status"] == "completed"


async def test_an_execution_whose_run_has_long_ended_makes_way(app: App) -> None:
    """It holds the session's workflow id, so that the next run could not start."""
    session_id = await app.session()
    first = await app.turn(session_id, script({"text": "one"}))
    stuck = replace(app.process.executions, task_queue=f"nobody-{uuid4().hex}")
    while await stuck.start(await _run(app, first["id"])) is not Start.STARTED:
        pass
    second = await _accepted(app, session_id, script({"text": "two"}))
    await sweep_of(app).once()
    await sweep_of(app).once()
    ended = await app.ended(second.id)
    assert ended["output"]["text"] == "two"


async def test_a_run_that_was_terminated_is_settled_and_its_session_lives(app: App) -> None:
    """Behaviour 42, by the sweep: an operator meant it."""
    session_id = await app.session()
    run = await app.asked(session_id, ask("Go on?"))
    await app.process.client.get_workflow_handle(f"session/{session_id}").terminate()
    await sweep_of(app).once()
    ended = await app.run(run["id"])
    assert (ended["status"], ended["failure"]["reason"]) == ("failed", "terminated")
    assert (await app.turn(session_id, script({"text": "fine"})))["status"] == "completed"


async def test_with_temporal_s_database_lost_a_waiting_run_is_carried_on_from_the_log(
    migrated_database_url: str, temporal_server: TemporalServer, tmp_path: Path
) -> None:
    """Guarantee 9: recorded rounds are not asked again, and the question can be answered."""
    journal = tmp_path / "journal"
    rounds = [ask("Go on?") | {"journal": str(journal)}, {"text": "done"}]
    async with running_app(migrated_database_url, temporal_server) as before:
        run = await before.asked(await before.session(), *rounds)
    async with (
        dev_server() as empty,
        running_app(migrated_database_url, empty) as after,
    ):
        await sweep_of(after).once()
        answered = await after.post(f"/v1/runs/{run['id']}/input", {"text": "yes"})
        assert answered.status_code == 202
        ended = await after.ended(run["id"])
        assert ended["status"] == "completed"
        assert ended["temporal"]["execution_id"] != run["temporal"]["execution_id"]
    assert len(journal.read_text().splitlines()) == 1


async def test_an_answer_that_finds_its_execution_lost_has_its_run_carried_on_at_once(
    migrated_database_url: str, temporal_server: TemporalServer
) -> None:
    """The run need not have been quiet for long first."""
    async with running_app(migrated_database_url, temporal_server) as before:
        run = await before.asked(await before.session(), ask("Go on?"), {"text": "done"})
    async with dev_server() as empty, running_app(migrated_database_url, empty) as after:
        answered = await after.post(f"/v1/runs/{run['id']}/input", {"text": "yes"})
        assert answered.status_code == 202
        await Sweep(after.database, after.process.executions, fresh=NOW).once()
        assert (await after.ended(run["id"]))["status"] == "completed"
