"""The database: transactions as plain functions, each run whole in one thread hop.

SQLite has one writer, so its writes share one thread; PostgreSQL gets a pool. Both measured
against the async engine: a quarter of the CPU (DESIGN.md, decision 12).
"""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from turnwright.domain.errors import Unavailable
from turnwright.domain.handoff import Handoff
from turnwright.live import Appended

P = ParamSpec("P")
T = TypeVar("T")

POSTGRES_CONNECTIONS = 10
SQLITE_READERS = 4
WAIT_SECONDS = 5
"""How long a request waits for a connection or a lock before it is told `UNAVAILABLE`."""

dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@dataclass
class Tx:
    """One transaction: its connection, its moment, and what comes of it once it is committed.

    `appended`: new events, by session; `handed`: what Temporal is to be told.
    """

    connection: Connection
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    appended: Appended = field(default_factory=dict)
    handed: list[Handoff] = field(default_factory=list)


class Database:
    """A database, and the threads that talk to it.

    `write` and `read` run a function of a `Tx` in one transaction; it commits when the function
    returns and leaves nothing behind when it raises. `on_commit` and `hand_on` are called on the
    event loop with what a committed transaction appended, and what Temporal is to be told.
    Raises `Unavailable` when the database cannot be reached in time.
    """

    def __init__(
        self,
        url: str,
        *,
        on_commit: Callable[[Appended], None] | None = None,
        hand_on: Callable[[list[Handoff]], None] | None = None,
    ) -> None:
        self.url = make_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.on_commit = on_commit
        self.hand_on = hand_on
        self.writer, self.reader = _sqlite(url) if self.sqlite else _postgresql(url)
        workers = 1 if self.sqlite else POSTGRES_CONNECTIONS
        self._writes = ThreadPoolExecutor(workers, thread_name_prefix="db-write")
        self._reads = (
            ThreadPoolExecutor(SQLITE_READERS, thread_name_prefix="db-read")
            if self.sqlite
            else self._writes
        )

    async def write(
        self, work: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work` in one writing transaction, then wake the readers of what it touched."""
        result, tx = await _hop(self._writes, self.writer, lambda tx: work(tx, *args, **kwargs))
        if tx.appended and self.on_commit is not None:
            self.on_commit(tx.appended)
        if tx.handed and self.hand_on is not None:
            self.hand_on(tx.handed)
        return result

    async def read(
        self, work: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work` in one reading transaction."""
        result, _ = await _hop(self._reads, self.reader, lambda tx: work(tx, *args, **kwargs))
        return result

    def close(self) -> None:
        """Let the running transactions end, then close every connection."""
        self._writes.shutdown(wait=True)
        self._reads.shutdown(wait=True)
        self.writer.dispose()
        self.reader.dispose()


async def _hop(pool: ThreadPoolExecutor, engine: Engine, work: Callable[[Tx], T]) -> tuple[T, Tx]:
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(pool, _transact, engine, work)


def _transact(engine: Engine, work: Callable[[Tx], T]) -> tuple[T, Tx]:
    try:
        with engine.begin() as connection:
            tx = Tx(connection)
            return work(tx), tx
    except (OperationalError, InterfaceError, PoolTimeout) as error:
        if _is_ours(error):
            raise
        raise Unavailable("The database cannot be reached; try again shortly.") from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise Unavailable("The database connection broke; try again shortly.") from error
        raise


def _is_ours(error: Exception) -> bool:
    """Whether SQLite says by this error that a statement is wrong: its class says no more."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    if not isinstance(cause, sqlite3.Error):
        return False
    return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR


def _sqlite(url: str) -> tuple[Engine, Engine]:
    database = make_url(url).database
    if database and database != ":memory:":
        Path(database).parent.mkdir(parents=True, exist_ok=True)
    return _sqlite_engine(url, "BEGIN IMMEDIATE"), _sqlite_engine(url, "BEGIN")


def _sqlite_engine(url: str, begin: str) -> Engine:
    engine = create_engine(
        url, json_serializer=dumps, pool_size=SQLITE_READERS, hide_parameters=True
    )

    @event.listens_for(engine, "connect")
    def connect(connection: sqlite3.Connection, _record: object) -> None:
        # The driver's own transaction handling begins late and deferred: FACTS.md, "Databases".
        connection.isolation_level = None
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            f"busy_timeout={WAIT_SECONDS * 1000}",
            "foreign_keys=ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _postgresql(url: str) -> tuple[Engine, Engine]:
    engine = create_engine(
        make_url(url).set(drivername="postgresql+psycopg"),
        json_serializer=dumps,
        # An error's text goes to logs, and parameters are what people said.
        hide_parameters=True,
        pool_size=POSTGRES_CONNECTIONS,
        max_overflow=0,
        pool_timeout=WAIT_SECONDS,
        # Without it every backend that was killed costs a failed request.
        pool_pre_ping=True,
        connect_args={
            "connect_timeout": WAIT_SECONDS,
            "options": f"-c lock_timeout={WAIT_SECONDS}s -c idle_in_transaction_session_timeout=30s",
        },
    )
    return engine, engine
