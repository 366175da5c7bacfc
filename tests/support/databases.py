"""Databases for tests: a new empty one each time, or one with its schema and no rows."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg.sql import SQL, Identifier

CreateSchema = Callable[[str], None]
"""Brings the empty database at a URL to the current schema."""

MIGRATIONS_TABLE = "alembic_version"


class Databases(ABC):
    """Where one kind of database comes from. URLs are as a user would write them."""

    def __init__(self, create_schema: CreateSchema) -> None:
        self._create_schema = create_schema

    @abstractmethod
    @contextmanager
    def empty(self) -> Iterator[str]:
        """The URL of a new database with nothing in it; it is gone afterwards."""

    @abstractmethod
    @contextmanager
    def migrated(self) -> Iterator[str]:
        """The URL of a database with the current schema and no rows.

        The schema is created once. On PostgreSQL the database itself is shared between tests
        and emptied after each, so one process has one of these at a time.
        """


class SqliteDatabases(Databases):
    """Files in a folder."""

    def __init__(self, create_schema: CreateSchema, folder: Path) -> None:
        super().__init__(create_schema)
        self._folder = folder

    @contextmanager
    def empty(self) -> Iterator[str]:
        path = self._folder / f"{uuid4().hex}.db"
        yield f"sqlite:///{path}"
        for file in self._folder.glob(f"{path.name}*"):  # -wal and -shm too
            file.unlink()

    @contextmanager
    def migrated(self) -> Iterator[str]:
        with self.empty() as url:
            for file in self._template.parent.glob(f"{self._template.name}*"):
                suffix = file.name.removeprefix(self._template.name)
                shutil.copyfile(file, url.removeprefix("sqlite:///") + suffix)
            yield url

    @cached_property
    def _template(self) -> Path:
        path = self._folder / "template"
        self._create_schema(f"sqlite:///{path}")
        return path


class PostgresDatabases(Databases):
    """Databases of one server."""

    def __init__(self, create_schema: CreateSchema, server: str) -> None:
        super().__init__(create_schema)
        self._server = server

    @contextmanager
    def empty(self) -> Iterator[str]:
        name = f"test_{uuid4().hex}"
        self._on_server(SQL("CREATE DATABASE {}").format(Identifier(name)))
        yield self._url(name)
        self._on_server(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))

    @contextmanager
    def migrated(self) -> Iterator[str]:
        yield self._shared
        with psycopg.connect(self._shared, autocommit=True) as connection:
            _end_other_connections(connection)
            _truncate(connection)

    @cached_property
    def _shared(self) -> str:
        name = f"shared_{uuid4().hex}"
        self._on_server(SQL("CREATE DATABASE {}").format(Identifier(name)))
        self._create_schema(self._url(name))
        return self._url(name)

    def close(self) -> None:
        """Drop the shared database: the server may be somebody's own."""
        if "_shared" in self.__dict__:
            name = psycopg.conninfo.conninfo_to_dict(self._shared)["dbname"]
            self._on_server(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(str(name))))

    def _on_server(self, statement: psycopg.sql.Composed) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(statement)

    def _url(self, name: str) -> str:
        base, _, query = self._server.partition("?")
        scheme, _, rest = base.partition("://")
        authority, _, _ = rest.partition("/")
        return f"{scheme}://{authority}/{name}" + (f"?{query}" if query else "")


def _end_other_connections(connection: psycopg.Connection) -> None:
    """What a test left open may hold locks that TRUNCATE would wait for."""
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


def _truncate(connection: psycopg.Connection) -> None:
    tables = connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> %s",
        (MIGRATIONS_TABLE,),
    ).fetchall()
    if tables:
        names = SQL(", ").join(Identifier(name) for (name,) in tables)
        connection.execute(SQL("TRUNCATE {} RESTART IDENTITY CASCADE").format(names))
