"""`Idempotency-Key`: once under each key, whatever is repeated, wherever (BEHAVIOURS.md, 2 to 4)."""

import asyncio
import json

from tests.support.app import App, running_app, script
from tests.support.servers import TemporalServer

HELLO = script({"text": "Hello."})


async def test_concurrent_requests_under_one_key_over_two_processes_make_one_run(
    app: App, temporal_server: TemporalServer
) -> None:
    session = await app.session()
    path, body = f"/v1/sessions/{session}/messages", {"text": HELLO}
    queue = app.process.settings.task_queue
    url = app.process.settings.database_url

    async with running_app(url, temporal_server, worker=False, task_queue=queue) as other:
        answers = await asyncio.gather(
            *(each.post(path, body, key="k") for each in (app, other) * 4)
        )
        assert {answer.status_code for answer in answers} == {202}
        assert len({answer.text for answer in answers}) == 1
        replayed = [a for a in answers if a.headers.get("Idempotency-Replayed") == "true"]
        assert len(replayed) == len(answers) - 1
        await app.ended(answers[0].json()["run"]["id"])
    assert len((await app.get("/v1/runs"))["data"]) == 1


async def test_the_first_answer_comes_back_word_for_word_after_the_run_ended(app: App) -> None:
    session = await app.session()
    path = f"/v1/sessions/{session}/messages"
    first = await app.post(path, {"text": HELLO}, key="k")
    assert "Idempotency-Replayed" not in first.headers
    await app.ended(first.json()["run"]["id"])

    # Order and spaces of the JSON are not part of a body.
    again = await app.client.post(
        path,
        content=b'{ "text" : ' + json.dumps(HELLO).encode() + b" }",
        headers={"Idempotency-Key": "k", "Content-Type": "application/json"},
    )
    assert (again.status_code, again.text) == (202, first.text)
    assert again.headers["Idempotency-Replayed"] == "true"


async def test_a_used_key_with_another_body_or_target_is_refused_and_appends_nothing(
    idle_app: App,
) -> None:
    one, two = await idle_app.session(), await idle_app.session()
    path = f"/v1/sessions/{one}/messages"
    assert (await idle_app.post(path, {"text": HELLO}, key="k")).status_code == 202

    for answer in (
        await idle_app.post(path, {"text": "other"}, key="k"),
        await idle_app.post(f"/v1/sessions/{two}/messages", {"text": HELLO}, key="k"),
        await idle_app.post("/v1/sessions", {"agent": "scripted"}, key="k"),
    ):
        assert answer.status_code == 409
        assert answer.json()["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert len((await idle_app.get("/v1/runs"))["data"]) == 1
    assert len((await idle_app.get("/v1/sessions"))["data"]) == 2


async def test_a_refusal_leaves_the_key_free(idle_app: App) -> None:
    missing = await idle_app.post("/v1/sessions", {"agent": "nobody"}, key="k")
    assert missing.status_code == 404
    invalid = await idle_app.post("/v1/sessions", {"agent": "scripted", "mode": "?"}, key="k")
    assert invalid.status_code == 422
    created = await idle_app.post("/v1/sessions", {"agent": "scripted"}, key="k")
    assert created.status_code == 201


async def test_every_mutation_takes_a_key(idle_app: App) -> None:
    created = [await idle_app.post("/v1/sessions", {"agent": "scripted"}, key="c") for _ in "12"]
    assert created[0].text == created[1].text
    path = f"/v1/sessions/{created[0].json()['id']}"

    patch = {"title": "New"}
    changed = [
        await idle_app.client.patch(path, json=patch, headers={"Idempotency-Key": "p"})
        for _ in "12"
    ]
    assert changed[0].text == changed[1].text
    assert changed[1].headers["Idempotency-Replayed"] == "true"
    erased = [await idle_app.client.delete(path, headers={"Idempotency-Key": "d"}) for _ in "12"]
    assert [answer.status_code for answer in erased] == [204, 204]
    assert erased[1].headers["Idempotency-Replayed"] == "true"


async def test_erasing_a_session_forgets_its_answers(idle_app: App) -> None:
    created = await idle_app.post("/v1/sessions", {"agent": "scripted"}, key="c")
    assert (await idle_app.client.delete(f"/v1/sessions/{created.json()['id']}")).status_code == 204

    again = await idle_app.post("/v1/sessions", {"agent": "scripted"}, key="c")
    assert again.status_code == 201
    assert again.json()["id"] != created.json()["id"]


async def test_malformed_keys_are_refused(idle_app: App) -> None:
    for key in ("", "x" * 256, "a\tb"):
        answer = await idle_app.post("/v1/sessions", {"agent": "scripted"}, key=key)
        assert (answer.status_code, answer.json()["code"]) == (422, "VALIDATION_FAILED")
    twice = await idle_app.client.post(
        "/v1/sessions",
        json={"agent": "scripted"},
        headers=[("Idempotency-Key", "a"), ("Idempotency-Key", "b")],
    )
    assert twice.status_code == 422
    assert (await idle_app.get("/v1/sessions"))["data"] == []
