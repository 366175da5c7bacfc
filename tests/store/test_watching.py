"""Changes of runs, read as they are committed: none lost, none doubled, across any resumption."""

import asyncio
import json
import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete, select, update

from tests.store.building import TENANT, Bench, response
from tests.store.conftest import OpenDatabase
from tests.support.databases import Databases
from turnwright.domain.evolve import fold
from turnwright.domain.ports import Owner
from turnwright.domain.run import RunStatus
from turnwright.settings import sqlalchemy_url
from turnwright.store.engine import Database, Tx
from turnwright.store.opening import open_run
from turnwright.store.pending import forget_old_answers
from turnwright.store.reading import RunFilter
from turnwright.store.run_changes import KEPT, forget_old_changes
from turnwright.store.sessions import erase_session
from turnwright.store.tables import run_changes
from turnwright.store.watching import Change, Cursor, Entry, Seen, enter, next_changes

ALL = RunFilter()
Key = tuple[str, str, int]


async def begin(
    database: Database, last: Cursor | None = None, wanted: RunFilter = ALL, tenant: str = TENANT
) -> Entry:
    return await database.read(enter, last, wanted, tenant=tenant)


async def rest(
    database: Database,
    cursor: Cursor,
    wanted: RunFilter = ALL,
    *,
    most: int = 500,
    tenant: str = TENANT,
) -> list[Change]:
    """All changes after the cursor that are there now."""
    found: list[Change] = []
    more = True
    while more:
        page = await database.read(next_changes, cursor, wanted, tenant=tenant, most=most)
        found += page.changes
        cursor, more = page.cursor, page.more
    return found


def keys(changes: Iterable[Change]) -> list[Key]:
    """Which event of which run each change is."""
    return [(change.run.id, change.type, change.run.last_sequence) for change in changes]


async def talk(bench: Bench, *, pause: random.Random | None = None) -> Owner:
    """A run that asks, is answered and completes; `run.resumed` and its end are events too."""
    steps = pause or random.Random(0)  # noqa: S311
    owner, _ = await bench.asked()
    await asyncio.sleep(steps.random() / 200)
    await bench.answer(owner, "x")
    await bench.take(owner)
    await asyncio.sleep(steps.random() / 200)
    await bench.round(owner, 2, response("Done."))
    return owner


TALK = ["run.started", "run.waiting", "run.resumed", "run.completed"]


async def test_a_watcher_gets_the_active_runs_and_then_each_change_with_its_row(
    bench: Bench,
) -> None:
    await talk(bench)
    asked, _ = await bench.asked()
    accepted = (await bench.say(await bench.session())).run
    entry = await begin(bench.database)
    assert entry.active == [accepted, await bench.run(asked)]
    assert await rest(bench.database, entry.cursor) == []

    await bench.runs.open(Owner(run_id=accepted.id, execution_id="execution-1"))
    await bench.answer(asked, "x")
    await bench.take(asked)
    resumed = await bench.run(asked)
    await bench.round(asked, 2, response("Done."))
    found = await rest(bench.database, entry.cursor)

    assert [(change.run.id, change.type) for change in found] == [
        (accepted.id, "run.started"),
        (asked.run_id, "run.resumed"),
        (asked.run_id, "run.completed"),
    ]
    assert found[1].run == resumed
    assert found[2].run == await bench.run(asked)


async def test_each_of_several_events_of_one_transaction_has_the_row_that_it_left(
    bench: Bench,
) -> None:
    owner = await bench.started()
    start = (await begin(bench.database)).cursor
    await bench.settle(owner, RunStatus.CANCELLED)
    found = await rest(bench.database, start)

    log = await bench.log(owner)
    assert [change.type for change in found] == ["run.cancel_requested", "run.cancelled"]
    for change in found:
        sequence = change.run.last_sequence
        assert change.run == fold(event for event in log if event.sequence <= sequence)


async def test_acceptance_alone_is_no_change(bench: Bench) -> None:
    start = (await begin(bench.database)).cursor
    await bench.say(await bench.session())
    assert await rest(bench.database, start) == []


@pytest.mark.parametrize("most", [1, 2, 3, 4, 500])
async def test_from_each_cursor_of_a_stream_on_comes_exactly_the_rest(
    bench: Bench, most: int
) -> None:
    start = (await begin(bench.database)).cursor
    for _ in range(3):
        await talk(bench)
    found = await rest(bench.database, start, most=most)
    assert [change.type for change in found] == TALK * 3
    later = [await talk(bench)]
    every = keys(found) + keys(await rest(bench.database, found[-1].cursor))
    assert {run for run, _, _ in every[-4:]} == {owner.run_id for owner in later}

    for at, change in enumerate(found, 1):
        entry = await begin(bench.database, change.cursor)
        assert entry.active is None
        for page in (1, 2, 500):
            again = await rest(bench.database, entry.cursor, most=page)
            assert keys(again) == every[at:]


async def test_only_what_is_wanted_is_told(bench: Bench) -> None:
    start = (await begin(bench.database)).cursor
    one, other = await talk(bench), await talk(bench)
    session = (await bench.run(one)).session_id
    for wanted, runs in (
        (RunFilter(session_id=session), [one]),
        (RunFilter(session_id=session, room="lab"), [one]),
        (RunFilter(session_id=session, room="attic"), []),
        (RunFilter(room="lab"), [one, other]),
        (RunFilter(room="attic"), []),
        (RunFilter(actor="assistant"), [one, other]),
        (RunFilter(actor="nobody"), []),
    ):
        found = await rest(bench.database, start, wanted)
        assert [(change.run.id, change.type) for change in found] == [
            (run.run_id, kind) for run in runs for kind in TALK
        ]


async def test_a_run_that_leaves_the_statuses_is_told_once_more(bench: Bench) -> None:
    waiting = RunFilter(status=("waiting_for_user",))
    entry = await begin(bench.database, wanted=waiting)
    assert entry.active == []
    await talk(bench)
    found = await rest(bench.database, entry.cursor, waiting)
    assert [(change.type, change.run.status) for change in found] == [
        ("run.waiting", "waiting_for_user"),
        ("run.resumed", "running"),
    ]
    ended = RunFilter(status=("completed", "failed"))
    found = await rest(bench.database, entry.cursor, ended)
    assert [change.type for change in found] == ["run.completed"]


async def test_another_tenant_is_told_nothing(bench: Bench) -> None:
    start = (await begin(bench.database, tenant="other")).cursor
    owner, _ = await bench.asked()
    assert (await begin(bench.database, tenant="other")).active == []
    assert await rest(bench.database, start, tenant="other") == []
    session = (await bench.run(owner)).session_id
    wanted = RunFilter(session_id=session)
    assert await rest(bench.database, start, wanted, tenant="other") == []
    assert len(await rest(bench.database, start, wanted)) == 2


async def test_a_cursor_that_is_too_old_gets_the_active_runs(bench: Bench) -> None:
    cursor = (await begin(bench.database)).cursor
    await talk(bench)
    kept = int(KEPT.total_seconds())
    fresh = cursor.model_copy(update={"at": cursor.at - kept + 60})
    old = cursor.model_copy(update={"at": cursor.at - kept - 60})
    assert (await begin(bench.database, fresh)).active is None
    entry = await begin(bench.database, old)
    assert entry.active == []
    assert await rest(bench.database, entry.cursor) == []


async def test_a_cursor_of_another_database_gets_the_active_runs(bench: Bench) -> None:
    await talk(bench)
    cursor = (await begin(bench.database)).cursor
    far = Seen(next=2**62)
    for foreign in (
        cursor.model_copy(update={"seen": far}),
        cursor.model_copy(update={"upto": far}),
    ):
        assert (await begin(bench.database, foreign)).active == []
    assert (await begin(bench.database, cursor)).active is None


async def test_what_nobody_can_resume_from_is_forgotten(bench: Bench) -> None:
    start = (await begin(bench.database)).cursor
    old, new = await talk(bench), await talk(bench)
    past = datetime.now(UTC) - KEPT - timedelta(hours=2)
    await bench.database.write(_date_back, old.run_id, past)
    await bench.database.write(forget_old_changes)
    await bench.database.write(forget_old_answers)
    assert {change.run.id for change in await rest(bench.database, start)} == {new.run_id}


async def test_with_every_change_forgotten_a_cursor_still_goes_on(bench: Bench) -> None:
    await talk(bench)
    cursor = (await begin(bench.database)).cursor
    await bench.database.write(_forget_all)
    assert (await begin(bench.database, cursor)).active is None
    entry = await begin(bench.database)
    owner = await talk(bench)
    for start in (cursor, entry.cursor):
        found = await rest(bench.database, start)
        assert [(change.run.id, change.type) for change in found] == [
            (owner.run_id, kind) for kind in TALK
        ]


async def test_an_erased_session_takes_its_changes_with_it(bench: Bench) -> None:
    start = (await begin(bench.database)).cursor
    kept, gone = await talk(bench), await talk(bench)
    seen = (await rest(bench.database, start))[-1].cursor
    session = (await bench.run(gone)).session_id
    await bench.database.write(erase_session, session, tenant=TENANT)
    assert {change.run.id for change in await rest(bench.database, start)} == {kept.run_id}
    assert (await begin(bench.database, seen)).active is None
    again = await talk(bench)
    assert {c.run.id for c in await rest(bench.database, seen)} == {again.run_id}


async def test_a_field_of_a_newer_version_is_passed_over(bench: Bench) -> None:
    start = (await begin(bench.database)).cursor
    owner = await bench.started()
    await bench.database.write(_add_fields)
    (change,) = await rest(bench.database, start)
    assert change.run == await bench.run(owner)


async def test_watchers_that_come_and_go_while_runs_race_lose_and_double_nothing(
    bench: Bench, open_database: OpenDatabase
) -> None:
    other = open_database()
    start = (await begin(bench.database)).cursor
    done = asyncio.Event()

    async def watch(seed: int) -> list[Change]:
        """Goes away at any change, also before the first, and comes back by its cursor."""
        chance = random.Random(seed)  # noqa: S311
        had: list[Change] = []
        cursor = start
        while True:
            last_look = done.is_set()
            entry = await begin(other, cursor)
            assert entry.active is None
            cursor, more = entry.cursor, True
            while more:
                before = cursor
                page = await other.read(
                    next_changes, cursor, ALL, tenant=TENANT, most=chance.randint(1, 9)
                )
                taken = chance.randint(0, len(page.changes) + 2)
                had += page.changes[:taken]
                cursor, more = page.cursor, page.more
                if taken < len(page.changes):
                    cursor = page.changes[taken - 1].cursor if taken else before
                    break
            else:
                if last_look:
                    return had
            await asyncio.sleep(0)

    watchers = [asyncio.create_task(watch(seed)) for seed in range(4)]
    chance = random.Random(5)  # noqa: S311
    owners = await asyncio.gather(*(talk(bench, pause=chance) for _ in range(30)))
    done.set()
    async with asyncio.timeout(60):
        seen = await asyncio.gather(*watchers)

    logs = await asyncio.gather(*(bench.log(owner) for owner in owners))
    expected = [
        (owner.run_id, event.type, event.sequence)
        for owner, log in zip(owners, logs, strict=True)
        for event in log
        if event.type.startswith("run.")
    ]
    for had in seen:
        assert sorted(keys(had)) == sorted(expected)
        for owner in owners:
            assert [change.type for change in had if change.run.id == owner.run_id] == TALK


async def test_a_snapshot_and_what_comes_after_it_make_up_the_runs_as_they_are(
    bench: Bench, open_database: OpenDatabase
) -> None:
    other = open_database()
    chance = random.Random(11)  # noqa: S311
    talks = asyncio.gather(*(talk(bench, pause=chance) for _ in range(20)))
    entries: list[Entry] = []
    while not talks.done():
        entries.append(await begin(other))
    owners = await talks
    for entry in entries:
        shown = {run.id: run for run in entry.active or ()}
        for change in await rest(other, entry.cursor):
            if (before := shown.get(change.run.id)) is not None:
                assert before.last_sequence < change.run.last_sequence
            shown[change.run.id] = change.run
        for run_id, run in shown.items():
            assert run.status is RunStatus.COMPLETED, run_id
    assert len(owners) == 20


async def test_a_transaction_that_commits_late_is_neither_lost_nor_doubled(
    postgres_bench: Bench,
) -> None:
    """It has its number and its position before others that are seen before it."""
    bench, database = postgres_bench, postgres_bench.database
    accepted = [(await bench.say(await bench.session())).run for _ in range(2)]
    early, late = [Owner(run_id=run.id, execution_id="execution-1") for run in accepted]
    start = (await begin(database)).cursor
    with database.writer.connect() as connection:
        open_run(Tx(connection), late, displaces=None, reopens=False)
        await bench.runs.open(early)
        await bench.round(early, 1, response("Done."))
        seen = await rest(database, start)
        assert {change.run.id for change in seen} == {early.run_id}
        # What is in flight shows in no snapshot either.
        entry = await begin(database)
        assert [run.status for run in entry.active or ()] == ["starting"]
        assert await rest(database, seen[-1].cursor) == []
        connection.commit()
    for cursor in (seen[-1].cursor, entry.cursor):
        assert [(c.run.id, c.type) for c in await rest(database, cursor)] == [
            (late.run_id, "run.started")
        ]
    # In the middle of what was seen, the rest of it comes first.
    found = await rest(database, seen[0].cursor, most=1)
    assert [(c.run.id, c.type) for c in found] == [
        (early.run_id, "run.completed"),
        (late.run_id, "run.started"),
    ]
    assert [c.run.id for c in await rest(database, start)].count(late.run_id) == 1
    assert await rest(database, found[-1].cursor) == []


async def test_rows_of_another_cluster_are_not_told_again_and_again(postgres_bench: Bench) -> None:
    """A restored backup's rows have numbers that this cluster has not given out yet."""
    bench, database = postgres_bench, postgres_bench.database
    await bench.started()
    await database.write(_number_as, 2**60)
    start = (await begin(database)).cursor
    owner = await bench.started()
    found = await rest(database, start)
    assert [change.run.id for change in found] == [owner.run_id]
    assert await rest(database, found[-1].cursor) == []


@pytest.fixture
def postgres_bench(postgres_databases: Databases) -> Iterator[Bench]:
    """SQLite has one writer: nothing commits late there."""
    with postgres_databases.migrated() as url:
        database = Database(sqlalchemy_url(url))
        yield Bench(database)
        database.close()


def _date_back(tx: Tx, run_id: str, moment: datetime) -> None:
    mine = run_changes.c.run_id == run_id
    tx.connection.execute(update(run_changes).where(mine).values(created_at=moment))


def _forget_all(tx: Tx) -> None:
    tx.connection.execute(delete(run_changes))


def _add_fields(tx: Tx) -> None:
    for row in tx.connection.execute(select(run_changes)).all():
        more = json.dumps(json.loads(row.run) | {"mood": "good"})
        here = run_changes.c.position == row.position
        tx.connection.execute(update(run_changes).where(here).values(run=more))


def _number_as(tx: Tx, number: int) -> None:
    tx.connection.execute(update(run_changes).values(xid=number))
