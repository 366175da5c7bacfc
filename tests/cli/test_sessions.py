"""`turnwright sessions`: what an operator can see of sessions, through the API."""

import json

from tests.cli.programs import run
from tests.support.app import App, ask, script


async def _ok(app: App, *arguments: str) -> list[str]:
    status, program = await run("sessions", *arguments, api_url=app.base_url)
    assert (status, program.errors) == (0, [])
    return program.output


async def test_sessions_are_listed_newest_first_and_by_every_filter(app: App) -> None:
    closed = await app.session(room="shop", title="Old [red] lamp")
    await app.client.patch(f"/v1/sessions/{closed}", json={"status": "closed"})
    busy = await app.session(room="shop")
    run_ = await app.asked(busy, ask("Which?"))

    for arguments, expected in (
        ((), [busy, closed]),
        (("--limit", "1"), [busy]),
        (("--status", "closed"), [closed]),
        (("--agent", "scripted", "--room", "shop"), [busy, closed]),
        (("--room", "none"), []),
    ):
        lines = await _ok(app, "list", *arguments, "--json")
        assert [json.loads(line) for line in lines] == [
            await app.get(f"/v1/sessions/{session}") for session in expected
        ]
    table = "\n".join(await _ok(app, "list"))
    assert "Old [red] lamp" in table
    assert f"{run_['id']} waiting_for_user" in table
    assert await _ok(app, "list", "--room", "none") == ["no sessions"]


async def test_a_session_is_shown_with_its_runs(app: App) -> None:
    session = await app.session(title="A lamp")
    run_ = await app.turn(session, script({"text": "Hello."}))
    shown = await _ok(app, "show", session)
    assert "title      A lamp" in shown
    assert run_["id"] in "\n".join(shown)
    [line] = await _ok(app, "show", session, "--json")
    assert json.loads(line) == await app.get(f"/v1/sessions/{session}")


async def test_an_export_is_all_of_a_session(app: App) -> None:
    session = await app.session(title="Two\u2028lines")
    runs = [await app.turn(session, script({"text": "Hello."})) for _ in range(2)]

    exported = [json.loads(line) for line in await _ok(app, "export", session)]

    first, *rest = exported
    assert first == {"session": await app.get(f"/v1/sessions/{session}")}
    assert [one["run"] for one in rest if "run" in one] == [runs[1], runs[0]]
    assert [one["event"] for one in rest if "event" in one] == await app.events(session)
