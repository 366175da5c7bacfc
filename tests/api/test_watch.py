"""`GET /v1/watch`: what happens to runs over all sessions, none of it lost or doubled."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from tests.support.app import PATIENCE, App, Json, ask, running_app
from tests.support.servers import TemporalServer
from tests.support.sse import SseFrame

LIFE = ["run.started", "run.waiting", "run.resumed", "run.completed"]


async def until(frames: AsyncIterator[SseFrame], *, ended: int) -> list[SseFrame]:
    """The frames up to the end of so many runs."""
    seen: list[SseFrame] = []
    async with asyncio.timeout(PATIENCE):
        while sum(frame.event == "run" and _over(frame) for frame in seen) < ended:
            seen.append(await anext(frames))
    return seen


def _over(frame: SseFrame) -> bool:
    return bool(frame.data["run"]["ended_at"])


def told(frames: Sequence[SseFrame]) -> list[tuple[str, str]]:
    """Which run, and what happened to it."""
    return [(f.data["run"]["id"], f.data["type"]) for f in frames if f.event == "run"]


async def live(app: App, session_id: str) -> str:
    """A whole run with a question."""
    run = await app.asked(session_id, ask("Go on?"), {"text": "Done"})
    await app.post(f"/v1/runs/{run['id']}/input", {"text": "yes"})
    return str((await app.ended(run["id"]))["id"])


async def test_a_watch_begins_with_what_is_active_and_tells_what_becomes_of_it(app: App) -> None:
    waiting = await app.asked(await app.session(), ask("Which?"), {"text": "That"})
    async with app.stream("/v1/watch") as frames:
        first = await anext(frames)
        assert first.event == "snapshot"
        assert first.data["runs"] == [await app.run(waiting["id"])]
        await app.post(f"/v1/runs/{waiting['id']}/input", {"text": "this"})
        other = await live(app, await app.session())
        seen = await until(frames, ended=2)
    assert [what for run, what in told(seen) if run == waiting["id"]] == LIFE[2:]
    assert [what for run, what in told(seen) if run == other] == LIFE
    for frame in seen:
        run: Json = frame.data["run"]
        assert (run["status"] == "waiting_for_user") == (frame.data["type"] == "run.waiting")
    assert seen[-1].data["run"] == await app.run(seen[-1].data["run"]["id"])


async def test_a_watch_goes_on_after_any_of_its_frames(app: App) -> None:
    async with app.stream("/v1/watch") as frames:
        seen = [await anext(frames)]
        for _ in range(2):
            await live(app, await app.session())
        seen += await until(frames, ended=2)
    for at, frame in enumerate(seen[:-1]):
        async with app.stream("/v1/watch", last=frame.sent_id) as frames:
            rest = [await anext(frames) for _ in seen[at + 1 :]]
        assert told(rest) == told(seen[at + 1 :])
        assert all(frame.event == "run" for frame in rest)


@pytest.mark.parametrize(
    ("query", "expected"),
    [({"room": "here"}, LIFE), ({"room": "there"}, []), ({"actor": "scripted"}, LIFE)],
)
async def test_a_watch_is_filtered(app: App, query: Json, expected: list[str]) -> None:
    async with app.stream("/v1/watch", **query) as frames, app.stream("/v1/watch") as all_of_it:
        assert (await anext(frames)).data == {"runs": []}
        run = await live(app, await app.session(room="here"))
        await until(all_of_it, ended=1)
        seen = await until(frames, ended=1) if expected else []
    assert told(seen) == [(run, what) for what in expected]


async def test_a_run_that_leaves_the_filter_is_sent_once_more(app: App) -> None:
    async with app.stream("/v1/watch", status="waiting_for_user") as frames:
        await anext(frames)
        await live(app, await app.session())
        async with asyncio.timeout(PATIENCE):
            seen = [await anext(frames), await anext(frames)]
    assert [frame.data["type"] for frame in seen] == ["run.waiting", "run.resumed"]


@pytest.mark.parametrize("last", ["x", "7", "e30"])
async def test_an_id_that_is_none_is_refused(app: App, last: str) -> None:
    response = await app.client.get("/v1/watch", headers={"Last-Event-ID": last})
    assert (response.status_code, response.json()["code"]) == (422, "VALIDATION_FAILED")


async def test_whoever_reconnects_at_random_misses_and_doubles_nothing(
    migrated_database_url: str, temporal_server: TemporalServer
) -> None:
    """Many runs at once, watched through two API processes' worth of hubs."""
    chance = random.Random(7)  # noqa: S311  (a test's dice)
    async with (
        running_app(migrated_database_url, temporal_server) as one,
        running_app(migrated_database_url, temporal_server, worker=False) as two,
    ):
        async with one.stream("/v1/watch") as frames:
            start = (await anext(frames)).sent_id
        sessions = [await one.session() for _ in range(6)]
        lives = asyncio.gather(*(live(one, session) for session in sessions))
        seen: list[tuple[str, str]] = []
        last: Any = start
        async with asyncio.timeout(PATIENCE):
            while sum(what == "run.completed" for _, what in seen) < len(sessions):
                app = chance.choice([one, two])
                async with app.stream("/v1/watch", last=last) as frames:
                    for _ in range(chance.randint(1, 4)):
                        frame = await anext(frames)
                        seen += told([frame])
                        last = frame.sent_id
                        if sum(what == "run.completed" for _, what in seen) == len(sessions):
                            break
        for run in await lives:
            assert [what for of, what in seen if of == run] == LIFE
        assert len(seen) == len(sessions) * len(LIFE)
