"""An operator finds a run in Temporal, reads its state there, and no conversation."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import WorkflowExecutionStatus as Status

from tests.e2e.operators import (
    current_details,
    handle_of,
    history_of,
    listed,
    payloads,
    shows,
)
from tests.e2e.weather import reporter
from tests.support.app import SCRIPTED, App, Json, ask, running_app, script
from tests.support.servers import TemporalServer

LOOK: Json = {"calls": [{"name": "weather", "arguments": {"city": "Rome"}}]}


@pytest.fixture
async def app(temporal_server: TemporalServer, sqlite_url: str) -> AsyncIterator[App]:
    agents = [SCRIPTED, reporter("scripted:script")]
    async with running_app(sqlite_url, temporal_server, agents=agents) as running:
        yield running


async def test_a_run_is_found_by_session_run_actor_room_and_status(
    app: App, temporal_server: TemporalServer
) -> None:
    session = await app.session(room="research")
    run = await app.asked(session, ask("Which?"), {"text": "Done."})
    mine = f"TurnwrightSession = '{session}'"

    for query in (
        mine,
        f"TurnwrightRun = '{run['id']}'",
        f"TurnwrightActor = 'scripted' AND {mine}",
        f"TurnwrightRoom = 'research' AND {mine}",
        f"TurnwrightStatus = 'waiting_for_user' AND {mine}",
    ):
        found = await listed(temporal_server.client, query)
        assert (found.id, found.run_id) == (
            run["temporal"]["workflow_id"],
            run["temporal"]["execution_id"],
        )
    await app.post(f"/v1/runs/{run['id']}/input", {"text": "this"})
    await app.ended(run["id"])
    ended = await listed(temporal_server.client, f"TurnwrightStatus = 'completed' AND {mine}")
    assert ended.run_id == run["temporal"]["execution_id"]


async def test_status_and_details_follow_the_run(app: App, temporal_server: TemporalServer) -> None:
    """They say why it waits and link to the run; never what was asked."""
    session = await app.session()
    run = await app.asked(session, ask("A secret question?"), {"text": "Done."})
    handle = handle_of(temporal_server.client, run)

    await shows(handle, "waiting_for_user")
    details = await current_details(handle)
    question = run["waiting"]["question"]["id"]
    assert details.startswith(f"**waiting_for_user** for the answer to `{question}`")
    assert "1 rounds, 1 tool calls" in details
    assert "secret" not in details

    await app.post(f"/v1/runs/{run['id']}/input", {"text": "this"})
    await app.ended(run["id"])
    await shows(handle, "completed")
    assert (await current_details(handle)).startswith("**completed**")
    found = await listed(
        temporal_server.client,
        f"ExecutionStatus = 'Completed' AND TurnwrightRun = '{run['id']}'",
    )
    assert found.status is Status.COMPLETED


async def test_a_failed_run_shows_as_failed_and_why(
    app: App, temporal_server: TemporalServer
) -> None:
    session = await app.session()
    refused: Json = {"error": {"kind": "refused"}}
    run = await app.turn(session, script(refused))
    assert (run["status"], run["failure"]["reason"]) == ("failed", "model_refused")

    found = await listed(
        temporal_server.client,
        f"ExecutionStatus = 'Failed' AND TurnwrightRun = '{run['id']}'",
    )

    assert found.status is Status.FAILED
    handle = handle_of(temporal_server.client, run)
    await shows(handle, "failed")
    assert await current_details(handle) == (
        f"**failed** because of `model_refused`\n\nrun `{run['id']}` of `scripted`"
    )


async def test_steps_are_named_and_what_was_said_is_nowhere_in_the_history(
    app: App, temporal_server: TemporalServer
) -> None:
    """Guarantee 11: ids, names, counts and decisions."""
    session = await app.session("reporter", title="secret-title")
    run = await app.turn(session, script(LOOK, {"text": "secret-answer"}))
    handle = handle_of(temporal_server.client, run)

    history = await history_of(handle)

    found = [payload for event in history for payload in payloads(event)]
    summaries = {payload.data for event in history for payload in payloads(event.user_metadata)}
    assert {b'"round 1"', b'"weather"', b'"round 2"'} <= summaries
    assert f'"reporter: {run["id"]}"'.encode() in summaries
    everything = b"".join(payload.data for payload in found) + str(history).encode()
    for said in (b"secret", b"Rome", b"sunny", b"rounds\\\\"):
        assert said not in everything
