"""Model servers, one of each per pytest process, and the environment that points at them."""

from collections.abc import Iterator

import pytest

from tests.support.databases import SqliteDatabases
from tests.support.model_servers import (
    llmock_environment,
    llmock_server,
    script,
    small_model_server,
)


@pytest.fixture(scope="session")
def small_model() -> Iterator[str]:
    """The address of the real small model."""
    with small_model_server() as base_url:
        yield base_url


@pytest.fixture(scope="session")
def running_llmock() -> Iterator[str]:
    with llmock_server() as base_url:
        yield base_url


@pytest.fixture
def llmock(running_llmock: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of llmock, without a past; all four providers are pointed at it."""
    point_at(running_llmock, monkeypatch)
    script(running_llmock)
    return running_llmock


def point_at(base_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the providers of this test find their servers there."""
    for name, value in llmock_environment(base_url).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def sqlite_url(sqlite_databases: SqliteDatabases) -> Iterator[str]:
    """A database with its schema, for tests of what no database makes a difference to."""
    with sqlite_databases.migrated() as url:
        yield url
