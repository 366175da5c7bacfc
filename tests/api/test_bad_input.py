"""Bad input gets a clear problem and changes nothing, the same on both databases (issue 2)."""

import json
from collections.abc import AsyncIterator

import httpx

from tests.support.app import App, Json, script

UNKNOWN_SESSION = "ses_01h455vb4pex5vsknk084sn02q"
UNKNOWN_RUN = "run_01h455vb4pex5vsknk084sn02q"
JSON = {"Content-Type": "application/json"}


def check_problem(answer: httpx.Response, status: int, code: str) -> Json:
    """The problem, which must be this one."""
    assert answer.headers["Content-Type"] == "application/problem+json", answer.text
    problem: Json = answer.json()
    assert (answer.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert set(problem) >= {"type", "title", "detail"}
    return problem


async def test_bodies_that_are_not_what_the_route_takes_are_refused(idle_app: App) -> None:
    path = f"/v1/sessions/{await idle_app.session()}/messages"
    bodies: list[Json] = [
        {},
        {"text": ""},
        {"text": None},
        {"text": 1},
        {"text": "a\0b"},
        {"text": "hi", "unknown": 1},
        {"text": "hi", "if_busy": "later"},
        {"text": "hi", "if_busy": "steer", "model": "scripted:echo"},
        {"text": "hi", "limits": {"rounds": 0}},
        {"text": "hi", "limits": {"rounds": "1"}},
        {"text": "hi", "limits": {"rounds": True}},
        {"text": "hi", "limits": {"rounds": 10**30}},
        {"text": "hi", "limits": {"seconds": 0}},
        {"text": "hi", "limits": {"bytes": 1}},
        {"text": "hi", "model": "nowhere:model"},
        {"text": "hi", "model": "scripted"},
        {"text": "hi", "metadata": []},
        {"text": "hi", "metadata": {"a\0": 1}},
        {"text": "hi", "metadata": {"a": "x" * 16_384}},
    ]
    for body in bodies:
        problem = check_problem(await idle_app.post(path, body), 422, "VALIDATION_FAILED")
        assert problem["errors"], body
    assert (await idle_app.get("/v1/runs"))["data"] == []


async def test_json_that_cannot_be_stored_everywhere_is_refused(idle_app: App) -> None:
    path = f"/v1/sessions/{await idle_app.session()}/messages"
    for content in (
        b"",
        b"{",
        b"[]",
        b'"hi"',
        b"null",
        b"\xff\xfe",
        b'{"text": "hi", "metadata": {"a": NaN}}',
        b'{"text": "hi", "metadata": {"a": Infinity}}',
        b'{"text": "hi", "metadata": {"a": 1e999}}',
        b'{"text": "hi", "metadata": {"a": ' + b"9" * 5000 + b"}}",
        b'{"text": "\\ud800"}',
        b'{"text": "hi", "metadata": {"\\udfff": 1}}',
        b'{"text": "\\u0000"}',
        b'{"text": "hi", "metadata": {"a": ' + b"[" * 63 + b"]" * 63 + b"}}",
        b'{"text": "hi", "metadata": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        b"[" * 500_000,
    ):
        answer = await idle_app.client.post(path, content=content, headers=JSON)
        problem = check_problem(answer, 422, "VALIDATION_FAILED")
        assert problem["errors"], content[:60]
    assert (await idle_app.get("/v1/runs"))["data"] == []


async def test_a_body_that_cannot_be_read_is_told_why(idle_app: App) -> None:
    for content, why in (
        (b'{"agent": "a\\u0000b"}', "text may not hold NUL"),
        (b"[" * 65 + b"]" * 65, "nested deeper than 64"),
        (b'{"agent": NaN}', "not readable as JSON"),
    ):
        answer = await idle_app.client.post("/v1/sessions", content=content, headers=JSON)
        (error,) = check_problem(answer, 422, "VALIDATION_FAILED")["errors"]
        assert error["loc"] == ["body"]
        assert error["msg"].startswith(why)


async def test_what_is_just_within_the_limits_is_taken_and_comes_back_as_it_was(
    idle_app: App,
) -> None:
    deep: Json = {"a": json.loads("[" * 62 + "]" * 62), "n": [1.5, 2**60, None, True], "ü": "😀"}
    title = "\ufdfa \U0001d54f \u202e"
    path = f"/v1/sessions/{await idle_app.session(metadata=deep, title=title)}"
    session = await idle_app.get(path)
    assert session["metadata"] == deep
    assert session["title"] == title
    accepted = await idle_app.post(f"{path}/messages", {"text": "x\r\n\u2028😀", "metadata": deep})
    assert accepted.status_code == 202
    assert accepted.json()["message"]["text"] == "x\r\n\u2028😀"


async def test_only_json_is_taken_as_json(idle_app: App) -> None:
    for headers in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "image/png"}):
        answer = await idle_app.client.post(
            "/v1/sessions", content=b'{"agent": "scripted"}', headers=headers
        )
        check_problem(answer, 422, "VALIDATION_FAILED")
    merged = {"Content-Type": "application/vnd.mine+json; charset=utf-8"}
    answer = await idle_app.client.post(
        "/v1/sessions", content=b'{"agent": "scripted"}', headers=merged
    )
    assert answer.status_code == 201


async def test_a_body_over_the_limit_is_refused_before_anything_else(idle_app: App) -> None:
    big = b'{"text": "' + b"x" * 30_000_000 + b'"}'

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, 3_000_000, 65_536):
            yield big[start : start + 65_536]

    for path in ("/v1/sessions", f"/v1/sessions/{UNKNOWN_SESSION}/messages", "/nowhere"):
        answer = await idle_app.client.post(path, content=big, headers=JSON)
        check_problem(answer, 413, "PAYLOAD_TOO_LARGE")
    # Without a length it is counted.
    answer = await idle_app.client.post("/v1/sessions", content=chunks(), headers=JSON)
    check_problem(answer, 413, "PAYLOAD_TOO_LARGE")
    assert (await idle_app.get("/v1/sessions"))["data"] == []


async def test_ids_that_are_unknown_or_of_the_wrong_kind_are_not_found(idle_app: App) -> None:
    session = await idle_app.session()
    run = (await idle_app.say(session, script({"text": "Hi."})))["run"]["id"]
    client = idle_app.client
    for wrong in (UNKNOWN_SESSION, run, "x", session.upper(), session + "x", "%00", "%FF"):
        for answer in (
            await client.get(f"/v1/sessions/{wrong}"),
            await client.get(f"/v1/sessions/{wrong}/events"),
            await client.get(f"/v1/sessions/{wrong}/history"),
            await client.get(f"/v1/sessions/{wrong}/stream"),
            await client.patch(f"/v1/sessions/{wrong}", json={"title": "x"}),
            # The id goes before the body, readable or not, and before parameters.
            await client.post(f"/v1/sessions/{wrong}/messages", json={"nonsense": 1}),
            await client.post(f"/v1/sessions/{wrong}/send", content=b"{", headers=JSON),
            await client.get(f"/v1/sessions/{wrong}/events?limit=0&type=nonsense"),
            await client.get(f"/v1/sessions/{wrong}/stream?after=-1"),
        ):
            check_problem(answer, 404, "NOT_FOUND")
    for wrong in (UNKNOWN_RUN, session, "x"):
        for answer in (
            await client.get(f"/v1/runs/{wrong}"),
            await client.get(f"/v1/runs/{wrong}/events"),
            await client.get(f"/v1/runs/{wrong}/stream"),
            await client.post(f"/v1/runs/{wrong}/input", json={}),
        ):
            check_problem(answer, 404, "NOT_FOUND")


async def test_unknown_routes_and_methods_are_problems_too(idle_app: App) -> None:
    client = idle_app.client
    for path in ("/", "/v1", "/v1/", "/v1/nowhere", "/v1/sessions/", "/docs"):
        check_problem(await client.get(path), 404, "NOT_FOUND")
    for path, allowed in (
        ("/v1/runs", "GET"),
        ("/v1/sessions", "GET, POST"),
        (f"/v1/sessions/{UNKNOWN_SESSION}", "DELETE, GET, PATCH"),
        ("/healthz", "GET"),
        ("/openapi.json", "GET"),
    ):
        answer = await client.put(path)
        check_problem(answer, 405, "METHOD_NOT_ALLOWED")
        assert answer.headers["Allow"] == allowed
    assert (await client.head("/v1/runs")).status_code == 405


async def test_names_in_the_body_that_name_nothing_are_not_found(idle_app: App) -> None:
    session = await idle_app.session()
    for answer in (
        await idle_app.post("/v1/sessions", {"agent": "nobody"}),
        await idle_app.post("/v1/sessions", {"agent": "Not A Name"}),
        await idle_app.post(f"/v1/sessions/{session}/messages", {"text": "x", "agent": "nobody"}),
        await idle_app.client.patch(f"/v1/sessions/{session}", json={"agent": "nobody"}),
        await idle_app.client.get("/v1/agents/nobody"),
    ):
        check_problem(answer, 404, "NOT_FOUND")
    assert len(await idle_app.events(session)) == 1


async def test_parameters_are_checked_one_by_one(idle_app: App) -> None:
    session = await idle_app.session()
    events, stream = f"/v1/sessions/{session}/events", f"/v1/sessions/{session}/stream"
    for path in (
        "/v1/runs?nonsense=1",
        "/v1/runs?limit=0",
        "/v1/runs?limit=201",
        "/v1/runs?limit=x",
        "/v1/runs?limit=1&limit=2",
        "/v1/runs?status=done",
        "/v1/runs?status=",
        "/v1/runs?status=running,done",
        "/v1/runs?active=yes",
        "/v1/runs?cursor=x",
        f"/v1/runs?cursor={session}",
        "/v1/runs?session_id=x",
        "/v1/runs?parent_run_id=" + session,
        "/v1/runs?room=%00",
        "/v1/runs?room=",
        "/v1/runs?room=" + "x" * 201,
        "/v1/sessions?status=active",
        "/v1/sessions?cursor=%C3%BC",
        "/v1/agents?nonsense=1",
        f"/v1/sessions/{session}?nonsense=1",
        f"{events}?type=nonsense",
        f"{events}?after=-1",
        f"{events}?after=9223372036854775808",
        f"{events}?cursor=x",
        f"{events}?run_id=x",
        f"{stream}?after=-1",
        f"{stream}?after=x",
        f"{stream}?nonsense=1",
    ):
        answer = await idle_app.client.get(path)
        check_problem(answer, 422, "VALIDATION_FAILED")
    for last in ("x", "-1", "", "1.5", "²", "9" * 30):
        headers = {b"Last-Event-ID": last.encode()}
        answer = await idle_app.client.get(stream, headers=headers)
        check_problem(answer, 422, "VALIDATION_FAILED")


async def test_sessions_are_checked_like_everything(idle_app: App) -> None:
    for body in (
        {},
        {"agent": "scripted", "mode": "chat"},
        {"agent": "scripted", "room": ""},
        {"agent": "scripted", "room": "a\nb"},
        {"agent": "scripted", "room": "x" * 201},
        {"agent": "scripted", "title": ""},
        {"agent": "scripted", "metadata": "x"},
        {"agent": None},
    ):
        answer = await idle_app.post("/v1/sessions", body)
        check_problem(answer, 422, "VALIDATION_FAILED")
    path = f"/v1/sessions/{await idle_app.session()}"
    for body in (
        {"status": "open"},
        {"status": None},
        {"agent": None},
        {"agent": ""},
        {"mode": "task"},
        {"title": ""},
    ):
        check_problem(await idle_app.client.patch(path, json=body), 422, "VALIDATION_FAILED")
    assert (await idle_app.get(path))["last_sequence"] == 1


async def test_nothing_of_a_bad_value_is_echoed(idle_app: App) -> None:
    answer = await idle_app.post("/v1/sessions", {"agent": "scripted", "title": ["secret-word"]})
    check_problem(answer, 422, "VALIDATION_FAILED")
    assert "secret-word" not in answer.text
