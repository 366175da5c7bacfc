"""A database that goes away, and comes back."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from tests.store.building import Bench
from tests.support.databases import Databases
from tests.support.postgres import postgres_server
from turnwright.domain.errors import Unavailable
from turnwright.settings import sqlalchemy_url
from turnwright.store import engine
from turnwright.store.engine import Database, Tx
from turnwright.store.event_log import lock_session
from turnwright.store.migrate import migrate
from turnwright.store.reading import ping


@pytest.fixture
def url(postgres_databases: Databases) -> Iterator[str]:
    with postgres_databases.migrated() as found:
        yield found


def _pid(tx: Tx) -> int:
    found = tx.connection.scalar(text("SELECT pg_backend_pid()"))
    assert isinstance(found, int)
    return found


def _kill(url: str, pid: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


async def test_a_killed_backend_costs_no_later_request(url: str) -> None:
    database = Database(sqlalchemy_url(url))
    _kill(url, await database.read(_pid))
    await database.read(ping)
    database.close()


async def test_a_backend_killed_in_mid_transaction_is_unavailable_and_leaves_nothing(
    url: str,
) -> None:
    database = Database(sqlalchemy_url(url))
    bench = Bench(database)
    session_id = await bench.session()
    before = await bench.everything()

    def die(tx: Tx) -> None:
        lock_session(tx, session_id)
        tx.connection.execute(text("UPDATE sessions SET title = 'half'"))
        _kill(url, _pid(tx))
        tx.connection.execute(text("SELECT 1"))

    with pytest.raises(Unavailable):
        await database.write(die)
    assert await bench.everything() == before
    database.close()


async def test_a_server_that_is_gone_is_unavailable_in_time() -> None:
    with postgres_server() as url:
        migrate(sqlalchemy_url(url))
        database = Database(sqlalchemy_url(url))
        await database.read(ping)
    async with asyncio.timeout(engine.WAIT_SECONDS + 5):
        for work in (database.read, database.write):
            with pytest.raises(Unavailable):
                await work(ping)
    database.close()


async def test_a_lock_that_is_not_to_be_had_is_unavailable(
    migrated_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request waits for so long, and not for ever."""
    monkeypatch.setattr(engine, "WAIT_SECONDS", 1)
    url = sqlalchemy_url(migrated_database_url)
    database = Database(url)
    session_id = await Bench(database).session()
    holder = create_engine(url)
    with holder.connect() as connection:
        connection.execute(text("UPDATE sessions SET title = 'held'"))
        with pytest.raises(Unavailable):
            await database.write(lock_session, session_id)
        connection.rollback()
    await database.write(lock_session, session_id)
    holder.dispose()
    database.close()


async def test_a_file_that_cannot_be_opened_is_unavailable(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'folder'}")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Unavailable):
        await database.read(ping)
    database.close()


async def test_a_fault_of_ours_is_not_taken_for_an_absence_and_quotes_nobody(
    migrated_database_url: str,
) -> None:
    """Trying it again would not help; and errors go to logs, where parameters are content."""
    database = Database(sqlalchemy_url(migrated_database_url))

    def break_it(tx: Tx) -> None:
        tx.connection.execute(text("SELECT nothing FROM nowhere WHERE x = :x"), {"x": "secret"})

    with pytest.raises(DBAPIError, match="nowhere") as raised:
        await database.write(break_it)
    assert "secret" not in str(raised.value)
    database.close()
