"""Deployments: a database with its schema, a Temporal, and nothing that runs yet."""

from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest

from tests.cli.programs import AGENTS
from tests.support.app import App, running_app
from tests.support.databases import SqliteDatabases
from tests.support.oracle import check_oracle
from tests.support.servers import TemporalServer


@pytest.fixture
def deployment(
    temporal_server: TemporalServer, migrated_database_url: str
) -> Iterator[dict[str, str]]:
    """The settings that its processes share, on each database; then the oracle is asked."""
    yield {
        "database_url": migrated_database_url,
        "temporal_address": temporal_server.address,
        "task_queue": f"cli-{uuid4().hex[:8]}",
        "agents": AGENTS,
        "api_port": "0",
    }
    check_oracle(migrated_database_url)


@pytest.fixture
def empty_deployment(temporal_server: TemporalServer, database_url: str) -> dict[str, str]:
    """The same on a database with nothing in it."""
    return {
        "database_url": database_url,
        "temporal_address": temporal_server.address,
        "agents": AGENTS,
        "api_port": "0",
    }


@pytest.fixture
def sqlite_deployment(
    temporal_server: TemporalServer, sqlite_databases: SqliteDatabases
) -> Iterator[dict[str, str]]:
    """The same as `deployment`, for what no database makes a difference to."""
    with sqlite_databases.migrated() as url:
        yield {
            "database_url": url,
            "temporal_address": temporal_server.address,
            "task_queue": f"cli-{uuid4().hex[:8]}",
            "agents": AGENTS,
            "api_port": "0",
        }
        check_oracle(url)


@pytest.fixture
async def app(
    temporal_server: TemporalServer, sqlite_databases: SqliteDatabases
) -> AsyncIterator[App]:
    """An application whose API the operator's commands call."""
    with sqlite_databases.migrated() as url:
        async with running_app(url, temporal_server) as running:
            yield running
