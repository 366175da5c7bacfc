"""Projections dropped or garbled, and rebuilt from the log equal to what they were."""

from typing import Any

import pytest
from sqlalchemy import Table, func

from tests.store.building import ASK, TENANT, Bench, response, result
from turnwright.domain.errors import UnknownEvent
from turnwright.domain.run import Failure, RunStatus
from turnwright.store import rebuild as module
from turnwright.store.difference import Difference
from turnwright.store.engine import Tx
from turnwright.store.rebuild import Report, rebuild
from turnwright.store.run_rows import insert_run
from turnwright.store.sessions import SessionChange, change_session
from turnwright.store.tables import events, runs, sessions


async def lives(bench: Bench) -> None:
    """Sessions in every state, with runs in every state."""
    session_id = await bench.session()
    owner = await bench.started(session_id)
    await bench.round(owner, 1, response("Look", ("c1", "look"), ("c2", ASK)))
    await bench.runs.begin_call(owner, "c1", repeatable=False)
    await bench.runs.finish_call(owner, result("c1"))
    await bench.runs.ask(owner, "c2", text="Which?", choices=["a", "b"], within=None)
    await bench.answer(owner, choice="a")
    await bench.take(owner)
    await bench.round(owner, 2, response("Done"))
    change = SessionChange(values={"title": "Two", "metadata": {"k": [1, {"n": None}]}})
    await bench.database.write(change_session, session_id, change, tenant=TENANT)
    await bench.asked(["a", "b"], session_id)  # and waits
    cancelled, _ = await bench.asked()
    await bench.settle(cancelled, RunStatus.CANCELLED)
    failed = await bench.started()
    await bench.runs.fail(failed, Failure(reason="model_error", message="No.", retryable=True))
    task = await bench.started(await bench.session("task"))
    await bench.round(task, 1, response("Done"))
    await bench.started()  # and runs
    await bench.say(await bench.session())  # and starts


async def rows(bench: Bench) -> dict[str, list[Any]]:
    everything = await bench.everything()
    return {name: everything[name] for name in ("sessions", "runs", "events", "inbox")}


async def test_what_the_live_runs_wrote_is_what_the_log_says(bench: Bench) -> None:
    await lives(bench)
    before = await bench.everything()
    report = await rebuild(bench.database)
    assert (report.sessions, report.runs, report.differences) == (6, 6, [])
    assert report.equal
    assert await bench.everything() == before


async def test_rows_that_were_dropped_are_rebuilt_equal(bench: Bench) -> None:
    """Behaviour 30. What is accepted and not in the log is in the inbox, and stays."""
    await lives(bench)
    before = await rows(bench)
    await bench.database.write(_drop)
    report = await rebuild(bench.database)
    assert not report.equal
    assert {str(x).partition(": ")[2] for x in report.differences} == {"was missing"}
    assert await rows(bench) == before
    assert (await rebuild(bench.database)).equal


def _drop(tx: Tx) -> None:
    tx.connection.execute(runs.delete().where(runs.c.status != RunStatus.STARTING))


@pytest.mark.parametrize(
    ("table", "garbage"),
    [
        (runs, {"status": "failed", "output": {"message_id": "x", "text": "lies"}}),
        (runs, {"waiting": None, "usage": {"rounds": 99}, "limits": {}, "last_sequence": 0}),
        (runs, {"actor": "impostor", "trigger_message_id": "msg_none", "kind": "child"}),
        (runs, {"status": "teleported", "failure": {"why": "?"}, "ended_at": None}),
        (sessions, {"title": "lies", "metadata": None, "agent": "impostor", "mode": "task"}),
        (sessions, {"status": "closed", "last_sequence": 0, "closed_at": func.now()}),
    ],
)
async def test_rows_that_were_garbled_are_rebuilt_equal(
    bench: Bench, table: Table, garbage: dict[str, Any]
) -> None:
    """And the report names the fields."""
    await lives(bench)
    before = await rows(bench)

    def garble(tx: Tx) -> None:
        where = table.c.id != "" if table is sessions else runs.c.status != RunStatus.STARTING
        tx.connection.execute(table.update().where(where).values(**garbage))

    await bench.database.write(garble)
    report = await rebuild(bench.database)
    assert {name for x in report.differences for name in x.fields} == set(garbage)
    assert await rows(bench) == before
    assert (await rebuild(bench.database)).equal


async def test_a_row_that_the_log_knows_nothing_of_goes(bench: Bench) -> None:
    owner = await bench.started()
    stranger = (await bench.run(owner)).model_copy(
        update={"id": "run_stranger", "status": RunStatus.COMPLETED}
    )
    await bench.database.write(insert_run, stranger, tenant=TENANT)
    report = await rebuild(bench.database)
    assert report.differences == [Difference(id="run_stranger", surplus=True)]
    assert str(report.differences[0]) == "run_stranger: was not in the log"
    assert [row.id for row in (await bench.everything())["runs"]] == [owner.run_id]


async def test_who_owns_a_run_is_temporal_s_to_say_and_stays(bench: Bench) -> None:
    first = await bench.started()
    second = first.model_copy(update={"execution_id": "execution-2"})
    await bench.runs.open(second, displaces="execution-1")
    assert (await rebuild(bench.database)).equal
    await bench.round(second, 1, response("Done"))


async def test_rows_that_stood_in_each_other_s_way_are_mended(bench: Bench) -> None:
    """An ended run that reads as active does not keep the active one out."""
    session_id = await bench.session()
    ended = await bench.started(session_id)
    await bench.round(ended, 1, response("Done"))
    active = await bench.started(session_id)
    before = await rows(bench)

    def swap(tx: Tx) -> None:
        tx.connection.execute(runs.delete().where(runs.c.id == active.run_id))
        tx.connection.execute(runs.update().values(status="running", ended_at=None))

    await bench.database.write(swap)
    await rebuild(bench.database)
    assert await rows(bench) == before


async def test_a_run_goes_on_after_its_row_was_rebuilt(bench: Bench) -> None:
    owner, _ = await bench.asked(["a", "b"])
    await bench.database.write(_drop)
    await rebuild(bench.database)
    await bench.answer(owner, choice="a")
    await bench.take(owner)
    await bench.round(owner, 2, response("Done"))
    assert (await bench.run(owner)).status is RunStatus.COMPLETED


async def test_sessions_are_read_a_batch_at_a_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    for _ in range(5):
        await bench.session()
    assert (await rebuild(bench.database)).sessions == 5


async def test_a_session_erased_meanwhile_is_passed_over(bench: Bench) -> None:
    assert await bench.database.write(module.rebuild_session, "ses_gone") == Report()


async def test_a_newer_log_is_refused_and_left_as_it_is(bench: Bench) -> None:
    await bench.started()

    def make_newer(tx: Tx) -> None:
        tx.connection.execute(events.update().values(schema_version=99))
        tx.connection.execute(runs.update().values(status="failed"))

    await bench.database.write(make_newer)
    before = await bench.everything()
    with pytest.raises(UnknownEvent):
        await rebuild(bench.database)
    assert await bench.everything() == before
