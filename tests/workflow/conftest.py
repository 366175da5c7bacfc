"""Runs on the real store and a real Temporal, without the API in between."""

from collections.abc import AsyncIterator

import pytest

from tests.support.servers import NO_COMMANDS, TemporalServer, dev_server
from tests.workflow.driving import Theatre, theatre


@pytest.fixture
async def stage(
    migrated_database_url: str, temporal_server: TemporalServer
) -> AsyncIterator[Theatre]:
    """A store and a task queue of its own, with no worker yet."""
    async with theatre(migrated_database_url, temporal_server.client) as ready:
        yield ready


@pytest.fixture(scope="session")
async def plain_temporal_server() -> AsyncIterator[TemporalServer]:
    """A Temporal development server that sends workers no commands."""
    async with dev_server(NO_COMMANDS) as server:
        yield server
