"""A busy session, and messages that know what they want of it (`if_busy`, the queue)."""

import asyncio

import httpx
import pytest

from tests.support.app import PATIENCE, App, Json, ask, script

HELLO = script({"text": "Hello."})
WAITS = ask("Which?")
SOMEBODY = "msg_01h455vb4pex5vsknk084sn02q"


async def queue_up(app: App, session: str, text: str = HELLO, **more: object) -> Json:
    """What a message that has to wait is answered: its id and position."""
    answer = await app.say(session, text, if_busy=more.pop("if_busy", "enqueue"), **more)
    assert answer.keys() == {"queued"}
    queued: Json = answer["queued"]
    assert queued.keys() == {"message_id", "position"}
    return queued


async def waiting(app: App, session: str, **query: object) -> list[tuple[int, str]]:
    page = await app.get(f"/v1/sessions/{session}/queue", **query)
    return [(message["position"], message["message_id"]) for message in page["data"]]


async def became(app: App, session: str, message_id: str) -> str:
    """The run that a queued message became."""
    async with app.stream(f"/v1/sessions/{session}/stream") as frames, asyncio.timeout(PATIENCE):
        async for frame in frames:
            data = frame.data.get("data", {})
            if frame.event == "message.dequeued" and data["message_id"] == message_id:
                return str(data["run_id"])
    raise AssertionError(f"{message_id} was not dequeued")


def refused(answer: httpx.Response, status: int, code: str) -> Json:
    """The problem, which must be this one."""
    problem: Json = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code), problem
    return problem


@pytest.mark.parametrize("if_busy", ["enqueue", "interrupt", "steer"])
async def test_in_an_idle_session_a_message_starts_a_run_whatever_it_wants_of_a_busy_one(
    idle_app: App, if_busy: str
) -> None:
    session = await idle_app.session()
    answer = await idle_app.say(session, HELLO, if_busy=if_busy)
    assert answer["run"]["status"] == "starting"
    assert answer["run"]["trigger_message_id"] == answer["message"]["id"]
    assert await waiting(idle_app, session) == []


async def test_what_waits_is_listed_in_order_page_by_page(idle_app: App) -> None:
    session = await idle_app.session()
    await idle_app.say(session, HELLO)
    sent = [
        await queue_up(idle_app, session, metadata={"n": n}, limits={"rounds": 7}, agent="scripted")
        for n in range(3)
    ]
    assert [queued["position"] for queued in sent] == [1, 2, 3]
    path = f"/v1/sessions/{session}/queue"
    page = await idle_app.get(path, limit=2)
    assert await waiting(idle_app, session, limit=2, cursor=page["next_cursor"]) == [
        (3, sent[2]["message_id"])
    ]
    whole = await idle_app.get(path)
    assert (whole["data"][:2], whole["next_cursor"]) == (page["data"], None)
    assert [message["message_id"] for message in whole["data"]] == [q["message_id"] for q in sent]
    events = [e for e in await idle_app.events(session) if e["type"] == "message.queued"]
    assert whole["data"] == [e["data"] | {"created_at": e["created_at"]} for e in events]
    assert [(e["run_id"], e["data"]["limits"]["rounds"]) for e in events] == [(None, 7)] * 3
    assert whole["data"][0]["model"] == "scripted:script"
    refused(await idle_app.client.get(path, params={"cursor": "MS41"}), 422, "VALIDATION_FAILED")


async def test_a_message_is_withdrawn_once_and_the_others_move_up(idle_app: App) -> None:
    session = await idle_app.session()
    await idle_app.say(session, HELLO)
    first, second = [await queue_up(idle_app, session) for _ in "12"]
    path = f"/v1/sessions/{session}/queue"

    gone = await idle_app.client.delete(
        f"{path}/{first['message_id']}", headers={"Idempotency-Key": "w"}
    )
    assert (gone.status_code, gone.text) == (204, "")
    assert await waiting(idle_app, session) == [(1, second["message_id"])]
    again = await idle_app.client.delete(
        f"{path}/{first['message_id']}", headers={"Idempotency-Key": "w"}
    )
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (204, "true")
    other = await idle_app.session()
    for missing in (
        f"{path}/{first['message_id']}",
        f"{path}/{SOMEBODY}",
        f"{path}/{SOMEBODY}?unknown=1",
        f"{path}/nonsense",
        f"/v1/sessions/{other}/queue/{second['message_id']}",
    ):
        refused(await idle_app.client.delete(missing), 404, "NOT_FOUND")
    refused(await idle_app.client.get(f"/v1/sessions/{SOMEBODY}/queue"), 404, "NOT_FOUND")
    assert await waiting(idle_app, session) == [(1, second["message_id"])]


async def test_a_repeated_key_is_given_its_place_again_and_queues_nothing(idle_app: App) -> None:
    session = await idle_app.session()
    await idle_app.say(session, HELLO)
    path, body = f"/v1/sessions/{session}/messages", {"text": HELLO, "if_busy": "enqueue"}
    first, again = [await idle_app.post(path, body, key="k") for _ in "12"]
    assert (first.status_code, again.status_code, again.text) == (202, 202, first.text)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert await waiting(idle_app, session) == [(1, first.json()["queued"]["message_id"])]


async def test_what_is_refused_queues_nothing(idle_app: App) -> None:
    """An agent that is not loaded, what steering cannot take; a closed session in any mood."""
    session, closed = await idle_app.session(), await idle_app.session()
    await idle_app.say(session, HELLO)
    await idle_app.client.patch(f"/v1/sessions/{closed}", json={"status": "closed"})
    path = f"/v1/sessions/{session}/messages"
    enqueue = {"text": HELLO, "if_busy": "enqueue"}
    refused(await idle_app.post(path, enqueue | {"agent": "nobody"}), 404, "NOT_FOUND")
    refused(await idle_app.post(path, enqueue | {"model": "no:model"}), 422, "VALIDATION_FAILED")
    for name, value in (
        ("agent", "scripted"), ("model", "scripted:echo"), ("limits", {"rounds": 1})
    ):  # fmt: skip
        answer = await idle_app.post(path, {"text": HELLO, "if_busy": "steer", name: value})
        problem = refused(answer, 422, "VALIDATION_FAILED")
        assert problem["errors"][0]["loc"] == ["body", name]
    for if_busy in ("reject", "enqueue", "interrupt", "steer"):
        answer = await idle_app.post(
            f"/v1/sessions/{closed}/messages", {"text": HELLO, "if_busy": if_busy}
        )
        refused(answer, 409, "SESSION_COMPLETED")
    refused(await idle_app.post(path, {"text": HELLO}), 409, "SESSION_BUSY")
    assert await waiting(idle_app, session) == []


async def test_queued_messages_become_runs_in_order_though_one_fails(app: App) -> None:
    session = await app.session()
    run = await app.asked(session, WAITS, {"text": "First."})
    broken = await queue_up(app, session, "this is no script")
    last = await queue_up(app, session, script({"text": "Last."}))
    await app.post(f"/v1/runs/{run['id']}/input", {"text": "this"})

    failed = await app.ended(await became(app, session, broken["message_id"]))
    ended = await app.ended(await became(app, session, last["message_id"]))
    assert (failed["status"], ended["status"]) == ("failed", "completed")
    assert failed["trigger_message_id"] == broken["message_id"]
    assert ended["output"]["text"] == "Last."
    types = [event["type"] for event in await app.events(session)]
    assert types.count("message.dequeued") == 2
    for ending in ("run.completed", "run.failed"):
        at = types.index(ending)
        assert types[at + 1 : at + 4] == ["message.dequeued", "message.user", "run.started"]
    assert await waiting(app, session) == []


async def test_nobody_gets_ahead_of_the_queue_while_a_run_ends(app: App) -> None:
    """Posts at the very moment are told that it is busy, or wait behind what waited before."""
    session = await app.session()
    run = await app.asked(session, WAITS, {"text": "First."})
    first = await queue_up(app, session, script(WAITS, {"text": "Second."}))
    posts = [
        app.post(f"/v1/sessions/{session}/messages", {"text": HELLO, "if_busy": if_busy})
        for if_busy in ("reject", "enqueue") * 10
    ]
    answers = await asyncio.gather(
        app.post(f"/v1/runs/{run['id']}/input", {"text": "this"}), *posts
    )
    second = await became(app, session, first["message_id"])
    assert (await app.reached(second, "run.waiting"))["status"] == "waiting_for_user"
    rejected, queued = answers[1::2], answers[2::2]
    assert {refused(answer, 409, "SESSION_BUSY")["code"] for answer in rejected} == {"SESSION_BUSY"}
    ids = {answer.json()["queued"]["message_id"] for answer in queued}
    assert {message_id for _, message_id in await waiting(app, session)} == ids
    assert len((await app.get("/v1/runs", session_id=session))["data"]) == 2


async def test_an_interrupting_message_cancels_the_run_and_goes_ahead_of_the_rest(app: App) -> None:
    session = await app.session()
    run = await app.asked(session, WAITS, {"text": "never"})
    behind = await queue_up(app, session, script({"text": "Behind."}))
    ahead = await queue_up(app, session, script({"text": "Ahead."}), if_busy="interrupt")
    assert (behind["position"], ahead["position"]) == (1, 1)
    assert (await app.ended(run["id"]))["status"] == "cancelled"
    runs = [await became(app, session, queued["message_id"]) for queued in (ahead, behind)]
    assert [(await app.ended(i))["output"]["text"] for i in runs] == ["Ahead.", "Behind."]
    assert runs == sorted(runs)
    history = await app.get(f"/v1/sessions/{session}/history")
    assert [m["text"] for m in history["messages"] if m["role"] == "assistant"][-2:] == [
        "Ahead.", "Behind."
    ]  # fmt: skip


async def test_a_steering_message_is_read_by_the_run_that_is_active(app: App) -> None:
    session = await app.session()
    run = await app.asked(session, WAITS, {"text": "Done."})
    answer = await app.say(session, "And be quick.", if_busy="steer")
    assert (answer["run"]["id"], answer["message"]["text"]) == (run["id"], "And be quick.")
    await app.post(f"/v1/runs/{run['id']}/input", {"text": "this"})
    assert (await app.ended(run["id"]))["status"] == "completed"
    history = await app.get(f"/v1/sessions/{session}/history")
    said = [message["text"] for message in history["messages"]]
    assert said[-3:] == ["this", "And be quick.", "Done."]
    assert {message["run_id"] for message in history["messages"]} == {run["id"]}


async def test_a_task_that_ends_withdraws_what_waited(app: App) -> None:
    session = await app.session(mode="task")
    run = await app.asked(session, WAITS, {"text": "Done."})
    queued = await queue_up(app, session)
    await app.post(f"/v1/runs/{run['id']}/input", {"text": "this"})
    await app.ended(run["id"])
    events = (await app.events(session))[-3:]
    assert [event["type"] for event in events] == [
        "run.completed", "message.withdrawn", "session.closed"
    ]  # fmt: skip
    assert events[1]["data"] == {"message_id": queued["message_id"], "position": 1}
    assert await waiting(app, session) == []
