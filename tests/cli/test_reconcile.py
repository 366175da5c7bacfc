"""`turnwright reconcile`: every active run has an execution again, or has ended."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.chaos.processes import client_of, read, until_event, until_run
from tests.cli.conversation import answered, ended, new_session, say, waiting
from tests.cli.programs import refusal, run, started
from tests.support.app import Json, script
from tests.support.servers import TemporalServer, dev_server

REASON = "failed", "terminated"


async def _terminate(temporal: TemporalServer, session_id: str) -> None:
    await temporal.client.get_workflow_handle(f"session/{session_id}").terminate()


async def test_a_terminated_run_is_settled_and_one_with_an_execution_left_alone(
    deployment: dict[str, str], temporal_server: TemporalServer
) -> None:
    async with (
        started("api", **deployment) as api,
        started("worker", **deployment),
        client_of(api.url) as client,
    ):
        at_work, gone = await waiting(client), await waiting(client)
        session_id = (await read(client, f"/runs/{gone}"))["session_id"]
        await _terminate(temporal_server, session_id)

        status, program = await run("reconcile", **deployment)

        assert (status, program.errors[1:]) == (0, [])
        assert program.output == [
            f"{gone} (waiting_for_user) settled as failed, terminated",
            "2 active runs: 1 with an execution, 0 carried on, 1 settled, 0 left",
        ]
        settled = await read(client, f"/runs/{gone}")
        assert (settled["status"], settled["failure"]["reason"]) == REASON
        again = await say(client, session_id, script({"text": "Still here."}))
        assert (await ended(client, again["id"]))["status"] == "completed"
        assert (await answered(client, at_work))["status"] == "completed"

        status, program = await run("reconcile", **deployment)
        nothing = "0 active runs: 0 with an execution, 0 carried on, 0 settled, 0 left"
        assert (status, program.output) == (0, [nothing])


async def test_rehost_carries_a_terminated_run_on_and_it_completes(
    deployment: dict[str, str], temporal_server: TemporalServer
) -> None:
    async with (
        started("api", **deployment) as api,
        started("worker", **deployment),
        client_of(api.url) as client,
    ):
        gone = await waiting(client)
        before = await read(client, f"/runs/{gone}")
        await _terminate(temporal_server, before["session_id"])

        status, program = await run("reconcile", "--rehost", "--json", **deployment)

        assert status == 0
        told, summary = [json.loads(line) for line in program.output]
        assert told == {
            "run_id": gone,
            "session_id": before["session_id"],
            "status": "waiting_for_user",
            "done": "carried_on",
        }
        assert summary == {"nothing": 0, "carried_on": 1, "settled": 0, "left": 0}
        after = await answered(client, gone)
        assert after["status"] == "completed"
        assert after["temporal"]["execution_id"] != before["temporal"]["execution_id"]


async def test_with_temporal_lost_all_that_was_under_way_is_carried_on(
    deployment: dict[str, str], tmp_path: Path
) -> None:
    """A run that waits, one that was cut off in mid-work, and one that nobody had started."""
    journal = tmp_path / "journal"
    half: list[Json] = [
        {"calls": [{"name": "effect", "arguments": {"path": str(tmp_path / "effect")}}]}
        | {"journal": str(journal)},
        {"text": "one two", "delay": 30, "journal": str(journal)},
    ]
    async with dev_server() as lost:
        deployment["temporal_address"] = lost.address
        async with (
            started("api", **deployment) as api,
            started("worker", **deployment) as worker,
            client_of(api.url) as client,
        ):
            parked = await waiting(client)
            cut_off = (await say(client, await new_session(client), script(*half)))["id"]
            await until_event(client, cut_off, "tool.returned")
            async with asyncio.timeout(30):
                while len(journal.read_text().splitlines()) != 2:
                    await asyncio.sleep(0.02)
            await worker.stopped(signal.SIGKILL)
            fresh = (await say(client, await new_session(client), script({"text": "Hi."})))["id"]

    async with dev_server() as empty:
        deployment["temporal_address"] = empty.address
        assert (await run("migrate", **deployment))[0] == 0

        status, program = await run("reconcile", **deployment)

        assert status == 0
        assert program.output == [
            f"{parked} (waiting_for_user) carried on from the log",
            f"{cut_off} (running) carried on from the log",
            f"{fresh} (starting) carried on from the log",
            "3 active runs: 0 with an execution, 3 carried on, 0 settled, 0 left",
        ]
        async with (
            started("api", **deployment) as api,
            started("worker", **deployment),
            client_of(api.url) as client,
        ):
            assert (await answered(client, parked))["status"] == "completed"
            assert (await ended(client, fresh))["status"] == "completed"
            cut = await until_run(client, cut_off, lambda run: run["ended_at"] is not None)
            assert cut["output"]["text"] == "one two"
    assert len((tmp_path / "effect").read_text().splitlines()) == 1
    asked = [line.split()[1] for line in journal.read_text().splitlines()]
    assert asked == ["0", "1", "1"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"temporal_address": "127.0.0.1:9"}, "Temporal cannot be reached at 127.0.0.1:9"),
        ({"temporal_namespace": "nosuch"}, "Temporal has no namespace 'nosuch'"),
    ],
)
async def test_without_temporal_it_is_one_line_and_a_failure(
    sqlite_deployment: dict[str, str], wrong: dict[str, str], said: str
) -> None:
    status, line = await refusal("reconcile", **sqlite_deployment | wrong)
    assert (status, said in line) == (1, True)
