"""Sessions: created, read, changed, closed, erased; and lists of them and of runs."""

from typing import Any

import httpx

from tests.support.app import App, ask, script


async def change(app: App, session_id: str, **patch: Any) -> httpx.Response:
    """A PATCH of the session."""
    return await app.client.patch(f"/v1/sessions/{session_id}", json=patch)


async def test_a_session_is_what_was_asked_for(idle_app: App) -> None:
    answer = await idle_app.post(
        "/v1/sessions", {"agent": "scripted", "mode": "task", "room": "a/b c", "title": "T"}
    )
    assert answer.status_code == 201
    session = answer.json()
    assert session == await idle_app.get(f"/v1/sessions/{session['id']}")
    assert (session["mode"], session["room"], session["title"]) == ("task", "a/b c", "T")
    assert (session["status"], session["active_run"], session["closed_at"]) == ("open", None, None)
    (event,) = await idle_app.events(session["id"])
    assert event["type"] == "session.created"
    assert event["data"] == {
        "agent": "scripted",
        "mode": "task",
        "room": "a/b c",
        "title": "T",
        "metadata": None,
    }


async def test_a_change_replaces_what_it_names_and_null_clears(idle_app: App) -> None:
    session = await idle_app.session(title="T", metadata={"a": 1})
    changed = (await change(idle_app, session, metadata={"b": 2})).json()
    assert (changed["title"], changed["metadata"]) == ("T", {"b": 2})
    cleared = (await change(idle_app, session, metadata=None, title=None)).json()
    assert (cleared["title"], cleared["metadata"]) == (None, None)
    empty = await idle_app.client.patch(f"/v1/sessions/{session}")
    assert (empty.status_code, empty.json()) == (200, cleared)
    types = [event["type"] for event in await idle_app.events(session)]
    assert types == ["session.created", "session.updated", "session.updated"]


async def test_metadata_that_reads_differently_is_a_change(idle_app: App) -> None:
    session = await idle_app.session(metadata={"a": 1})
    for value in ("true", "1.0", "1", "0.0", "-0.0"):
        answer = await idle_app.client.patch(
            f"/v1/sessions/{session}",
            content=f'{{"metadata": {{"a": {value}}}}}',
            headers={"Content-Type": "application/json"},
        )
        assert f'"metadata":{{"a":{value}}}' in answer.text
    assert len(await idle_app.events(session)) == 6


async def test_closing_twice_is_fine_and_a_closed_session_takes_no_message(
    idle_app: App,
) -> None:
    session = await idle_app.session()
    closed = await change(idle_app, session, status="closed")
    assert (closed.status_code, closed.json()["status"]) == (200, "closed")
    assert (await change(idle_app, session, status="closed")).json() == closed.json()
    answer = await idle_app.post(f"/v1/sessions/{session}/messages", {"text": "hello"})
    assert (answer.status_code, answer.json()["code"]) == (409, "SESSION_COMPLETED")
    types = [event["type"] for event in await idle_app.events(session)]
    assert types == ["session.created", "session.closed"]


async def test_a_session_with_an_active_run_is_neither_closed_nor_erased(app: App) -> None:
    session = await app.session()
    run = await app.asked(session, ask("Which?"), {"text": "Done."})
    for answer in (
        await change(app, session, status="closed"),
        await app.client.delete(f"/v1/sessions/{session}"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "SESSION_BUSY")
        assert answer.json()["run_id"] == run["id"]
    await app.post(f"/v1/runs/{run['id']}/input", {"text": "x"})
    await app.ended(run["id"])


async def test_an_erased_session_is_gone_with_all_its_ids(app: App) -> None:
    session = await app.session()
    run = await app.turn(session, script({"text": "Hi."}))
    async with app.stream(f"/v1/sessions/{session}/stream") as frames:
        await anext(frames)
        assert (await app.client.delete(f"/v1/sessions/{session}")).status_code == 204
        assert [frame async for frame in frames][-1].event == "run.completed"
    for path in (f"/v1/sessions/{session}", f"/v1/runs/{run['id']}"):
        assert (await app.client.get(path)).status_code == 404
    assert (await app.client.delete(f"/v1/sessions/{session}")).status_code == 204


async def test_lists_are_newest_first_filtered_and_paged(idle_app: App) -> None:
    rooms = ["a", "b", "a", "a", "b"]
    ids = [await idle_app.session(room=room) for room in rooms]
    await change(idle_app, ids[0], status="closed")

    whole = await idle_app.get("/v1/sessions")
    assert [session["id"] for session in whole["data"]] == ids[::-1]
    assert whole["next_cursor"] is None
    first = await idle_app.get("/v1/sessions", room="a", limit=2)
    assert [session["id"] for session in first["data"]] == [ids[3], ids[2]]
    rest = await idle_app.get("/v1/sessions", room="a", limit=2, cursor=first["next_cursor"])
    assert [session["id"] for session in rest["data"]] == [ids[0]]
    assert rest["next_cursor"] is None
    closed = await idle_app.get("/v1/sessions", status="closed")
    assert [session["id"] for session in closed["data"]] == [ids[0]]
    both = await idle_app.get("/v1/sessions", status="open,closed", agent="scripted")
    assert len(both["data"]) == len(ids)
    assert (await idle_app.get("/v1/sessions", agent="nobody"))["data"] == []


async def test_runs_are_found_by_every_filter(app: App) -> None:
    one, two = await app.session(room="a"), await app.session()
    done = await app.turn(one, script({"text": "Hi."}))
    waits = await app.asked(two, ask("Which?"), {"text": "Done."})

    async def found(**query: str) -> list[str]:
        return [run["id"] for run in (await app.get("/v1/runs", **query))["data"]]

    assert await found() == [waits["id"], done["id"]]
    assert await found(session_id=one) == [done["id"]]
    assert await found(room="a") == [done["id"]]
    assert await found(actor="scripted") == [waits["id"], done["id"]]
    assert await found(status="completed") == [done["id"]]
    assert await found(status="completed,waiting_for_user") == [waits["id"], done["id"]]
    assert await found(active="true") == [waits["id"]]
    assert await found(active="false") == [done["id"]]
    assert await found(root_run_id=done["id"]) == [done["id"]]
    assert await found(parent_run_id=done["id"]) == []
    page = await app.get("/v1/runs", limit=1)
    assert await found(cursor=page["next_cursor"]) == [done["id"]]
    await app.post(f"/v1/runs/{waits['id']}/input", {"text": "x"})
    await app.ended(waits["id"])


async def test_the_log_is_paged_by_sequence_and_filtered(app: App) -> None:
    session = await app.session()
    first = await app.turn(session, script({"text": "One."}))
    await app.turn(session, script({"text": "Two."}))
    log, path = await app.events(session), f"/v1/sessions/{session}/events"

    page = await app.get(path, limit=4)
    assert page == {"data": log[:4], "next_cursor": "4"}
    assert (await app.get(path, cursor="4"))["data"] == log[4:]
    assert (await app.get(path, after="4"))["data"] == log[4:]
    assert (await app.get(path, after="99"))["data"] == []
    said = (await app.get(path, type="message.user,message.assistant"))["data"]
    assert said == [event for event in log if event["type"].startswith("message.")]
    assert (await app.get(path, type="session.compacted"))["data"] == []
    mine = [event for event in log if event["run_id"] == first["id"]]
    assert (await app.get(path, run_id=first["id"]))["data"] == mine
    assert (await app.get(f"/v1/runs/{first['id']}/events"))["data"] == mine
