"""`turnwright dev`: everything on one machine, and nothing of it left behind."""

import asyncio
import signal
from pathlib import Path

import psutil
import pytest

from tests.chaos.processes import client_of
from tests.cli.conversation import answered, ended, new_session, say, waiting
from tests.cli.programs import AGENTS, PATIENCE, refusal, started
from tests.support.app import script
from tests.support.databases import Databases
from tests.support.oracle import check_oracle
from tests.support.servers import TemporalServer
from turnwright.cli import app

FREE = ("dev", "--port", "0", "--temporal-port", "0", "--ui-port", "0", "--agents", AGENTS)


def _in(folder: Path) -> tuple[str, ...]:
    return (*FREE, "--data-dir", str(folder))


def _database(folder: Path) -> str:
    return f"sqlite:///{folder / 'turnwright.db'}"


async def test_sigterm_ends_it_although_a_stream_is_open(tmp_path: Path) -> None:
    """It prints what a person needs, the ready line once and last, and no library's chatter."""
    async with started(*_in(tmp_path)) as dev, client_of(dev.url) as client:
        session = await new_session(client)
        run = await say(client, session, script({"text": "Hello."}))
        shown = await ended(client, run["id"])
        assert shown["status"] == "completed"
        assert (await client.get(shown["temporal"]["url"])).status_code == 200
        async with client.stream("GET", f"/sessions/{session}/stream") as stream:
            lines = stream.aiter_lines()
            await anext(lines)

            assert await dev.stopped(signal.SIGTERM) == 0

            async for _ in lines:  # to its orderly end
                pass
    ui, agents, ready = dev.output
    assert ui.startswith("Temporal UI: http://127.0.0.1:")
    assert agents == "agents: scripted"
    assert ready == f"ready: {dev.url}"
    assert dev.errors == []
    check_oracle(_database(tmp_path))


async def test_a_waiting_run_survives_kill_9_and_ctrl_c_and_is_answered_in_the_end(
    tmp_path: Path,
) -> None:
    """However it ends, no process that it started is left."""
    async with started(*_in(tmp_path)) as dev, client_of(dev.url) as client:
        run_id = await waiting(client)
        children = psutil.Process(dev.process.pid).children(recursive=True)
        assert children
        assert await dev.stopped(signal.SIGKILL) == -signal.SIGKILL
        _, alive = await asyncio.to_thread(psutil.wait_procs, children, PATIENCE)
        assert alive == []
    async with started(*_in(tmp_path)) as dev:
        children = psutil.Process(dev.process.pid).children(recursive=True)
        assert await dev.stopped(signal.SIGINT) == 0
        assert not any(child.is_running() for child in children)
    async with started(*_in(tmp_path)) as dev, client_of(dev.url) as client:
        assert (await answered(client, run_id))["status"] == "completed"
        events = (await client.get(f"/runs/{run_id}/events")).json()["data"]
    assert [event["type"] for event in events].count("question.answered") == 1
    check_oracle(_database(tmp_path))


async def test_what_is_in_use_already_is_one_line_and_leaves_the_user_alone(
    tmp_path: Path,
) -> None:
    """The API's port, Temporal's, and the data."""
    mine, other = tmp_path / "mine", tmp_path / "other"
    async with started(*_in(mine)) as dev, client_of(dev.url) as client:
        port = dev.url.rpartition(":")[2]
        run_id = await waiting(client)
        refusals = await asyncio.gather(
            refusal(*_in(other), "--port", port),
            refusal(*_in(tmp_path / "third"), "--temporal-port", port),
            refusal(*_in(mine)),
        )
        assert (await answered(client, run_id))["status"] == "completed"
    assert list(refusals) == [
        (1, f"turnwright: 127.0.0.1:{port} cannot be listened on: Address already in use"),
        (1, f"turnwright: port {port} cannot be used: Address already in use"),
        (1, f"turnwright: another `turnwright dev` uses the data in {mine}"),
    ]


async def test_what_the_settings_give_is_used_instead_of_the_embedded_part(
    tmp_path: Path, postgres_databases: Databases, temporal_server: TemporalServer
) -> None:
    with postgres_databases.empty() as url:
        given = {
            "database_url": url,
            "temporal_address": temporal_server.address,
            "task_queue": tmp_path.name,
        }
        folder = tmp_path / "unused"
        async with started(*_in(folder), **given) as dev, client_of(dev.url) as client:
            run = await say(client, await new_session(client), script({"text": "Hello."}))
            assert (await ended(client, run["id"]))["status"] == "completed"
            assert psutil.Process(dev.process.pid).children() == []
            assert await dev.stopped(signal.SIGTERM) == 0
        assert not folder.exists()
        assert not any("Temporal UI" in line for line in dev.output)
        check_oracle(url)


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("API_PORT", "x", "TURNWRIGHT_API_PORT: "),
        ("DATABASE_URL", "mysql://x", "TURNWRIGHT_DATABASE_URL: "),
        ("API_PROT", "1", "TURNWRIGHT_API_PROT: there is no such setting"),
        ("API_HOST", "0.0.0.0", "TURNWRIGHT_API_HOST=0.0.0.0 is reachable"),  # noqa: S104
        ("PAYLOAD_KEY", "c2hvcnQ=", "TURNWRIGHT_PAYLOAD_KEY: must be base64 of 32 bytes"),
    ],
)
def test_a_wrong_setting_is_one_line_that_names_it_before_anything_starts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: str,
    line: str,
) -> None:
    monkeypatch.setenv(f"TURNWRIGHT_{name}", value)

    with pytest.raises(SystemExit) as ended:
        app(list(_in(tmp_path / "data")))

    assert ended.value.code == 2
    [refused] = capsys.readouterr().err.splitlines()
    assert refused.startswith(f"turnwright: {line}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("nosuch.py", "nosuch.py: there is no such file"),
        ("tests/cli/programs.py", "tests/cli/programs.py: it must hold a list `agents`"),
    ],
)
async def test_agents_that_cannot_be_loaded_are_one_line_before_anything_starts(
    tmp_path: Path, file: str, line: str
) -> None:
    folder = tmp_path / "data"

    status, refused = await refusal("dev", "--data-dir", str(folder), "--agents", file)

    assert (status, refused.startswith(f"turnwright: {line}")) == (2, True)
    assert not folder.exists()
