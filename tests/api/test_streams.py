"""Streams: persisted frames complete and once, live text in between (BEHAVIOURS.md, 31 to 33)."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator

import pytest

from tests.support.app import PATIENCE, App, ask, running_app, script
from tests.support.dictated import DictatedModel
from tests.support.servers import TemporalServer
from tests.support.sse import SseFrame
from turnwright import Agent, ToolContext, tool


@pytest.fixture
async def dictated(
    temporal_server: TemporalServer, migrated_database_url: str
) -> AsyncIterator[tuple[App, DictatedModel]]:
    """An application whose model says what the test dictates."""
    model = DictatedModel()
    async with running_app(migrated_database_url, temporal_server, models=model) as app:
        yield app, model


async def until(frames: AsyncIterator[SseFrame], event: str) -> list[SseFrame]:
    """The frames up to the first of this event, which is the last of them."""
    seen: list[SseFrame] = []
    async with asyncio.timeout(PATIENCE):
        async for frame in frames:
            seen.append(frame)
            if frame.event == event:
                return seen
    raise AssertionError(f"the stream ended without {event}")


def text_shown(frames: list[SseFrame]) -> str:
    """What a reader has on its screen after these deltas."""
    shown = ""
    for frame in frames:
        if frame.event == "message.delta":
            if frame.data["offset"] == 0:
                shown = ""
            assert frame.data["offset"] == len(shown)
            shown += frame.data["text"]
    return shown


async def test_connections_cut_at_random_points_lose_and_double_nothing(app: App) -> None:
    session = await app.session()
    rounds = [{"text": f"Text of round {n}.", **ask(f"Question {n}?")} for n in range(4)]
    accepted = await app.say(session, script(*rounds, {"text": "Done."}))
    run_id, path = accepted["run"]["id"], f"/v1/sessions/{session}/stream"
    chance = random.Random(7)  # noqa: S311

    async def answering() -> None:
        async with app.stream(f"/v1/runs/{run_id}/stream") as frames:
            async for frame in frames:
                if frame.event == "run.waiting":
                    await app.post(f"/v1/runs/{run_id}/input", {"text": "go on"})

    answers = asyncio.create_task(answering())
    had: list[SseFrame] = []
    while not had or had[-1].event != "run.completed":
        last = had[-1].id if had else None
        async with app.stream(path, last=last) as frames:
            for _ in range(chance.randint(1, 5)):
                frame = await anext(frames)
                if frame.id is not None:
                    had.append(frame)
                else:
                    assert frame.event == "message.delta"
                if frame.event == "run.completed":
                    break
    await answers
    log = await app.events(session)
    assert [frame.id for frame in had] == [event["sequence"] for event in log]
    assert [frame.data for frame in had] == log
    assert [frame.event for frame in had] == [event["type"] for event in log]


async def test_a_stream_stays_open_while_the_run_waits_and_ends_with_it(app: App) -> None:
    session = await app.session()
    run = await app.asked(session, ask("Which?"), {"text": "Done."})
    path = f"/v1/runs/{run['id']}/stream"

    async with app.stream(path) as frames:
        await until(frames, "run.waiting")
        await app.post(f"/v1/runs/{run['id']}/input", {"text": "x"})
        assert (await anext(frames)).event == "message.user"
        assert (await until(frames, "run.completed"))[-1].event == "run.completed"
        with pytest.raises(StopAsyncIteration):
            await anext(frames)


async def test_a_runs_stream_ends_for_whoever_joins_later(app: App) -> None:
    session = await app.session()
    run = await app.turn(session, script({"text": "Hi."}))
    await app.turn(session, script({"text": "Another."}))
    path = f"/v1/runs/{run['id']}/stream"

    async with app.stream(path) as frames:
        seen = [frame async for frame in frames]
    assert [frame.data["run_id"] for frame in seen] == [run["id"]] * len(seen)
    assert seen[-1].event == "run.completed"
    for last in (run["last_sequence"], run["last_sequence"] + 3, 10_000):
        async with app.stream(path, last=last) as frames:
            assert [frame async for frame in frames] == []


async def test_the_last_event_id_wins_over_after(app: App) -> None:
    run = await app.turn(await app.session(), script({"text": "Hi."}))
    path = f"/v1/runs/{run['id']}/stream"

    async with app.stream(path, after=5) as frames:
        assert (await anext(frames)).id == 6
    async with app.stream(path, last=3, after=5) as frames:
        assert (await anext(frames)).id == 4


async def test_live_text_comes_between_its_rounds_start_and_end_without_an_id(
    dictated: tuple[App, DictatedModel],
) -> None:
    app, model = dictated
    session = await app.session()
    run = (await app.say(session, "hello"))["run"]["id"]

    async with app.stream(f"/v1/runs/{run}/stream") as frames:
        started = (await until(frames, "round.started"))[-1].data
        offsets: list[int] = []
        for text in ("Grüße ", "😀 ", "you."):
            model.say(text)
            delta = await anext(frames)
            assert (delta.event, delta.id) == ("message.delta", None)
            assert delta.data["text"] == text
            assert set(delta.data) == {"run_id", "round", "message_id", "offset", "text"}
            assert delta.data["message_id"] == started["data"]["message_id"]
            offsets.append(delta.data["offset"])
        assert offsets == [0, len("Grüße "), len("Grüße 😀 ")]
        model.end()
        seen = await until(frames, "run.completed")
    assert [frame.event for frame in seen] == [
        "round.finished",
        "message.assistant",
        "run.completed",
    ]
    assert seen[1].data["data"]["message_id"] == started["data"]["message_id"]
    assert seen[1].data["data"]["text"] == "Grüße 😀 you."


async def test_whoever_joins_in_mid_round_gets_all_the_text_so_far_first(
    dictated: tuple[App, DictatedModel],
) -> None:
    app, model = dictated
    session = await app.session()
    run = (await app.say(session, "hello"))["run"]["id"]

    async with app.stream(f"/v1/sessions/{session}/stream") as early:
        sequence = (await until(early, "round.started"))[-1].id
        model.say("One ")
        assert (await anext(early)).data["text"] == "One "
        for path in (f"/v1/sessions/{session}/stream", f"/v1/runs/{run}/stream"):
            # Joined from the beginning, and back again from where the log stands.
            for last in (None, sequence):
                async with app.stream(path, last=last) as frames:
                    seen = await until(frames, "message.delta")
                    assert (seen[-1].data["offset"], seen[-1].data["text"]) == (0, "One ")
                    assert [f.event for f in seen].count("round.started") == (last is None)
        async with app.stream(f"/v1/runs/{run}/stream") as late:
            seen = await until(late, "message.delta")
            model.say("two.")
            seen.append(await anext(late))
            assert text_shown(seen) == "One two."
            model.end()
            await until(late, "run.completed")
        await until(early, "run.completed")


async def test_a_new_attempt_starts_its_text_over(dictated: tuple[App, DictatedModel]) -> None:
    app, model = dictated
    session = await app.session()
    run = (await app.say(session, "hello"))["run"]["id"]

    async with app.stream(f"/v1/runs/{run}/stream") as frames:
        await until(frames, "round.started")
        model.say("A first ")
        seen = [await anext(frames)]
        model.fail()
        again = await anext(frames)
        assert (again.event, again.data["data"]["attempt"]) == ("round.started", 2)
        model.say("A second.")
        seen.append(await anext(frames))
        assert [frame.data["offset"] for frame in seen] == [0, 0]
        assert text_shown(seen) == "A second."
        model.end()
        seen = await until(frames, "run.completed")
    assert seen[1].data["data"]["text"] == "A second."


async def test_what_a_tool_says_of_its_progress_is_shown_without_an_id(
    temporal_server: TemporalServer, migrated_database_url: str
) -> None:
    shown = asyncio.Event()

    @tool(name="files.count")
    async def count(context: ToolContext) -> str:
        """Count the files."""
        context.progress("half of them")
        await shown.wait()
        return "two"

    agent = Agent(name="counting", instructions="", model="scripted:script", tools=[count])
    async with running_app(migrated_database_url, temporal_server, agents=[agent]) as app:
        session = await app.session("counting")
        calls = {"calls": [{"name": "files_count", "arguments": {}}]}
        run = (await app.say(session, script(calls, {"text": "Two."})))["run"]["id"]
        async with app.stream(f"/v1/runs/{run}/stream") as frames:
            frame = (await until(frames, "tool.progress"))[-1]
            shown.set()
            await until(frames, "run.completed")
    assert frame.id is None
    assert frame.data == {
        "run_id": run,
        "tool_call_id": "call_0_0",
        "name": "files.count",
        "text": "half of them",
    }


async def test_a_reader_that_is_too_slow_is_told_and_closed_and_comes_back(
    app: App,
) -> None:
    session = await app.session()
    await app.turn(session, script({"text": "Hi."}))

    async with app.stream(f"/v1/sessions/{session}/stream") as frames:
        seen = await until(frames, "run.completed")
        (reader,) = app.process.hub._readers[session]
        reader.overflowed = True
        reader.wake()
        rest = [frame async for frame in frames]
    assert [(frame.event, frame.id, frame.data) for frame in rest] == [
        ("stream.overflow", None, {})
    ]
    again = await app.turn(session, script({"text": "Hi again."}))
    async with app.stream(f"/v1/sessions/{session}/stream", last=seen[-1].id) as frames:
        assert (await until(frames, "run.completed"))[-1].id == again["last_sequence"]


async def test_a_reader_who_leaves_leaves_nothing_behind(app: App) -> None:
    session = await app.session()
    for _ in range(3):
        async with app.stream(f"/v1/sessions/{session}/stream") as frames:
            await anext(frames)
            assert app.process.hub.has_readers
    async with asyncio.timeout(PATIENCE):
        while app.process.hub.has_readers:
            await asyncio.sleep(0.01)


async def test_a_stopping_process_ends_its_streams(
    temporal_server: TemporalServer, migrated_database_url: str
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        running = running_app(migrated_database_url, temporal_server, worker=False)
        app = await stack.enter_async_context(running)
        session = await app.session()
        async with app.stream(f"/v1/sessions/{session}/stream") as frames:
            assert (await anext(frames)).event == "session.created"
            app.process.hub.stop()
            assert [frame async for frame in frames] == []
