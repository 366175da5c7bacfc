"""The example agents, as their users meet them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.weather import data_of
from tests.support.app import App, running_app
from tests.support.servers import TemporalServer
from turnwright.loading import load_agents

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
async def app(
    temporal_server: TemporalServer,
    migrated_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[App]:
    """A server with the examples, started in the checkout."""
    monkeypatch.chdir(CHECKOUT)
    monkeypatch.setenv("SUPPORT_CASES", str(tmp_path / "cases.jsonl"))
    loaded = load_agents("examples/agents.py")
    agents = [agent for name in loaded.names() if (agent := loaded.get(name))]
    async with running_app(migrated_database_url, temporal_server, agents=agents) as running:
        yield running


async def test_both_can_be_addressed(app: App) -> None:
    listed = (await app.get("/v1/agents"))["data"]

    assert {agent["name"]: agent["can_ask_user"] for agent in listed} == {
        "support": True,
        "research": False,
    }


async def test_the_support_desk_looks_up_asks_and_does_what_was_chosen(app: App) -> None:
    session = await app.session("support")
    accepted = await app.say(session, "Where is my order A-1042?")
    waiting = await app.reached(accepted["run"]["id"], "run.waiting")
    assert waiting["waiting"]["question"]["choices"] == ["resend", "refund"]

    sent = await app.post(f"/v1/sessions/{session}/send", {"text": "resend"})

    assert sent.json()["routed"] == "input"
    run = await app.ended(waiting["id"])
    assert run["status"] == "completed"
    assert run["output"]["text"].startswith("Done: a resend it is.")
    called = [data["name"] for data in data_of(await app.events(session), "tool.called")]
    assert called == ["orders.lookup", "conversation.ask_user", "orders.resolve"]


async def test_the_research_assistant_reads_two_notes_at_once_and_answers(app: App) -> None:
    session = await app.session("research")

    run = await app.turn(session, "What do the notes say about shade?")

    assert run["status"] == "completed"
    assert "11 degrees cooler" in run["output"]["text"]
    events = await app.events(session)
    called = [data["name"] for data in data_of(events, "tool.called")]
    assert called == ["notes.search", "notes.read", "notes.read"]
    assert [data["outcome"] for data in data_of(events, "tool.returned")] == ["ok"] * 3
