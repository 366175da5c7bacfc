"""What goes to the providers over the network, and what comes back."""

import asyncio
import json

import httpx
import pytest
from pydantic import JsonValue

from tests.providers.building import (
    WEATHER,
    WIRE_MODELS,
    asking,
    assistant,
    call,
    result,
    say,
    user,
)
from tests.providers.reasoning import REASONED, Reasoned
from tests.support.canned_server import canned_server, server_sent
from tests.support.model_servers import llmock_environment, script
from turnwright.domain.messages import ToolCall
from turnwright.providers import Providers

every_model = pytest.mark.parametrize("model", WIRE_MODELS)

TEXT = "one two three four five"


def _sent(mock: str) -> str:
    """The last request, as llmock received it."""
    return json.dumps(httpx.get(f"{mock}/_llmock/requests").json()["requests"][-1]["body"])


def _chunk(delta: JsonValue, finish_reason: str | None) -> dict[str, JsonValue]:
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }


def _called(call_id: str, arguments: str) -> dict[str, JsonValue]:
    function: JsonValue = {"name": "weather", "arguments": arguments}
    return {"index": 0, "id": call_id, "type": "function", "function": function}


@every_model
async def test_text_streams_in_pieces_that_join_to_the_answer(
    models: Providers, mock: str, model: str
) -> None:
    script(mock, {"type": "reply", "text": TEXT})

    response, pieces = await say(models, asking(model, user("count")))

    assert response.text == TEXT
    assert len(pieces) > 1
    assert "".join(pieces) == TEXT
    assert response.finish_reason == "stop"
    assert response.usage.input_tokens > 0
    assert response.usage.output_tokens > 0
    assert response.usage.cost_usd is not None
    assert response.opaque is None


@every_model
async def test_a_response_with_calls_says_so_and_keeps_their_order(
    models: Providers, mock: str, model: str
) -> None:
    calls = [{"name": "weather", "arguments": {"city": city}} for city in ("Oslo", "Rome")]
    script(mock, {"type": "reply", "text": "Looking.", "tool_calls": calls})

    response, _ = await say(models, asking(model, user("Weather?"), tools=(WEATHER,)))

    assert response.text == "Looking."
    assert [made.arguments for made in response.tool_calls] == [{"city": "Oslo"}, {"city": "Rome"}]
    assert len({made.id for made in response.tool_calls}) == 2
    assert response.finish_reason == "tool_calls"


@every_model
async def test_a_whole_conversation_reaches_the_provider(
    models: Providers, mock: str, model: str
) -> None:
    conversation = (
        user("earlier question", "run_0"),
        assistant("earlier answer", run_id="run_0"),
        user("the question"),
        assistant("looking", call("weather", "a", city="Oslo"), call("weather", "b", city="Rome")),
        result("rain", "a"),
        result("no such city", "b", outcome="error"),
        user("and be quick"),
    )

    await say(models, asking(model, *conversation, tools=(WEATHER,)))

    sent = _sent(mock)
    assert "Be brief." in sent
    for message in conversation:
        assert message.text in sent
    assert "Current weather in a city." in sent


@pytest.mark.parametrize("model", WIRE_MODELS[:3])
async def test_arguments_that_are_no_json_object_are_kept_and_can_be_sent_back(
    models: Providers, mock: str, model: str
) -> None:
    """Gemini is left out: its calls carry objects, never text."""
    script(mock, {"type": "tool_fault", "kind": "malformed_arguments"})
    request = asking(model, user("Weather?"), tools=(WEATHER,))

    response, _ = await say(models, request)
    [made] = response.tool_calls
    answered = asking(
        model,
        *request.messages,
        assistant("", made),
        result("not a JSON object", made.id, outcome="error"),
        tools=(WEATHER,),
    )
    after, _ = await say(models, answered)

    assert isinstance(made.arguments, str)
    assert after.text


@every_model
async def test_a_length_limit_is_the_finish_reason(
    models: Providers, mock: str, model: str
) -> None:
    script(mock, {"type": "reply", "text": TEXT, "finish_reason": "length"})

    response, _ = await say(models, asking(model, user("count")))

    assert response.finish_reason == "length"


async def test_a_finish_reason_nobody_knows_stays_the_providers_own_word(
    models: Providers, mock: str
) -> None:
    script(mock, {"type": "reply", "text": TEXT, "finish_reason": "moon_phase"})

    response, _ = await say(models, asking("openai-chat:gpt-4o", user("count")))

    assert response.finish_reason == "moon_phase"


@pytest.mark.parametrize("call_id", ["", "call_0"])
async def test_calls_get_ids_of_their_own_where_the_server_gives_none(
    models: Providers, monkeypatch: pytest.MonkeyPatch, call_id: str
) -> None:
    """No two calls of a conversation share one, though some servers count from 0 every time."""
    arguments = '{"city": "Oslo"}'
    stream = server_sent(
        [
            _chunk({"tool_calls": [_called(call_id, arguments)]}, None),
            _chunk({}, "tool_calls"),
        ]
    )
    before = ToolCall(id="call_0", name="weather", arguments={"city": "Rome"})
    async with canned_server(stream) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        response, _ = await say(
            models,
            asking("openai-chat:m", user("?"), assistant("", before), result("sun", "call_0")),
        )

    [made] = response.tool_calls
    assert made.id not in ("", "call_0")
    assert made.arguments == {"city": "Oslo"}


async def test_what_no_store_takes_is_replaced(
    models: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NUL and lone surrogates, in the stream as in the response, in text as in arguments."""
    stream = server_sent(
        [
            _chunk({"content": "a\0b"}, None),
            _chunk({"content": "c\ud83dd"}, None),
            _chunk({"tool_calls": [_called("x", '{"city": "\\u0000"}')]}, "tool_calls"),
        ]
    )
    async with canned_server(stream) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        response, pieces = await say(models, asking("openai-chat:m", user("?")))

    assert pieces == ["a\ufffdb", "c\ufffdd"]
    assert response.text == "a\ufffdbc\ufffdd"
    assert response.tool_calls[0].arguments == {"city": "\ufffd"}


@pytest.mark.parametrize("answer", REASONED, ids=lambda answer: answer.provider)
@pytest.mark.parametrize("steps", range(4))
async def test_cancelling_closes_the_providers_stream(
    models: Providers, monkeypatch: pytest.MonkeyPatch, answer: Reasoned, steps: int
) -> None:
    """At whichever step of the event loop: the provider stops producing what nobody will read."""
    begun = asyncio.Event()
    cut = answer.stream[: answer.stream.index(b"weather")]
    whole_frames = cut[: cut.rindex(b"\n\n") + 2] if b"\n\n" in cut else answer.stream
    async with canned_server(whole_frames, then_hang=True) as server:
        for name in llmock_environment(server.base_url):
            monkeypatch.setenv(name, server.base_url if "BASE_URL" in name else "test")
        asked = asyncio.create_task(
            models.respond(asking(answer.model, user("?")), lambda _: begun.set())
        )
        await begun.wait()
        for _ in range(steps):
            await asyncio.sleep(0)

        asked.cancel()

        with pytest.raises(asyncio.CancelledError):
            await asked
        await server.hung_up.wait()
