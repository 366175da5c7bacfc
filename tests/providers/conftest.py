"""The servers that stand for the providers, and a `Providers` per test."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.model_servers import llmock_environment, llmock_server, script
from turnwright.providers import Providers


@pytest.fixture
async def models() -> AsyncIterator[Providers]:
    """Clients read their environment when first used, so tests set it before they ask."""
    providers = Providers()
    yield providers
    await providers.close()


@pytest.fixture(scope="session")
def running_llmock() -> Iterator[str]:
    with llmock_server() as base_url:
        yield base_url


@pytest.fixture
def mock(running_llmock: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of llmock, without a past; all four providers are pointed at it."""
    for name, value in llmock_environment(running_llmock).items():
        monkeypatch.setenv(name, value)
    script(running_llmock)
    return running_llmock
