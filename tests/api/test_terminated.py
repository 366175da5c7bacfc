"""A run that an operator terminated is in nobody's way: the next message settles it."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.support.app import App, Json, ask, running_app, script
from tests.sweep.building import holder, terminate
from turnwright.service import listen, url_of

DONE = script({"text": "done"})
NOWHERE = "127.0.0.1:9"


async def _terminated(app: App, session_id: str) -> Json:
    run = await app.asked(session_id, ask("Go on?"))
    await terminate(app, session_id)
    return run


async def test_the_next_message_settles_it_and_starts_a_new_turn_at_once(app: App) -> None:
    """Behaviour 42."""
    session_id = await app.session()
    run = await _terminated(app, session_id)

    accepted = await app.say(session_id, DONE)

    old = await app.run(run["id"])
    assert (old["status"], old["failure"]["reason"]) == ("failed", "terminated")
    assert accepted["after"] == old["last_sequence"]
    assert (await app.ended(accepted["run"]["id"]))["status"] == "completed"


async def test_of_many_next_messages_one_is_taken_and_the_rest_are_told_of_its_run(
    app: App,
) -> None:
    session_id = await app.session()
    await _terminated(app, session_id)

    answers = await asyncio.gather(
        *(app.post(f"/v1/sessions/{session_id}/messages", {"text": DONE}) for _ in range(5))
    )

    [taken] = [answer.json() for answer in answers if answer.status_code == 202]
    refused = [answer.json() for answer in answers if answer.status_code == 409]
    assert len(refused) == 4
    assert {problem["code"] for problem in refused} == {"SESSION_BUSY"}
    assert (await app.ended(taken["run"]["id"]))["status"] == "completed"


async def test_words_to_a_run_that_was_terminated_at_work_become_a_message(idle_app: App) -> None:
    session_id = await idle_app.session()
    run = (await idle_app.say(session_id, DONE))["run"]
    await holder(idle_app, run, open=True)
    refused = await idle_app.post(f"/v1/sessions/{session_id}/send", {"text": DONE})
    assert (refused.status_code, refused.json()["code"]) == (409, "SESSION_NOT_AWAITING_USER")
    await terminate(idle_app, session_id)

    sent = await idle_app.post(f"/v1/sessions/{session_id}/send", {"text": DONE}, key="once")

    assert (sent.status_code, sent.json()["routed"]) == (202, "message")
    assert (await idle_app.run(run["id"]))["failure"]["reason"] == "terminated"
    again = await idle_app.post(f"/v1/sessions/{session_id}/send", {"text": DONE}, key="once")
    assert (again.text, again.headers["Idempotency-Replayed"]) == (sent.text, "true")


async def test_its_session_can_be_closed(app: App) -> None:
    session_id = await app.session()
    await _terminated(app, session_id)
    closed = await app.client.patch(f"/v1/sessions/{session_id}", json={"status": "closed"})
    assert (closed.status_code, closed.json()["status"]) == (200, "closed")


class Nowhere:
    """Where no Temporal answers."""

    def __init__(self, address: str) -> None:
        self.address = address


@pytest.fixture
def silent() -> Iterator[Nowhere]:
    """Takes connections (the kernel does) and never says a word."""
    with listen("127.0.0.1", 0) as listening:
        yield Nowhere(url_of(listening).removeprefix("http://"))


async def test_while_temporal_is_away_a_busy_session_is_just_busy(
    migrated_database_url: str, silent: Nowhere
) -> None:
    """Whether it refuses connections or takes them and is silent."""
    for temporal in (Nowhere(NOWHERE), silent):
        async with running_app(migrated_database_url, temporal, worker=False) as app:
            session_id = await app.session()
            run = (await app.say(session_id, DONE))["run"]
            for route in ("messages", "send"):
                answer = await app.post(f"/v1/sessions/{session_id}/{route}", {"text": "And?"})
                problem = answer.json()
                assert (answer.status_code, problem["run_id"]) == (409, run["id"])
                assert problem["run_status"] == "starting"


async def test_a_busy_session_is_busy_as_long_as_its_execution_is_open(
    idle_app: App,
) -> None:
    session_id = await idle_app.session()
    run = (await idle_app.say(session_id, DONE))["run"]
    await holder(idle_app, run, open=True)
    answer = await idle_app.post(f"/v1/sessions/{session_id}/messages", {"text": "And?"})
    assert (answer.status_code, answer.json()["code"]) == (409, "SESSION_BUSY")
    assert (await idle_app.run(run["id"]))["status"] == "starting"
