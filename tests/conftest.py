"""Real servers and databases, started once per pytest process."""

import os
from collections.abc import AsyncIterator, Iterator
from typing import cast

import pytest
from temporalio.testing import WorkflowEnvironment

from tests.support.databases import (
    CreateSchema,
    Databases,
    PostgresDatabases,
    SqliteDatabases,
)
from tests.support.postgres import postgres_server
from tests.support.servers import TemporalServer, dev_server, time_skipping_environment
from turnwright.settings import sqlalchemy_url
from turnwright.store.migrate import migrate


@pytest.fixture(scope="session")
async def temporal_server() -> AsyncIterator[TemporalServer]:
    """A Temporal development server. Tests take a task queue of their own on it."""
    async with dev_server() as server:
        yield server


@pytest.fixture(scope="session")
async def time_skipping(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[WorkflowEnvironment]:
    """A Temporal server without visibility, on which weeks pass in milliseconds."""
    async with time_skipping_environment(tmp_path_factory.mktemp("time-skipping")) as environment:
        yield environment


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server on which databases may be created: `TEST_DATABASE_URL`, or our own."""
    if given := os.environ.get("TEST_DATABASE_URL"):
        yield given
    else:
        with postgres_server() as url:
            yield url


@pytest.fixture(scope="session")
def create_schema() -> CreateSchema:
    """What `migrated_database_url` creates its schema with."""

    def create(url: str) -> None:
        migrate(sqlalchemy_url(url))

    return create


@pytest.fixture(scope="session")
def sqlite_databases(
    create_schema: CreateSchema, tmp_path_factory: pytest.TempPathFactory
) -> SqliteDatabases:
    """SQLite databases, as many as wanted."""
    return SqliteDatabases(create_schema, tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="session")
def postgres_databases(create_schema: CreateSchema, postgres_url: str) -> Iterator[Databases]:
    """PostgreSQL databases, as many as wanted."""
    databases = PostgresDatabases(create_schema, postgres_url)
    yield databases
    databases.close()


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest) -> Databases:
    """Every kind of database that we support, one after the other."""
    name = {"sqlite": "sqlite_databases", "postgresql": "postgres_databases"}[request.param]
    return cast("Databases", request.getfixturevalue(name))


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """A new database of each kind, with nothing in it."""
    with databases.empty() as url:
        yield url


@pytest.fixture
def migrated_database_url(databases: Databases) -> Iterator[str]:
    """A database of each kind, with the current schema and no rows."""
    with databases.migrated() as url:
        yield url
