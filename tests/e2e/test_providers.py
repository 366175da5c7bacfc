"""Turns over HTTP against llmock, which speaks every provider's format and grades its clients."""

import httpx
import pytest

from tests.e2e.weather import TURN_WITH_A_CALL, data_of, reporter, types_of
from tests.providers.building import WIRE_MODELS
from tests.support.app import Json, running_app
from tests.support.model_servers import script
from tests.support.servers import TemporalServer

every_model = pytest.mark.parametrize("model", WIRE_MODELS)

CALL = {
    "type": "reply",
    "text": "",
    "tool_calls": [{"name": "weather", "arguments": {"city": "Rome"}}],
}
ANSWER: Json = {"type": "reply", "text": "The sun is out in Rome."}


def _verdict(llmock: str) -> Json:
    verdict: Json = httpx.get(f"{llmock}/_llmock/verdict").raise_for_status().json()
    return verdict


@every_model
async def test_a_turn_with_a_tool_call_and_a_final_answer(
    model: str, llmock: str, temporal_server: TemporalServer, migrated_database_url: str
) -> None:
    script(llmock, CALL, ANSWER)
    agent = reporter(model)
    async with running_app(migrated_database_url, temporal_server, agents=[agent]) as app:
        session = await app.session("reporter")
        run = await app.turn(session, "How is Rome?")
        events = await app.events(session)

    assert (run["status"], run["output"]["text"]) == ("completed", ANSWER["text"])
    assert types_of(events, run["id"]) == TURN_WITH_A_CALL
    [called], [returned] = data_of(events, "tool.called"), data_of(events, "tool.returned")
    assert (called["name"], called["arguments"]) == ("weather", {"city": "Rome"})
    assert (returned["outcome"], returned["content"]) == ("ok", "It is sunny in Rome.")
    assert (run["usage"]["rounds"], run["usage"]["tool_calls"]) == (2, 1)
    assert run["usage"]["input_tokens"] > 0
    assert run["usage"]["output_tokens"] > 0
    verdict = _verdict(llmock)
    assert (verdict["calls"], verdict["attempts"], verdict["findings"]) == (2, 2, [])


@every_model
async def test_faults_are_outlived_as_each_of_them_asks(
    model: str, llmock: str, temporal_server: TemporalServer, sqlite_url: str
) -> None:
    """A rate limit is waited out, a stream that was cut short is asked for again; each once."""
    script(
        llmock,
        {"type": "fail", "status": 429, "retry_after": 1},
        {"type": "reply", "text": "one two three four five six"},
        {"type": "stream_fault", "kind": "truncate", "after_chunks": 1},
        CALL,
        ANSWER,
    )
    agent = reporter(model)
    async with running_app(sqlite_url, temporal_server, agents=[agent]) as app:
        session = await app.session("reporter")
        run = await app.turn(session, "How is Rome?")
        events = await app.events(session)

    assert (run["status"], run["output"]["text"]) == ("completed", ANSWER["text"])
    # Each attempt is logged, and counts.
    assert types_of(events, run["id"]) == [
        *TURN_WITH_A_CALL[:3],
        "round.started",
        "round.started",
        *TURN_WITH_A_CALL[3:],
    ]
    assert run["usage"]["rounds"] == 4
    verdict = _verdict(llmock)
    assert (verdict["calls"], verdict["attempts"], verdict["faults_injected"]) == (2, 4, 2)
    assert verdict["findings"] == []


async def test_a_provider_that_will_never_answer_fails_the_run_at_once(
    llmock: str, temporal_server: TemporalServer, sqlite_url: str
) -> None:
    script(llmock, {"type": "fail", "status": 401})
    agent = reporter(WIRE_MODELS[0])
    async with running_app(sqlite_url, temporal_server, agents=[agent]) as app:
        run = await app.turn(await app.session("reporter"), "How is Rome?")

    assert (run["status"], run["failure"]["reason"]) == ("failed", "model_error")
    assert run["failure"]["retryable"] is False
    assert _verdict(llmock)["findings"] == []
