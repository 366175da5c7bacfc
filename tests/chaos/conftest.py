"""Deployments for the chaos tests."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.chaos.processes import Deployment
from tests.support.oracle import check_oracle
from tests.support.servers import TemporalServer


@pytest.fixture
async def deployment(
    temporal_server: TemporalServer, migrated_database_url: str, tmp_path: Path
) -> AsyncIterator[Deployment]:
    """A deployment without processes yet; afterwards, the oracle finds nothing wrong."""
    made = Deployment(
        database_url=migrated_database_url,
        temporal_address=temporal_server.address,
        task_queue=f"chaos-{uuid4().hex[:8]}",
        folder=tmp_path,
    )
    yield made
    await made.stop()
    check_oracle(migrated_database_url)
