"""The log: no gap, no double, nothing lost, whatever is rolled back."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from tests.store.building import Bench
from tests.store.conftest import OpenDatabase
from turnwright.domain.errors import NotFound, UnknownEvent
from turnwright.domain.events import Event, EventData, RunCancelRequested, decode
from turnwright.store.engine import Database, Tx
from turnwright.store.event_log import Draft, append, find, lock_session, read_events
from turnwright.store.sessions import erase_session
from turnwright.store.tables import UtcDateTime, events, metadata


class Undone(Exception):
    """Rolls a transaction back."""


def write(
    tx: Tx, session_id: str, *reasons: str, undo: bool = False, key: str | None = None
) -> None:
    lock_session(tx, session_id)
    facts: list[EventData] = [RunCancelRequested(reason=reason) for reason in reasons]
    append(tx, session_id, [Draft(data=fact, key=key) for fact in facts])
    if undo:
        raise Undone


async def test_concurrent_appends_with_rollbacks_leave_no_gap_and_no_double(
    bench: Bench, open_database: OpenDatabase
) -> None:
    """Behaviour 28, over three processes' views of one database."""
    session_id = await bench.session()
    views = [bench.database, open_database(), open_database()]

    async def one(number: int) -> None:
        undo = number % 3 == 0
        reasons = [f"{number}.{i}" for i in range(1 + number % 2)]
        try:
            await views[number % len(views)].write(write, session_id, *reasons, undo=undo)
        except Undone:
            assert undo

    await asyncio.gather(*(one(number) for number in range(30)))
    log = await bench.database.read(read_events, session_id=session_id)
    assert [event.sequence for event in log] == list(range(1, len(log) + 1))
    assert {event.data["reason"] for event in log[1:]} == {
        f"{number}.{i}" for number in range(30) if number % 3 for i in range(1 + number % 2)
    }


async def test_a_key_is_recorded_once(bench: Bench) -> None:
    """The second record under a key leaves nothing, not even a used sequence."""
    session_id, other = await bench.session(), await bench.session()
    await bench.database.write(write, session_id, "first", key="step")
    before = await bench.everything()
    with pytest.raises(IntegrityError):
        await bench.database.write(write, session_id, "second", key="step")
    assert await bench.everything() == before
    await bench.database.write(write, other, "elsewhere", key="step")
    found = await bench.database.read(find, session_id, "step", "none")
    assert {key: event.data["reason"] for key, event in found.items()} == {"step": "first"}


async def test_many_facts_may_have_no_key(bench: Bench) -> None:
    session_id = await bench.session()
    await bench.database.write(write, session_id, "a", "b", "c")
    assert len(await bench.database.read(read_events, session_id=session_id)) == 4


async def test_readers_are_told_of_what_was_committed_and_of_nothing_else(
    open_database: OpenDatabase,
) -> None:
    told: list[Mapping[str, Sequence[Event]]] = []
    database = open_database()
    session_id = await Bench(database).session()
    database.on_commit = told.append
    with pytest.raises(Undone):
        await database.write(write, session_id, "never", undo=True)
    assert told == []
    await database.write(write, session_id, "so")
    await database.read(read_events, session_id=session_id)
    assert [list(appended) for appended in told] == [[session_id]]


async def test_a_page_is_what_follows_a_sequence(bench: Bench) -> None:
    session_id = await bench.session()
    await bench.database.write(write, session_id, *map(str, range(6)))
    page = await bench.database.read(read_events, session_id=session_id, after=2, limit=3)
    assert [event.sequence for event in page] == [3, 4, 5]


async def test_an_event_of_a_newer_version_is_refused_and_left_as_it_is(bench: Bench) -> None:
    owner = await bench.started()
    await bench.database.write(_make_newer, owner.run_id)
    before = await bench.everything()
    (event, *_) = await bench.log(owner)
    with pytest.raises(UnknownEvent, match="version 99"):
        decode(event)
    with pytest.raises(UnknownEvent, match="version 99"):
        await bench.runs.begin_round(owner, 1)
    assert await bench.everything() == before


def _make_newer(tx: Tx, run_id: str) -> None:
    tx.connection.execute(
        events.update().where(events.c.run_id == run_id).values(schema_version=99)
    )


async def test_an_erased_session_takes_no_more_events(bench: Bench) -> None:
    session_id = await bench.session()
    await bench.database.write(erase_session, session_id, tenant="acme")
    with pytest.raises(NotFound):
        await bench.database.write(write, session_id, "late")


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    moment=st.datetimes(
        min_value=datetime(1990, 1, 1),  # noqa: DTZ001
        max_value=datetime(2200, 1, 1),  # noqa: DTZ001
        timezones=st.sampled_from(
            [UTC, timezone(timedelta(hours=-7)), timezone(timedelta(hours=9))]
        ),
    )
)
async def test_a_moment_comes_back_exact_and_aware(bench: Bench, moment: datetime) -> None:
    """To the microsecond, in UTC, on both databases."""
    session_id = await bench.session()
    found = await bench.database.write(_store, session_id, moment)
    assert found == moment
    assert found.utcoffset() == timedelta(0)


def _store(tx: Tx, session_id: str, moment: datetime) -> datetime:
    where = events.c.session_id == session_id
    tx.connection.execute(events.update().where(where).values(created_at=moment))
    found = tx.connection.scalars(select(events.c.created_at).where(where)).one()
    assert isinstance(found, datetime)
    return found


def test_nothing_in_time_is_stored_otherwise() -> None:
    times = [c for table in metadata.tables.values() for c in table.c if c.name.endswith("_at")]
    assert len(times) > 10
    assert all(isinstance(column.type, UtcDateTime) for column in times)


def test_a_database_is_closed_when_its_transactions_are_done(database: Database) -> None:
    database.close()
    with pytest.raises(RuntimeError):
        asyncio.run(database.read(lambda _: None))
