"""`turnwright runs`: what an operator can do to runs, through the API."""

import asyncio
import json
import signal
import sys
from contextlib import AsyncExitStack

import pytest

from tests.chaos.processes import client_of
from tests.cli.conversation import answered, new_session, say
from tests.cli.programs import launched, refusal, run, started
from tests.support.app import App, Json, ask, script
from tests.support.servers import lasting_port
from turnwright import remote
from turnwright.runs_view import duration
from turnwright.settings import Settings

RUN = "run_01h455vb4pex5vsknk084sn02q"
REFUSED = script({"error": {"kind": "refused"}})


async def _ok(app: App, *arguments: str) -> list[str]:
    """What a command prints that must succeed and complain of nothing."""
    status, program = await run(*arguments, api_url=app.base_url)
    assert (status, program.errors) == (0, [])
    return program.output


async def _objects(app: App, *arguments: str) -> list[Json]:
    return [json.loads(line) for line in await _ok(app, *arguments, "--json")]


async def test_runs_are_listed_newest_first_and_by_every_filter(app: App) -> None:
    session = await app.session(room="shop")
    done = await app.turn(session, script({"text": "Hello."}))
    failed = await app.turn(session, REFUSED)
    waiting = await app.asked(session, ask("Which [one]?", "red", "blue"))

    for arguments, expected in (
        ((), [waiting, failed, done]),
        (("--session", session, "--limit", "2"), [waiting, failed]),
        (("--room", "shop", "--actor", "scripted"), [waiting, failed, done]),
        (("--room", "none"), []),
        (("--status", "failed,completed"), [failed, done]),
        (("--active",), [waiting]),
        (("--root", done["id"]), [done]),
        (("--parent", done["id"]), []),
    ):
        assert await _objects(app, "runs", "list", *arguments) == expected

    _, _, _, *rows, _ = await _ok(app, "runs", "list", "--session", session)
    cells = [[cell.strip() for cell in row.strip("│").split("│")] for row in rows]
    assert [cell[:4] for cell in cells] == [
        [waiting["id"], "waiting_for_user", "scripted", session],
        [failed["id"], "failed: model_refused", "scripted", session],
        [done["id"], "completed", "scripted", session],
    ]
    assert [cell[5:] for cell in cells] == [
        ["1/1", "Which [one]? red / blue"],
        ["1/0", ""],
        ["1/0", ""],
    ]
    assert await _ok(app, "runs", "list", "--room", "none") == ["no runs"]


async def test_a_run_is_shown_with_what_it_used_and_its_last_events(app: App) -> None:
    waiting = await app.asked(await app.session(room="shop"), ask("Which?"))

    shown = await _ok(app, "runs", "show", waiting["id"], "--events", "2")

    fields = {line[:10].strip(): line[11:] for line in shown}
    assert fields["status"] == "waiting_for_user"
    assert fields["waits for"] == "Which?"
    assert fields["session"] == f"{waiting['session_id']} in shop"
    assert fields["usage"].startswith("1/50 rounds, 1/100 calls, ")
    assert fields["temporal"] == f"session/{waiting['session_id']}"
    events = (await app.events(waiting["session_id"]))[-2:]
    assert [line.split()[0] for line in shown[-2:]] == [str(e["sequence"]) for e in events]
    assert [line.split()[2] for line in shown[-2:]] == [e["type"] for e in events]
    assert await _objects(app, "runs", "show", waiting["id"]) == [waiting]


async def test_a_failed_run_says_why_when_it_is_shown(app: App) -> None:
    failed = await app.turn(await app.session(), REFUSED)
    shown = await _ok(app, "runs", "show", failed["id"])
    assert f"status     failed: {failed['failure']['reason']}" in shown
    assert "model_refused" in shown[-1]


async def test_runs_are_cancelled_by_id_and_waited_for(app: App) -> None:
    """Of one that has ended it is said how; one that there is not stops no other."""
    first, second = [await app.asked(await app.session(), ask("Go on?")) for _ in range(2)]
    ids = [first["id"], second["id"]]

    cancelling = ("runs", "cancel", *ids, "--reason", "too late", "--wait")
    assert await _ok(app, *cancelling) == [f"{run_id}  cancelled" for run_id in ids]
    assert await _ok(app, "runs", "cancel", *ids) == [f"{run_id}  cancelled" for run_id in ids]
    [asked] = [
        event["data"]
        for event in await app.events(first["session_id"])
        if event["type"] == "run.cancel_requested"
    ]
    assert asked["reason"] == "too late"

    status, program = await run("runs", "cancel", "run_nosuch", ids[0], api_url=app.base_url)
    assert (status, program.output) == (1, [f"{ids[0]}  cancelled"])
    [line] = program.errors
    assert line.startswith("turnwright: run_nosuch: ")
    assert line.endswith("(NOT_FOUND)")


async def test_runs_are_cancelled_by_session_and_by_room(app: App) -> None:
    sessions = [await app.session(room="shop / floor 1") for _ in range(3)]
    runs = [await app.asked(session, ask("Go on?")) for session in sessions]

    [told] = await _ok(app, "runs", "cancel", "--session", sessions[0])
    assert told.startswith(f"{runs[0]['id']}  cancel accepted  ")
    await app.ended(runs[0]["id"])
    room = ("runs", "cancel", "--room", "shop / floor 1")
    cancelled = await _objects(app, *room, "--wait")
    assert {(run["id"], run["status"]) for run in cancelled} == {
        (run["id"], "cancelled") for run in runs[1:]
    }
    assert await _ok(app, *room) == ["no active runs"]


async def test_a_run_is_tried_again_with_more_and_waited_for(app: App) -> None:
    """From its checkpoint: the question that was answered is not asked again."""
    session = await app.session()
    accepted = await app.say(session, script(ask("Go on?"), {"text": "done"}), limits={"rounds": 1})
    asked = await app.reached(accepted["run"]["id"], "run.waiting")
    await app.post(f"/v1/runs/{asked['id']}/input", {"text": "yes"})
    failed = await app.ended(asked["id"])
    assert failed["failure"]["reason"] == "max_rounds_exceeded"

    status, program = await run(
        "runs", "retry", failed["id"], "--rounds", "2", "--wait", "--json", api_url=app.base_url
    )

    assert (status, program.errors) == (0, [])
    retried = json.loads(program.output[0])
    assert (retried["retry_of"], retried["attempt"]) == (failed["id"], 2)
    assert (retried["status"], retried["output"]["text"]) == ("completed", "done")
    status, program = await run("runs", "retry", failed["id"], api_url=app.base_url)
    assert (status, program.output) == (1, [])
    assert program.errors[0].endswith("(RUN_NOT_RETRYABLE)")


async def test_a_retry_that_fails_again_is_a_failure_for_whom_waits(app: App) -> None:
    failed = await app.turn(await app.session(), REFUSED)
    arguments = ("runs", "retry", failed["id"], "--from", "start")

    status, program = await run(*arguments, "--wait", api_url=app.base_url)

    assert status == 1
    [attempt] = await _objects(app, "runs", "list", "--limit", "1")
    assert program.output == [f"{attempt['id']}  failed: model_refused"]
    assert program.errors == [f"turnwright: {attempt['id']} is attempt 2; waiting for its end"]


async def test_a_watch_shows_what_is_active_and_then_every_change(app: App) -> None:
    session = await app.session(room="shop")
    waiting = await app.asked(session, ask("Which?"), {"text": "done"})
    settings = {"api_url": app.base_url}
    async with (
        launched("runs", "watch", "--room", "shop", **settings) as lines,
        launched("runs", "watch", "--session", session, "--json", **settings) as frames,
    ):
        await lines.said(waiting["id"])
        await frames.said("snapshot")
        await app.post(f"/v1/runs/{waiting['id']}/input", {"text": "this"})
        await app.ended(waiting["id"])
        await lines.said("run.completed")
        await frames.said("run.completed")
        assert await lines.stopped(signal.SIGINT) == 130
        assert await frames.stopped(signal.SIGINT) == 130
    changes = [line.split()[1:4] for line in lines.output if "run." in line]
    assert changes == [
        ["run.resumed", waiting["id"], "running"],
        ["run.completed", waiting["id"], "completed"],
    ]
    snapshot, *rest = [json.loads(line) for line in frames.output]
    assert (snapshot["event"], snapshot["data"]["runs"]) == ("snapshot", [waiting])
    assert [frame["data"]["type"] for frame in rest] == ["run.resumed", "run.completed"]
    assert all(frame["id"] for frame in (snapshot, *rest))


async def test_a_watch_comes_back_after_its_server_and_has_missed_nothing(
    deployment: dict[str, str],
) -> None:
    deployment["api_port"] = str(lasting_port())
    url = f"http://127.0.0.1:{deployment['api_port']}"
    async with started("worker", **deployment), AsyncExitStack() as stack:
        async with started("api", **deployment) as api, client_of(api.url) as client:
            session = await new_session(client)
            watch = await stack.enter_async_context(
                launched("runs", "watch", "--json", api_url=url)
            )
            await watch.said("snapshot")
            asked = await say(client, session, script(ask("Go on?"), {"text": "done"}))
            await watch.said("run.waiting")
            assert await api.stopped(signal.SIGTERM) == 0
        await watch.printed("trying again")
        async with started("api", **deployment) as api, client_of(api.url) as client:
            await answered(client, asked["id"])
            await watch.said("run.completed")
    frames = [json.loads(line) for line in watch.output]
    told = [frame["data"].get("type", frame["event"]) for frame in frames]
    assert told == ["snapshot", "run.started", "run.waiting", "run.resumed", "run.completed"]


async def test_who_stops_waiting_for_a_run_does_not_stop_the_run(app: App) -> None:
    session = await app.session()
    asked = await app.asked(session, ask("Go on?"), {"error": {"kind": "refused"}})
    await app.post(f"/v1/runs/{asked['id']}/input", {"text": "yes"})
    failed = await app.ended(asked["id"])
    retrying = ("runs", "retry", failed["id"], "--from", "start", "--wait")
    async with launched(*retrying, api_url=app.base_url) as program:
        await program.printed("is waiting_for_user")
        assert await program.stopped(signal.SIGINT) == 130
        assert program.output == []
    [attempt] = await _objects(app, "runs", "list", "--active")
    assert (attempt["retry_of"], attempt["status"]) == (failed["id"], "waiting_for_user")


async def test_a_filter_that_cannot_be_is_wrong_usage_in_the_api_s_words(app: App) -> None:
    status, program = await run("runs", "list", "--status", "done", api_url=app.base_url)
    assert (status, program.output) == (2, [])
    assert program.errors[0].startswith("turnwright: query.status: 'done' is none of: ")
    assert program.errors[0].endswith("(VALIDATION_FAILED)")


async def test_without_its_key_the_api_says_so_and_the_setting_is_named(
    sqlite_deployment: dict[str, str],
) -> None:
    create = ("keys", "create", "--tenant", "acme", "--scopes", "read")
    key = (await run(*create, **sqlite_deployment))[1].output[-1]
    async with started("api", **sqlite_deployment, auth="keys") as api:
        for given, code in (
            ({}, "(UNAUTHENTICATED); set TURNWRIGHT_API_KEY"),
            ({"api_key": "tw_wrong"}, "(UNAUTHENTICATED); set TURNWRIGHT_API_KEY"),
        ):
            status, line = await refusal("runs", "list", api_url=api.url, **given)
            assert (status, code in line) == (1, True)
        assert (await run("runs", "list", api_url=api.url, api_key=key))[0] == 0
        status, line = await refusal("runs", "cancel", RUN, api_url=api.url, api_key=key)
        assert (status, "(FORBIDDEN); the key in TURNWRIGHT_API_KEY" in line) == (1, True)


async def test_without_a_turnwright_there_it_is_one_line_that_names_the_setting() -> None:
    nobody, somebody = lasting_port(), lasting_port()
    other = (sys.executable, "-u", "-m", "http.server", str(somebody), "--bind", "127.0.0.1")
    async with launched(command=other) as server:
        await server.said("Serving HTTP")
        for url, status, said in (
            (f"http://127.0.0.1:{nobody}", 1, f"cannot be reached at http://127.0.0.1:{nobody}"),
            (f"http://127.0.0.1:{somebody}", 1, "(404) is no Turnwright API"),
            ("ftp://example", 2, "must be http://host:port or https://…"),
        ):
            for command in (("runs", "list"), ("runs", "watch"), ("sessions", "show", "ses_x")):
                refused, line = await refusal(*command, api_url=url)
                assert (refused, said in line, "TURNWRIGHT_API_URL" in line) == (status, True, True)


async def test_a_long_list_is_read_page_by_page(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MAX_PAGE", 2)
    session = await app.session()
    runs = [await app.turn(session, script({"text": "Hello."})) for _ in range(5)]
    settings = Settings(api_url=app.base_url)

    def listed(limit: int) -> list[str]:
        with remote.Remote(settings) as api:
            return [run["id"] for run in api.items("runs", limit=limit, session_id=session)]

    newest_first = [run["id"] for run in reversed(runs)]
    for limit in (1, 2, 3, 5, 100):
        assert await asyncio.to_thread(listed, limit) == newest_first[:limit]


def test_times_are_told_in_two_units() -> None:
    told = [duration(seconds) for seconds in (-1, 0.4, 59, 200, 3600, 441_000)]
    assert told == ["0s", "0s", "59s", "3m 20s", "1h 0m", "5d 2h"]
