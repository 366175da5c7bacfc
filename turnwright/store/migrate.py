"""Bringing a database to the schema of this version, and refusing to work on any other.

The migrations are Alembic's, in the folder `migrations/` beside this package, and have a
connection of their own: theirs is the only transaction that changes tables.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    NullPool,
    create_engine,
    event,
    inspect,
    make_url,
    text,
)
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import ConnectionPoolEntry

MIGRATIONS: Final = Path(__file__).parents[2] / "migrations"
LOCK: Final = 0x7475726E_77726974
"""PostgreSQL's advisory lock that one migrating process holds: "turnwrit" in ASCII."""
WAIT_SECONDS: Final = 60
"""How long a process on SQLite lets another one migrate first; PostgreSQL's lock just waits."""
CONNECT_SECONDS: Final = 10


class MigrationError(Exception):
    """The database is not at this version's schema. The message says, in one line, what to do."""


def migrate(url: str) -> str:
    """Bring the database to this version's schema, all of it or nothing. Returns the revision.

    Of several processes at once one does it, and the others find it done. Raises
    `MigrationError` for a database of a newer version or of somebody else, and for one that
    cannot be reached.
    """
    database = make_url(url)
    if (path := _file(database)) is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    with _transaction(database, "BEGIN IMMEDIATE") as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        found = _revision(connection)
        if found is None and inspect(connection).has_table("sessions"):
            raise MigrationError(
                "the database holds tables that `turnwright migrate` did not make:"
                " give Turnwright a database of its own"
            )
        if found is not None:
            _require_known(found)
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    return head()


def current(url: str) -> str | None:
    """The revision that the database is at; None before its first migration.

    Raises `MigrationError` when it cannot be reached.
    """
    database = make_url(url)
    path = _file(database)
    if path is not None and not path.exists():
        return None
    with _transaction(database, "BEGIN") as connection:
        return _revision(connection)


def check(url: str) -> None:
    """Raise `MigrationError` unless the database is at this version's schema."""
    found = current(url)
    if found == head():
        return
    if found is None:
        raise MigrationError("the database has no schema yet: run `turnwright migrate`")
    _require_known(found)
    raise MigrationError(
        f"the database is at revision {found} and this version needs {head()}:"
        " run `turnwright migrate`"
    )


def head() -> str:
    """The revision of this version's schema."""
    revision = ScriptDirectory.from_config(_config()).get_current_head()
    if revision is None:
        raise MigrationError(f"there are no migrations in {MIGRATIONS}")
    return revision


def _require_known(revision: str) -> None:
    known = {s.revision for s in ScriptDirectory.from_config(_config()).walk_revisions()}
    if revision not in known:
        raise MigrationError(
            f"the database is at revision {revision}, which is newer than this version of"
            f" Turnwright (it knows {head()}): upgrade Turnwright"
        )


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _file(database: URL) -> Path | None:
    if database.get_backend_name() != "sqlite" or not database.database:
        return None
    return Path(database.database)


@contextmanager
def _transaction(database: URL, begin: str) -> Iterator[Connection]:
    """One transaction on a connection of its own; `begin` is how SQLite is told to start it."""
    sqlite = database.get_backend_name() == "sqlite"
    engine = create_engine(
        database if sqlite else database.set(drivername="postgresql+psycopg"),
        poolclass=NullPool,
        connect_args={"timeout": WAIT_SECONDS} if sqlite else {"connect_timeout": CONNECT_SECONDS},
    )
    if sqlite:
        _begin_with(engine, begin)
    try:
        with engine.begin() as connection:
            yield connection
    except DatabaseError as error:
        reason = " ".join(str(error.orig).split())
        raise MigrationError(f"the database cannot be used: {reason}") from error
    finally:
        engine.dispose()


def _begin_with(engine: Engine, statement: str) -> None:
    @event.listens_for(engine, "connect")
    def connect(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
        # The driver's own transactions leave CREATE TABLE out of them.
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(statement)
