"""The sweep carries on what was accepted and lost on its way, and harms nothing else."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.app import App, ask, running_app, script
from tests.support.servers import TemporalServer, dev_server
from tests.sweep.building import NOW, accepted, repair_of, row, terminate, without_worker
from turnwright.executions import Start
from turnwright.repair import Repair
from turnwright.store.admission import accept_answer
from turnwright.sweep import Reminders, Rota, Sweep

TENANT = "default"


@pytest.fixture
async def app(migrated_database_url: str, temporal_server: TemporalServer) -> AsyncIterator[App]:
    """A running application."""
    async with running_app(migrated_database_url, temporal_server) as running:
        yield running


def sweep_of(app: App) -> Sweep:
    """A sweep that finds everything old enough."""
    return Sweep(repair_of(app), fresh=NOW, quiet=NOW)


async def test_a_run_that_was_never_started_is_started(app: App) -> None:
    """Swept twice, it still is one execution and one turn."""
    run = await accepted(app, await app.session(), script({"text": "done"}))
    await sweep_of(app).once()
    await sweep_of(app).once()
    assert (await app.ended(run.id))["status"] == "completed"


async def test_a_wake_up_that_was_lost_is_repeated(app: App) -> None:
    """The answer is in the inbox, and nobody told the run."""
    run = await app.asked(await app.session(), ask("Go on?"), {"text": "done"})
    await app.database.write(
        accept_answer,
        run["id"],
        tenant=TENANT,
        author=None,
        text="yes",
        choice=None,
        question_id=None,
    )
    await sweep_of(app).once()
    assert (await app.ended(run["id"]))["status"] == "completed"


async def test_an_execution_whose_run_has_long_ended_makes_way(app: App) -> None:
    """It holds the session's workflow id, so that the next run could not start."""
    session_id = await app.session()
    first = await app.turn(session_id, script({"text": "one"}))
    stuck = without_worker(app)
    while await stuck.start(await row(app, first["id"])) is not Start.STARTED:
        pass
    second = await accepted(app, session_id, script({"text": "two"}))
    await sweep_of(app).once()
    await sweep_of(app).once()
    ended = await app.ended(second.id)
    assert ended["output"]["text"] == "two"


async def test_a_run_that_was_terminated_is_settled_and_its_session_lives(app: App) -> None:
    """Behaviour 42, by the sweep: an operator meant it."""
    session_id = await app.session()
    run = await app.asked(session_id, ask("Go on?"))
    await terminate(app, session_id)
    await sweep_of(app).once()
    ended = await app.run(run["id"])
    assert (ended["status"], ended["failure"]["reason"]) == ("failed", "terminated")
    assert (await app.turn(session_id, script({"text": "fine"})))["status"] == "completed"


async def test_with_temporal_s_database_lost_a_waiting_run_is_carried_on_from_the_log(
    migrated_database_url: str, temporal_server: TemporalServer, tmp_path: Path
) -> None:
    """Guarantee 9: recorded rounds are not asked again, and the question can be answered."""
    journal = tmp_path / "journal"
    rounds = [ask("Go on?") | {"journal": str(journal)}, {"text": "done"}]
    async with running_app(migrated_database_url, temporal_server) as before:
        run = await before.asked(await before.session(), *rounds)
    async with (
        dev_server() as empty,
        running_app(migrated_database_url, empty) as after,
    ):
        await sweep_of(after).once()
        answered = await after.post(f"/v1/runs/{run['id']}/input", {"text": "yes"})
        assert answered.status_code == 202
        ended = await after.ended(run["id"])
        assert ended["status"] == "completed"
        assert ended["temporal"]["execution_id"] != run["temporal"]["execution_id"]
    assert len(journal.read_text().splitlines()) == 1


async def test_an_answer_that_finds_its_execution_lost_has_its_run_carried_on_at_once(
    migrated_database_url: str, temporal_server: TemporalServer
) -> None:
    """The run need not have been quiet for long first."""
    async with running_app(migrated_database_url, temporal_server) as before:
        run = await before.asked(await before.session(), ask("Go on?"), {"text": "done"})
    async with dev_server() as empty, running_app(migrated_database_url, empty) as after:
        answered = await after.post(f"/v1/runs/{run['id']}/input", {"text": "yes"})
        assert answered.status_code == 202
        await Sweep(Repair(after.database, after.process.executions), fresh=NOW).once()
        assert (await after.ended(run["id"]))["status"] == "completed"


async def test_a_walk_goes_round_a_page_at_a_time() -> None:
    """So that what lies stuck in front starves nothing behind it."""
    walked: list[str] = []
    rota = _rota(["a", "b", "c"], size=2)
    for _ in range(3):
        await rota.walk(lambda item: _note(walked, item))
    assert walked == ["a", "b", "c", "a", "b"]


async def test_a_walk_that_is_broken_off_goes_on_after_what_broke_it_off() -> None:
    walked: list[str] = []

    async def act(item: Item) -> None:
        if item.id == "a":
            raise ConnectionError
        await _note(walked, item)

    rota = _rota(["a", "b", "c"], size=3)
    for _ in range(2):
        with suppress(ConnectionError):
            await rota.walk(act)
    assert walked == ["b", "c"]


def test_a_run_is_reminded_of_the_same_input_ever_less_often() -> None:
    """Each reminder is an event in its Temporal history."""
    now = 0.0
    reminders = Reminders(clock=lambda: now)
    given = []
    for second in range(100):
        now = float(second)
        if reminders.due("msg_1"):
            given.append(second)
    assert given == [0, 2, 6, 14, 30, 62]
    assert reminders.due("msg_2")


@dataclass(frozen=True)
class Item:
    id: str


def _rota(ids: Sequence[str], *, size: int) -> Rota[Item]:
    async def page(after: str) -> list[Item]:
        return [Item(found) for found in ids if found > after][:size]

    return Rota(page, size)


async def _note(walked: list[str], item: Item) -> None:
    walked.append(item.id)
