"""Guarantee 5, on the wire: what only a provider understands goes back to it, and nowhere else."""

import itertools

import pytest

from tests.providers.building import WEATHER, asking, assistant, result, say, user
from tests.providers.reasoning import CITY, REASONED, TEXT, Reasoned
from tests.support.canned_server import canned_server
from tests.support.model_servers import llmock_environment
from turnwright.domain.messages import Message, ModelResponse
from turnwright.providers import Providers

each = pytest.mark.parametrize("answer", REASONED, ids=lambda answer: answer.provider)


async def _ask(model: str, stream: bytes, *messages: Message) -> tuple[ModelResponse, str]:
    """The response to the conversation, and the request as it went over the wire."""
    with pytest.MonkeyPatch.context() as environment:
        async with canned_server(stream) as server:
            for name in llmock_environment(server.base_url):
                environment.setenv(name, server.base_url if "BASE_URL" in name else "test")
            models = Providers()
            try:
                response, _ = await say(models, asking(model, *messages, tools=(WEATHER,)))
            finally:
                await models.close()
            return response, server.bodies[-1]


def _continued(response: ModelResponse) -> tuple[Message, ...]:
    made = response.tool_calls[0]
    return (
        user("Weather?"),
        assistant(response.text, *response.tool_calls, opaque=response.opaque),
        result("sunny", made.id),
    )


@each
async def test_reasoning_is_no_text_and_comes_back_in_the_opaque_part(answer: Reasoned) -> None:
    response, _ = await _ask(answer.model, answer.stream, user("Weather?"))

    assert response.text == TEXT
    assert [(made.name, made.arguments) for made in response.tool_calls] == [("weather", CITY)]
    assert response.finish_reason == "tool_calls"
    assert response.opaque is not None
    assert response.opaque.provider == answer.provider
    assert response.opaque.writer == "pydantic-ai 2.68.0"
    assert answer.secret in response.opaque.model_dump_json()


@each
async def test_the_next_round_sends_it_back_to_the_same_provider(answer: Reasoned) -> None:
    response, _ = await _ask(answer.model, answer.stream, user("Weather?"))

    _, sent = await _ask(answer.model, answer.stream, *_continued(response))

    assert answer.secret in sent
    assert "sunny" in sent


@pytest.mark.parametrize(
    ("first", "second"),
    [pair for pair in itertools.product(REASONED, REASONED) if pair[0] != pair[1]],
    ids=lambda answer: answer.provider,
)
async def test_another_provider_is_sent_nothing_of_it(first: Reasoned, second: Reasoned) -> None:
    response, _ = await _ask(first.model, first.stream, user("Weather?"))

    _, sent = await _ask(second.model, second.stream, *_continued(response))

    assert first.secret not in sent
    assert first.thought not in sent
    assert "reasoning_content" not in sent
    assert TEXT in sent
    assert "sunny" in sent


@each
async def test_a_record_of_another_version_is_left_out(answer: Reasoned) -> None:
    response, _ = await _ask(answer.model, answer.stream, user("Weather?"))
    assert response.opaque is not None
    older = response.opaque.model_copy(update={"writer": "pydantic-ai 1.0.0"})
    aged = response.model_copy(update={"opaque": older})

    _, sent = await _ask(answer.model, answer.stream, *_continued(aged))

    assert answer.secret not in sent
    assert TEXT in sent
    assert "sunny" in sent


async def test_openai_keeps_nothing_and_returns_its_reasoning_encrypted() -> None:
    [openai, *_] = REASONED

    _, sent = await _ask(openai.model, openai.stream, user("Weather?"))

    assert '"store":false' in sent.replace(" ", "")
    assert "reasoning.encrypted_content" in sent


async def test_a_response_that_is_all_text_and_calls_has_no_opaque_part() -> None:
    chat = REASONED[1]
    plain = chat.stream.replace(b"reasoning_content", b"nothing")

    response, _ = await _ask(chat.model, plain, user("Weather?"))

    assert response.tool_calls
    assert response.opaque is None
