"""Servers that we start: they answer, and they never outlive us."""

import os
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from temporalio.client import Client

from tests.support.servers import TemporalServer
from turnwright import search_attributes
from turnwright.embedded import DevServerError, temporal_dev_server
from turnwright.leash import leashed
from turnwright.search_attributes import missing_search_attributes, register_search_attributes

ROOT = Path(__file__).parents[2]

OWNER = """
import asyncio, sys
from turnwright.embedded import temporal_dev_server
async def main():
    async with temporal_dev_server() as server:
        print(server.pid, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""
WATCHED = """
import subprocess, sys
from turnwright.leash import leashed
child = subprocess.Popen(leashed([sys.executable, "-c", "input()"], watch={watch}),
                         stdin=subprocess.PIPE)
print(child.pid, flush=True)
child.wait()
"""
POSTGRES = """
import threading
import psycopg
from tests.support.postgres import postgres_server
with postgres_server() as url, psycopg.connect(url) as connection:
    folder = url.partition("host=")[2]
    print(open(folder + "/data/postmaster.pid").readline().strip(), flush=True)
    threading.Event().wait()
"""


def wait_until_gone(pid: int) -> None:
    """Whoever's child it is. A zombie counts as gone: its new parent may be slow to reap it."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        readable, _, _ = select.select([descriptor], [], [], 30)
        assert readable, f"process {pid} lives on"
    finally:
        os.close(descriptor)


@pytest.fixture
def start_owner() -> Iterator[Callable[[str], tuple[subprocess.Popen[str], int]]]:
    # What a killed owner leaves lying about goes with this folder (short, for sockets' sake).
    with tempfile.TemporaryDirectory(prefix="tw-", ignore_cleanup_errors=True) as folder:

        def start(code: str) -> tuple[subprocess.Popen[str], int]:
            owner = subprocess.Popen(
                leashed([sys.executable, "-c", code]),
                cwd=ROOT,
                env={**os.environ, "TMPDIR": folder},
                stdout=subprocess.PIPE,
                text=True,
            )
            assert owner.stdout is not None
            return owner, int(owner.stdout.readline())

        yield start


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(OWNER, id="temporal"),
        pytest.param(POSTGRES, id="postgresql"),
        pytest.param(WATCHED.format(watch=False), id="by the kernel"),
        pytest.param(WATCHED.format(watch=True), id="by a watching process"),
    ],
)
def test_a_child_is_gone_after_its_owner_was_killed(
    code: str, start_owner: Callable[[str], tuple[subprocess.Popen[str], int]]
) -> None:
    owner, child = start_owner(code)
    with owner:
        assert psutil.pid_exists(child)
        owner.kill()
    wait_until_gone(child)


async def test_the_server_listens_on_loopback_alone(temporal_server: TemporalServer) -> None:
    connections = psutil.Process(temporal_server.server.pid).net_connections()
    listening = {c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}


async def test_the_server_has_its_ui_and_keeps_its_data_in_the_given_file(tmp_path: Path) -> None:
    database = tmp_path / "new" / "temporal.db"
    async with temporal_dev_server(ui_port=0, database=database) as server:
        client = await Client.connect(server.address)
        started = await client.start_workflow("any", id="kept", task_queue="none")
        assert server.ui_url is not None
        port = int(server.ui_url.rpartition(":")[2])
        socket.create_connection(("127.0.0.1", port)).close()
    async with temporal_dev_server(database=database) as server:
        client = await Client.connect(server.address)
        description = await client.get_workflow_handle("kept").describe()
        assert description.run_id == started.result_run_id


async def test_a_port_in_use_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(DevServerError, match=f"port {port} cannot be used"):
            async with temporal_dev_server(port=port):
                pass


async def test_a_server_that_ends_at_once_says_why(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(DevServerError, match=r"did not start: .*"):
        async with temporal_dev_server(database=tmp_path / "folder"):
            pass


async def test_the_server_stops_when_its_block_fails() -> None:
    async def fail() -> None:
        async with temporal_dev_server() as server:
            raise KeyError(server.pid)

    with pytest.raises(KeyError) as caught:
        await fail()
    assert not psutil.pid_exists(caught.value.args[0])


async def test_search_attributes_are_known_and_registering_them_again_is_harmless(
    temporal_server: TemporalServer,
) -> None:
    assert await missing_search_attributes(temporal_server.client) == ()
    await register_search_attributes(temporal_server.client)
    assert len({key.name for key in search_attributes.ALL}) == 5


async def test_ctrl_c_in_the_terminal_is_not_for_the_server(
    temporal_server: TemporalServer,
) -> None:
    """Workers drain before their server goes: it is in a session of its own."""
    assert os.getpgid(temporal_server.server.pid) == temporal_server.server.pid
