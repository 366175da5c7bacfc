"""Turns with a real model behind a real OpenAI-compatible server.

The small model talks nonsense, so only structure counts. Left alone it calls tools for ever, or
never: the gateway before it adds the field `tool_choice`, which our requests do not have. The
call, its pieces, its arguments and the final words are the model's and llama.cpp's own.
"""

import json

import pytest

from tests.e2e.gateway import Body, gateway
from tests.e2e.weather import TURN_WITH_A_CALL, data_of, reporter, types_of
from tests.support.app import Json, running_app, script
from tests.support.model_servers import SMALL_MODEL
from tests.support.servers import TemporalServer
from turnwright import Agent

MODEL = f"openai-chat:{SMALL_MODEL}"


def _steered(body: Body) -> Body:
    """The request, with one call asked for, and then an answer; always the likeliest words."""
    messages = body["messages"]
    assert isinstance(messages, list)
    answered = any(isinstance(m, dict) and m["role"] == "tool" for m in messages)
    choice = "none" if answered else "required"
    return {**body, "tool_choice": choice, "temperature": 0, "max_tokens": 256}


async def test_a_turn_with_a_tool_call_and_a_final_answer(
    small_model: str,
    monkeypatch: pytest.MonkeyPatch,
    temporal_server: TemporalServer,
    migrated_database_url: str,
) -> None:
    """The call comes in llama.cpp's own pieces; its arguments are what the grammar allows."""
    agent = reporter(MODEL)
    async with gateway(small_model, amend=_steered) as door:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{door.url}/v1")
        async with running_app(migrated_database_url, temporal_server, agents=[agent]) as app:
            session = await app.session("reporter")
            accepted = await app.say(session, "How is the weather in Rome?")
            text = ""
            async with app.stream(f"/v1/runs/{accepted['run']['id']}/stream") as frames:
                async for frame in frames:
                    if frame.event == "message.delta":
                        assert frame.data["offset"] == len(text)
                        text += frame.data["text"]
            run = await app.run(accepted["run"]["id"])
            events = await app.events(session)

    assert run["status"] == "completed"
    assert types_of(events, run["id"]) == TURN_WITH_A_CALL
    [called], [returned] = data_of(events, "tool.called"), data_of(events, "tool.returned")
    assert called["name"] == "weather"
    assert returned["tool_call_id"] == called["tool_call_id"]
    assert returned["outcome"] == "ok"
    assert run["output"]["text"]
    assert run["output"]["text"].startswith(text)
    assert len(door.bodies) == 2
    assert returned["content"] in door.bodies[-1]
    assert run["usage"]["input_tokens"] > 0


async def test_it_goes_on_from_a_turn_that_another_model_began(
    small_model: str,
    monkeypatch: pytest.MonkeyPatch,
    temporal_server: TemporalServer,
    sqlite_url: str,
) -> None:
    """A call and its result of another agent's are in the conversation that it gets."""
    looked_up: Json = {"calls": [{"name": "weather", "arguments": {"city": "Rome"}}]}
    agents = [
        reporter("scripted:script"),
        Agent(name="talker", instructions="Be brief.", model=MODEL),
    ]
    async with gateway(small_model) as door:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{door.url}/v1")
        async with running_app(sqlite_url, temporal_server, agents=agents) as app:
            session = await app.session("reporter")
            await app.turn(session, script(looked_up, {"text": "Sunny."}))
            run = await app.turn(session, "Say it again.", agent="talker")

    assert (run["actor"], run["model"], run["status"]) == ("talker", MODEL, "completed")
    assert run["output"]["text"]
    [sent] = door.bodies
    roles = [message["role"] for message in json.loads(sent)["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
