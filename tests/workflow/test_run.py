"""The run as a workflow, on the real store: what it does when parts of it go wrong."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError

from activities.boundary import FAULT_ATTEMPTS
from tests.store.building import TENANT
from tests.support.app import PATIENCE, ask, script
from tests.support.servers import TemporalServer
from tests.workflow.driving import Theatre, theatre
from turnwright import Agent, tool
from turnwright.domain.deciding import Settle
from turnwright.domain.errors import Unavailable, UnknownEvent
from turnwright.domain.ports import Owner, Recorded
from turnwright.domain.run import RunStatus
from turnwright.search_attributes import ACTOR, ROOM, RUN, SESSION, STATUS
from turnwright.store.engine import Database, Tx
from turnwright.store.runs import RunStore
from turnwright.store.sessions import get_session
from turnwright.store.tables import events

MARK = "xyzzy-plugh"


@tool
def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


async def test_arguments_that_do_not_validate_are_a_result_that_the_model_can_mend(
    migrated_database_url: str, temporal_server: TemporalServer
) -> None:
    """Behaviour 40; and so is the name of a tool that there is not."""
    agent = Agent(name="scripted", instructions="", model="scripted:script", tools=[double])
    rounds = [
        {"calls": [{"name": name, "arguments": arguments}]}
        for name, arguments in (
            ("double", {"number": "many"}),
            ("double", "not json"),
            ("triple", {}),
            ("double", {"number": 21}),
        )
    ]
    async with (
        theatre(migrated_database_url, temporal_server.client, agent=agent) as stage,
        stage.worker(),
    ):
        run = await stage.say(await stage.session(), script(*rounds, {"text": "{result:double}"}))
        run = await stage.ended(run)
        returned = [e.data for e in await stage.log(run) if e.type == "tool.returned"]
    assert [data["outcome"] for data in returned] == ["error", "error", "error", "ok"]
    assert "number" in returned[0]["content"]
    assert "triple" in returned[2]["content"]
    assert run.output is not None
    assert run.output.text == "42"


async def test_a_run_is_found_and_read_in_temporal(stage: Theatre) -> None:
    """By session, run, actor, room and status; and its state is there without its content."""
    async with stage.worker():
        run = await stage.asked(await stage.say(await stage.session(), script(ask(f"{MARK}?"))))
        details = await stage.handle(run).query("__temporal_workflow_metadata")
        description = await stage.handle(run).describe()
        found = description.typed_search_attributes
        assert {key.name: found.get(key) for key in (SESSION, RUN, ACTOR, ROOM)} == {
            SESSION.name: run.session_id,
            RUN.name: run.id,
            ACTOR.name: "scripted",
            ROOM.name: "lab",
        }
        assert found.get(STATUS) == "waiting_for_user"
        assert "waiting_for_user" in str(details)
        assert run.id in str(details)
        assert await description.memo_value("run_id", type_hint=str) == run.id
        for told in (str(details), str(description.raw_description), str(found)):
            assert MARK not in told
        await stage.answer(run, "yes")
        await stage.ended(run)


async def test_a_run_cancelled_before_anybody_opened_it_is_in_the_log_and_frees_its_session(
    stage: Theatre,
) -> None:
    """CONTRACT.md, "Order inside a turn", of a run cancelled while `starting`."""
    run = await stage.say(await stage.session(), script({"text": "never"}))
    await stage.handle(run).cancel()
    async with stage.worker():
        run = await stage.ended(run)
        with pytest.raises(WorkflowFailureError):
            await stage.handle(run).result()
        again = await stage.say(run.session_id, script({"text": "fine"}))
        assert (await stage.ended(again)).status is RunStatus.COMPLETED
    assert [event.type for event in await stage.log(run)] == [
        "message.user", "run.started", "run.cancel_requested", "run.cancelled",
    ]  # fmt: skip


async def test_a_cancel_does_not_reach_a_run_that_is_being_settled(stage: Theatre) -> None:
    """The settling step goes on to its end: one terminal event, and the execution says the same."""
    store = Slow(stage.database)
    async with stage.worker(runs=store):
        run = await stage.say(await stage.session(), script(ask("Go on?")))
        await stage.asked(run)
        await stage.handle(run).cancel()
        async with asyncio.timeout(PATIENCE):
            await store.settling.wait()
        await stage.handle(run).cancel()
        store.go_on.set()
        run = await stage.ended(run)
        with pytest.raises(WorkflowFailureError):
            await stage.handle(run).result()
        status = (await stage.handle(run).describe()).status
    assert (run.status, status) == (RunStatus.CANCELLED, WorkflowExecutionStatus.CANCELED)


class Slow(RunStore):
    """A store in which settling waits until it is told to go on."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.settling, self.go_on = asyncio.Event(), asyncio.Event()

    async def settle(
        self, owner: Owner, step: Settle, *, moment: datetime | None = None, after: int = 0
    ) -> Recorded:
        self.settling.set()
        await self.go_on.wait()
        return await super().settle(owner, step, moment=moment, after=after)


class Faulty(RunStore):
    """A store whose opening fails twice, with an error that quotes what was said."""

    attempts = 0

    async def open(
        self, owner: Owner, *, displaces: str | None = None, reopens: bool = False
    ) -> Recorded:
        self.attempts += 1
        if self.attempts < 3:
            raise RuntimeError(f"could not insert {MARK}")
        return await super().open(owner, displaces=displaces, reopens=reopens)


async def test_a_fault_that_passes_costs_nothing_and_tells_temporal_nothing(
    stage: Theatre,
) -> None:
    async with stage.worker(runs=Faulty(stage.database)):
        run = await stage.say(await stage.session(), script({"text": "fine"}))
        assert (await stage.ended(run)).status is RunStatus.COMPLETED
        await stage.handle(run).result()
    history = await stage.handle(run).fetch_history()
    assert MARK.encode() not in b"".join(e.SerializeToString() for e in history.events)


async def test_a_log_of_a_newer_version_is_left_as_it_is_until_it_is_known(
    stage: Theatre,
) -> None:
    """Behaviour 37: however often a worker looks, it writes nothing and ends nothing."""
    store = Looking(stage.database)
    async with stage.worker(runs=store):
        run = await stage.asked(
            await stage.say(await stage.session(), script(ask("Go on?"), {"text": "Done"}))
        )
        before = await stage.log(run)
        await stage.database.write(_version, run.id, 99)
        await stage.answer(run, "yes")
        async with asyncio.timeout(PATIENCE):
            await store.looked_often.wait()
        assert [event.id for event in await stage.log(run)] == [event.id for event in before]
        await stage.database.write(_version, run.id, 1)
        assert (await stage.ended(run)).status is RunStatus.COMPLETED


class Looking(RunStore):
    """A store that says when it has met a log that it does not know more often than a fault."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.looks, self.looked_often = 0, asyncio.Event()

    async def take(
        self, owner: Owner, *, after: int, kinds: Sequence[str] | None = None
    ) -> Recorded:
        try:
            return await super().take(owner, after=after, kinds=kinds)
        except UnknownEvent:
            self.looks += 1
            if self.looks > FAULT_ATTEMPTS:
                self.looked_often.set()
            raise


async def test_a_worker_that_waits_for_its_database_can_be_stopped(stage: Theatre) -> None:
    """And what it waited with goes on at the next one."""
    away = Away(stage.database)
    async with asyncio.timeout(PATIENCE), stage.worker(runs=away):
        run = await stage.asked(
            await stage.say(await stage.session(), script(ask("Go on?"), {"text": "Done"}))
        )
        await stage.answer(run, "yes")
        await away.looked_often.wait()
    async with stage.worker():
        assert (await stage.ended(run)).status is RunStatus.COMPLETED


class Away(RunStore):
    """A store whose database is away whenever an answer is looked for."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.looks, self.looked_often = 0, asyncio.Event()

    async def take(
        self, owner: Owner, *, after: int, kinds: Sequence[str] | None = None
    ) -> Recorded:
        self.looks += 1
        if self.looks > FAULT_ATTEMPTS:
            self.looked_often.set()
        raise Unavailable


def _version(tx: Tx, run_id: str, version: int) -> None:
    tx.connection.execute(
        events.update().where(events.c.run_id == run_id).values(schema_version=version)
    )


async def test_a_session_is_free_as_soon_as_its_run_has_ended(stage: Theatre) -> None:
    async with stage.worker():
        run = await stage.ended(await stage.say(await stage.session(), script({"text": "1"})))
        session = await stage.database.read(get_session, run.session_id, tenant=TENANT)
        assert session.active_run is None
