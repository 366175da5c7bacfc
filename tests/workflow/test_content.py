"""Guarantee 11: Temporal holds ids, names, counts and decisions, and never what anybody said."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import WorkflowHistory

from tests.support.app import App, ask, running_app, script
from tests.support.servers import TemporalServer
from turnwright import Agent, ToolError, tool
from turnwright.domain.errors import ModelUnavailable

SECRET = "xyzzy-plugh"
"""What is said everywhere, and may be found nowhere."""


@tool
def tell(secret: str) -> str:
    """Give back what was said."""
    return f"you said {secret}"


@tool
def explode(secret: str) -> str:
    """Fail, and quote what was said."""
    raise RuntimeError(f"cannot do {secret}")


@tool
def give_up(secret: str) -> str:
    """Fail the run, and quote what was said."""
    raise ToolError(f"never do {secret}", fatal=True)


AGENT = Agent(
    name="scripted",
    instructions=f"Guard {SECRET}.",
    model="scripted:script",
    tools=[tell, explode, give_up],
    can_ask_user=True,
)


@pytest.fixture
async def app(migrated_database_url: str, temporal_server: TemporalServer) -> AsyncIterator[App]:
    """An application whose agent guards the secret."""
    async with running_app(migrated_database_url, temporal_server, agents=[AGENT]) as running:
        yield running


async def history_of(app: App, session_id: str) -> WorkflowHistory:
    """The history of the session's latest execution, once it is closed."""
    handle = app.process.client.get_workflow_handle(f"session/{session_id}")
    async for _ in handle.fetch_history_events(wait_new_event=True):
        pass
    return await handle.fetch_history()


def bytes_of(history: WorkflowHistory) -> bytes:
    """All that an operator's database holds of an execution."""
    return b"".join(event.SerializeToString() for event in history.events)


def calls(name: str) -> dict[str, object]:
    """A round that calls the tool with the secret."""
    return {"text": SECRET, "calls": [{"name": name, "arguments": {"secret": SECRET}}]}


async def test_nothing_that_was_said_is_in_a_history(app: App) -> None:
    """User text, tool arguments, results, errors, questions, answers, the model's own words."""
    session_id = await app.session(title=SECRET, metadata={"secret": SECRET})
    rounds = [calls("tell"), calls("explode"), ask(f"{SECRET}?"), {"text": f"It is {SECRET}."}]
    run = await app.asked(session_id, *rounds)
    await app.post(f"/v1/runs/{run['id']}/input", {"text": SECRET})
    ended = await app.ended(run["id"])
    assert SECRET in ended["output"]["text"]
    history = await history_of(app, session_id)
    assert SECRET.encode() not in bytes_of(history)
    assert run["id"].encode() in bytes_of(history)


@pytest.mark.parametrize("kind", ["rejected", "refused", "overflow"])
async def test_a_provider_s_words_stay_out_of_a_failed_history(app: App, kind: str) -> None:
    """The run's failure quotes them for people; Temporal is told a class of error."""
    session_id = await app.session()
    run = await app.turn(session_id, script({"text": SECRET, "error": {"kind": kind}}))
    assert run["status"] == "failed"
    assert SECRET.encode() not in bytes_of(await history_of(app, session_id))


async def test_a_fatal_tool_error_stays_out_of_a_failed_history(app: App) -> None:
    """Its words are the call's result; the execution says `tool_failed`."""
    session_id = await app.session()
    run = await app.turn(session_id, script(calls("give_up")))
    assert run["failure"]["reason"] == "tool_failed"
    history = bytes_of(await history_of(app, session_id))
    assert b"tool_failed" in history
    assert SECRET.encode() not in history


class _Faulty:
    """Providers that fail in ways a real one is not meant to: with words in an exception."""

    def check(self, model: str) -> None:
        """Any will do."""

    async def respond(self, *_: object) -> None:
        raise ValueError(f"a bug that quotes {SECRET}") from ModelUnavailable(SECRET, label="x")


async def test_a_fault_of_ours_stays_out_of_a_history(
    migrated_database_url: str, temporal_server: TemporalServer
) -> None:
    """An exception with content in it, and in its cause, is reworded on its way to Temporal."""
    faulty = _Faulty()
    async with running_app(
        migrated_database_url,
        temporal_server,
        agents=[AGENT],
        models=faulty,  # type: ignore[arg-type]
    ) as app:
        session_id = await app.session()
        run = await app.turn(session_id, "Hello")
        assert run["failure"]["reason"] == "internal_error"
        assert SECRET not in run["failure"]["message"]
        history = bytes_of(await history_of(app, session_id))
        assert b"ValueError" in history
        assert SECRET.encode() not in history


async def test_bytes_of_history_per_round_are_flat(app: App) -> None:
    """A long conversation costs Temporal no more a round than a short one."""

    async def per_round(rounds: int) -> float:
        session_id = await app.session()
        await app.turn(session_id, script(*[calls("tell")] * (rounds - 1), {"text": "done"}))
        return len(bytes_of(await history_of(app, session_id))) / rounds

    assert await per_round(40) < 1.2 * await per_round(5)
