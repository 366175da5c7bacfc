"""A real model behind a real OpenAI-compatible server. It talks nonsense: only structure counts."""

from collections.abc import Iterator

import pytest

from tests.providers.building import asking, assistant, ignore, say, user
from tests.support.model_servers import SMALL_MODEL, small_model_server
from turnwright.domain.errors import ContextOverflow
from turnwright.providers import Providers

MODEL = f"openai-chat:{SMALL_MODEL}"


@pytest.fixture(scope="module")
def running_model() -> Iterator[str]:
    with small_model_server() as base_url:
        yield base_url


@pytest.fixture(autouse=True)
def _pointed_at_it(running_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{running_model}/v1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


async def test_it_streams_an_answer_without_a_key(models: Providers) -> None:
    response, pieces = await say(models, asking(MODEL, user("Say hello.")))

    assert response.text
    assert "".join(pieces) == response.text
    assert len(pieces) > 1
    assert response.finish_reason in ("stop", "length")
    assert response.usage.input_tokens > 0
    assert response.usage.output_tokens > 0
    assert response.usage.cost_usd is None


async def test_it_takes_a_longer_conversation(models: Providers) -> None:
    conversation = (user("Say hello."), assistant("Hello!"), user("Now say goodbye."))

    response, _ = await say(models, asking(MODEL, *conversation))

    assert response.text


async def test_a_conversation_beyond_its_window_is_an_overflow(models: Providers) -> None:
    """llama.cpp reports it in words of its own."""
    with pytest.raises(ContextOverflow):
        await models.respond(asking(MODEL, user("hello " * 3000)), ignore)
