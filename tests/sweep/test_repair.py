"""What becomes of an active run without an open execution, and that nothing else is touched."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from sqlalchemy import delete

from tests.support.app import App, ask, running_app, script
from tests.support.servers import TemporalServer
from tests.sweep.building import NOW, accepted, holder, repair_of, row, terminate, without_worker
from turnwright.executions import Start
from turnwright.repair import Mended, Repair, Terminated
from turnwright.store.engine import Tx
from turnwright.store.tables import inbox, sessions
from turnwright.sweep import Sweep

DAY = timedelta(days=1)


@pytest.fixture
async def app(migrated_database_url: str, temporal_server: TemporalServer) -> AsyncIterator[App]:
    async with running_app(migrated_database_url, temporal_server) as running:
        yield running


@pytest.fixture
async def idle(migrated_database_url: str, temporal_server: TemporalServer) -> AsyncIterator[App]:
    async with running_app(migrated_database_url, temporal_server, worker=False) as running:
        yield running


@pytest.mark.parametrize("terminated", ["leave", "settle", "carry_on"])
async def test_a_run_with_an_open_execution_is_left_alone(app: App, terminated: Terminated) -> None:
    run = await app.asked(await app.session(), ask("Go on?"), {"text": "done"})

    done = await repair_of(app).look_after(await row(app, run["id"]), terminated=terminated)

    assert done is Mended.NOTHING
    assert await app.run(run["id"]) == run


async def test_a_terminated_run_is_left_for_as_long_as_a_reset_may_take_it_back(app: App) -> None:
    run = await app.asked(await app.session(), ask("Go on?"), {"text": "done"})
    await terminate(app, run["session_id"])
    asked = await row(app, run["id"])

    for meant, done in ((DAY, Mended.LEFT), (NOW, Mended.SETTLED)):
        repair = Repair(app.database, app.process.executions, meant=meant)
        assert await repair.look_after(asked, terminated="leave") is done

    ended = await app.run(run["id"])
    assert (ended["status"], ended["failure"]["reason"]) == ("failed", "terminated")
    assert await repair_of(app).look_after(asked, terminated="settle") is Mended.NOTHING


async def test_a_terminated_run_can_be_carried_on(app: App) -> None:
    """The question that it had asked is still the same one."""
    run = await app.asked(await app.session(), ask("Go on?"), {"text": "done"})
    await terminate(app, run["session_id"])

    done = await repair_of(app).look_after(await row(app, run["id"]), terminated="carry_on")

    assert done is Mended.CARRIED_ON
    question = run["waiting"]["question"]["id"]
    answer = {"text": "yes", "question_id": question}
    assert (await app.post(f"/v1/runs/{run['id']}/input", answer)).status_code == 202
    assert (await app.ended(run["id"]))["output"]["text"] == "done"


async def test_a_run_that_was_terminated_before_anybody_opened_it_is_settled_whole(
    idle: App,
) -> None:
    """Its trigger and its start are in the log, before its end."""
    session_id = await idle.session()
    run = (await idle.say(session_id, script({"text": "never"})))["run"]
    await holder(idle, run, open=True)
    await terminate(idle, session_id)

    done = await repair_of(idle).look_after(await row(idle, run["id"]), terminated="settle")

    assert done is Mended.SETTLED
    types = [event["type"] for event in await idle.events(session_id)]
    assert types == ["session.created", "message.user", "run.started", "run.failed"]


async def test_an_execution_that_was_terminated_before_it_took_the_run_over_is_settled_too(
    app: App,
) -> None:
    """Such as a reset that was thought better of: the row still names the one before it."""
    run = await app.asked(await app.session(), ask("Go on?"), {"text": "done"})
    await terminate(app, run["session_id"])
    asked = await row(app, run["id"])
    assert await without_worker(app).start(asked) is Start.STARTED
    await terminate(app, run["session_id"])

    assert await repair_of(app).look_after(asked, terminated="settle") is Mended.SETTLED

    ended = await app.run(run["id"])
    assert (ended["status"], ended["failure"]["reason"]) == ("failed", "terminated")


async def test_a_run_that_cannot_be_opened_is_started_again_but_not_at_once(app: App) -> None:
    """Its trigger is not there: a fault that no new execution mends."""
    session_id = await app.session()
    stuck = await _without_trigger(app, session_id)
    failed = await holder(app, {"id": stuck, "session_id": session_id}, open=False)
    assert failed.failed_at is not None

    sweep = Sweep(Repair(app.database, app.process.executions, again=DAY), fresh=NOW, quiet=NOW)
    await sweep.once()
    assert await app.process.executions.holder(session_id) == failed

    assert await repair_of(app).look_after(await row(app, stuck), terminated="leave") is (
        Mended.CARRIED_ON
    )
    again = await app.process.executions.holder(session_id)
    assert again is not None
    assert again.execution_id != failed.execution_id
    await app.database.write(_erase, session_id)


async def test_an_erased_run_is_nobodys_to_mend(idle: App) -> None:
    session_id = await idle.session()
    run = (await idle.say(session_id, script({"text": "never"})))["run"]
    known = await row(idle, run["id"])
    await idle.database.write(_erase, session_id)
    assert await repair_of(idle).look_after(known, terminated="settle") is Mended.NOTHING


async def test_a_cancel_reaches_the_executions_of_its_run_alone(app: App) -> None:
    """Not the next run's, which has the same workflow id; and none that is closed."""
    session_id = await app.session()
    executions = app.process.executions
    first = await app.asked(session_id, ask("Go on?"))
    assert await executions.cancel(await row(app, first["id"]))
    assert (await app.ended(first["id"]))["status"] == "cancelled"
    await holder(app, first, open=False)
    assert not await executions.cancel(await row(app, first["id"]))

    second = await app.asked(session_id, ask("And now?"), {"text": "done"})
    assert not await executions.cancel(await row(app, first["id"]))
    assert (await app.run(second["id"]))["status"] == "waiting_for_user"
    await app.post(f"/v1/runs/{second['id']}/input", {"text": "yes"})
    assert (await app.ended(second["id"]))["status"] == "completed"


async def _without_trigger(app: App, session_id: str) -> str:
    """A run that was handed to Temporal, and whose trigger is lost."""
    run = await accepted(app, session_id, "Hello?")
    await app.database.write(_lose, run.id)
    assert await app.process.executions.start(run) is Start.STARTED
    return run.id


def _lose(tx: Tx, run_id: str) -> None:
    tx.connection.execute(delete(inbox).where(inbox.c.run_id == run_id))


def _erase(tx: Tx, session_id: str) -> None:
    tx.connection.execute(delete(sessions).where(sessions.c.id == session_id))
