"""`turnwright api` and `turnwright worker`: the processes of a deployment."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from tests.chaos.processes import client_of
from tests.cli.conversation import ended, live_text, new_session, say
from tests.cli.programs import AGENTS, launched, refusal, started
from tests.support.app import script
from tests.support.databases import SqliteDatabases
from tests.support.model_servers import free_port
from tests.support.oracle import check_oracle
from tests.support.servers import lasting_port
from turnwright.embedded import temporal_dev_server
from turnwright.service import listen

WORKERS = {
    "turnwright worker": (sys.executable, "-m", "turnwright.cli", "worker"),
    "python worker.py": (sys.executable, "worker.py"),
}


async def test_live_text_crosses_from_the_worker_to_readers_of_the_api(
    deployment: dict[str, str],
) -> None:
    """On PostgreSQL. On SQLite, processes see each other's events, and no live text."""
    said = "one two three four five six seven eight"
    round_ = {"text": said, "delay": 0.05}
    async with (
        started("api", **deployment) as api,
        started("worker", **deployment) as worker,
        client_of(api.url) as client,
    ):
        assert worker.output == [f"ready: polling {deployment['task_queue']}"]
        session = await new_session(client)
        reading = asyncio.create_task(live_text(client, session))
        run = await say(client, session, script(round_))

        seen = await reading

        assert (await ended(client, run["id"]))["output"]["text"] == said
        shared = deployment["database_url"].startswith("postgresql")
        # The last piece may lose the race with the end of its round, which leaves it out.
        assert said.startswith(seen)
        assert bool(seen) is shared
        assert await api.stopped(signal.SIGTERM) == 0
        assert await worker.stopped(signal.SIGINT) == 0
        assert (api.errors, worker.errors) == ([], [])


@pytest.mark.parametrize("command", WORKERS.values(), ids=WORKERS)
async def test_the_api_accepts_and_the_worker_waits_while_temporal_is_away(
    tmp_path: Path, sqlite_databases: SqliteDatabases, command: tuple[str, ...]
) -> None:
    port = lasting_port()
    with sqlite_databases.migrated() as url:
        settings = {
            "database_url": url,
            "temporal_address": f"127.0.0.1:{port}",
            "agents": AGENTS,
            "api_port": "0",
        }
        async with (
            started("api", **settings) as api,
            launched(command=command, **settings) as worker,
            client_of(api.url) as client,
        ):
            run = await say(client, await new_session(client), script({"text": "Hello."}))
            assert run["status"] == "starting"
            await worker.printed("waiting_for_temporal")
            async with temporal_dev_server(port=port, database=tmp_path / "temporal.db"):
                await worker.ready()
                assert (await ended(client, run["id"]))["status"] == "completed"
                assert await worker.stopped(signal.SIGTERM) == 0
                assert await api.stopped(signal.SIGINT) == 0
        check_oracle(url)


@pytest.mark.parametrize("command", ["api", "worker"])
async def test_a_database_without_its_schema_is_one_line(command: str, tmp_path: Path) -> None:
    empty = f"sqlite:///{tmp_path / 'empty.db'}"

    assert await refusal(command, agents=AGENTS, database_url=empty) == (
        1,
        "turnwright: the database has no schema yet: run `turnwright migrate`",
    )


@pytest.mark.parametrize("command", ["api", "worker"])
async def test_no_agents_are_one_line_that_names_the_setting(command: str) -> None:
    status, line = await refusal(command)

    assert status == 2
    assert line.startswith("turnwright: TURNWRIGHT_AGENTS: not given: ")


async def test_a_port_that_is_taken_is_one_line() -> None:
    with listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        assert await refusal("api", agents=AGENTS, api_port=str(port)) == (
            1,
            f"turnwright: 127.0.0.1:{port} cannot be listened on: Address already in use",
        )


async def test_a_database_that_is_not_there_is_one_line() -> None:
    away = f"postgresql://nobody@127.0.0.1:{free_port()}/none"

    status, line = await refusal("api", agents=AGENTS, database_url=away)

    assert status == 1
    assert line.startswith("turnwright: the database cannot be used: ")


async def test_a_namespace_that_does_not_exist_is_one_line(deployment: dict[str, str]) -> None:
    """A worker would otherwise poll for nothing."""
    status, line = await refusal("worker", **deployment | {"temporal_namespace": "nowhere"})
    assert status == 2
    assert line == (
        "turnwright: TURNWRIGHT_TEMPORAL_NAMESPACE: Temporal has no namespace 'nowhere'"
    )
