"""Applications for the tests of the API."""

from collections.abc import AsyncIterator

import pytest

from tests.support.app import App, running_app
from tests.support.servers import TemporalServer


@pytest.fixture
async def app(temporal_server: TemporalServer, migrated_database_url: str) -> AsyncIterator[App]:
    """The whole application, on each database."""
    async with running_app(migrated_database_url, temporal_server) as running:
        yield running


@pytest.fixture
async def idle_app(
    temporal_server: TemporalServer, migrated_database_url: str
) -> AsyncIterator[App]:
    """The application without a worker, on each database."""
    async with running_app(migrated_database_url, temporal_server, worker=False) as running:
        yield running
