"""The queue of a busy session: in order, each message once, with no gap for anybody else."""

import asyncio
from collections.abc import Callable

import pytest

from tests.store.building import TENANT, Bench, choose, outcome, response
from tests.store.conftest import OpenDatabase
from turnwright.domain.errors import NotFound, SessionBusy
from turnwright.domain.ports import Owner
from turnwright.domain.queue import QueuedMessage, fold_queue
from turnwright.domain.run import Limits, Run, RunStatus
from turnwright.domain.sessions import Accepted, UserInput
from turnwright.store.busy import accept_if_busy
from turnwright.store.engine import Database, Tx
from turnwright.store.event_log import lock_session, read_events
from turnwright.store.new_runs import asked_for
from turnwright.store.queue import (
    dequeue,
    enqueue,
    queue_page,
    queued,
    require_queued,
    withdraw,
    withdraw_all,
)
from turnwright.store.rebuild import rebuild
from turnwright.store.run_rows import active_root
from turnwright.store.sessions import SessionChange, change_session
from turnwright.store.tables import inbox, runs

QUEUE_EVENTS = ("message.queued", "message.dequeued", "message.withdrawn")


def _enqueue(tx: Tx, session_id: str, text: str, *, front: bool = False) -> QueuedMessage:
    session = lock_session(tx, session_id, tenant=TENANT)
    chosen = asked_for(choose(session.agent), model="scripted:script", limits={"rounds": 7})
    words = UserInput(text=text, author="ann", metadata={"of": text})
    return enqueue(tx, session, words, chosen, front=front)


async def put_in(bench: Bench, session_id: str, *texts: str, front: bool = False) -> list[str]:
    """The ids of these messages, queued one after the other."""
    return [
        (await bench.database.write(_enqueue, session_id, text, front=front)).message_id
        for text in texts
    ]


async def line(bench: Bench, session_id: str) -> list[str]:
    """What waits, and that the log says so too."""
    waiting = await bench.database.read(queued, session_id)
    log = await bench.database.read(read_events, session_id=session_id)
    assert fold_queue(log).waiting == waiting
    assert [message.position for message in waiting] == list(range(1, len(waiting) + 1))
    return [message.text for message in waiting]


async def busy(bench: Bench) -> tuple[str, Owner]:
    """A session, and the run that keeps it busy."""
    session_id = await bench.session()
    return session_id, await bench.started(session_id)


async def following(bench: Bench, session_id: str) -> Run:
    """The run that has taken its place."""
    run = await bench.database.read(active_root, session_id)
    assert run is not None
    assert run.status is RunStatus.STARTING
    return run


async def opened(bench: Bench, run: Run) -> Owner:
    owner = Owner(run_id=run.id, execution_id="execution-1")
    await bench.runs.open(owner)
    return owner


async def test_messages_wait_in_order_and_an_interrupting_one_goes_ahead(bench: Bench) -> None:
    session_id, _ = await busy(bench)
    first, second = await put_in(bench, session_id, "one", "two")
    (ahead,) = await put_in(bench, session_id, "now", front=True)
    assert await line(bench, session_id) == ["now", "one", "two"]
    log = await bench.database.read(read_events, session_id=session_id, types=QUEUE_EVENTS)
    assert [(x.run_id, x.data["message_id"], x.data["position"]) for x in log] == [
        (None, first, 1), (None, second, 2), (None, ahead, 1)
    ]  # fmt: skip
    pages = [await bench.database.read(queue_page, session_id, limit=2)]
    pages.append(await bench.database.read(queue_page, session_id, after=pages[0][-1][0]))
    assert [[(m.position, m.text) for _, m in page] for page in pages] == [
        [(1, "now"), (2, "one")], [(3, "two")]
    ]  # fmt: skip


@pytest.mark.parametrize(
    "status", [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.TIMED_OUT]
)
async def test_the_queue_goes_on_after_any_terminal_status(bench: Bench, status: RunStatus) -> None:
    """The next run is there in the transaction that ends the one before, its message taken."""
    session_id, owner = await busy(bench)
    ids = await put_in(bench, session_id, "one", "two")
    accepted = await bench.database.read(queued, session_id)
    await bench.settle(owner, status)
    run = await following(bench, session_id)
    assert (run.trigger_message_id, run.actor, run.agent_version) == (ids[0], "assistant", "1")
    assert (run.model, run.limits, run.room) == ("scripted:script", Limits(rounds=7), "lab")
    assert await line(bench, session_id) == ["two"]
    log = await bench.database.read(read_events, session_id=session_id)
    assert (log[-2].type, log[-2].run_id) == (f"run.{status}", owner.run_id)
    assert (log[-1].type, log[-1].run_id) == ("message.dequeued", None)
    assert log[-1].data == {"message_id": ids[0], "position": 1, "run_id": run.id}

    await opened(bench, run)
    log = await bench.database.read(read_events, run_id=run.id)
    assert [event.type for event in log] == ["message.user", "run.started"]
    said = {name: log[0].data[name] for name in ("message_id", "text", "author", "metadata")}
    assert said == {
        "message_id": ids[0], "text": "one", "author": "ann", "metadata": {"of": "one"}
    }  # fmt: skip
    assert log[0].data["created_at"] == accepted[0].model_dump(mode="json")["created_at"]


async def test_queued_messages_become_runs_one_after_the_other(bench: Bench) -> None:
    session_id, owner = await busy(bench)
    ids = await put_in(bench, session_id, "one", "two", "three")
    triggers = []
    for _ in ids:
        await bench.round(owner, 1, response("Done"))
        run = await following(bench, session_id)
        triggers.append(run.trigger_message_id)
        owner = await opened(bench, run)
    await bench.round(owner, 1, response("Done"))
    assert triggers == ids
    assert await bench.database.read(active_root, session_id) is None
    assert (await bench.everything())[inbox.name] == []


async def test_no_other_caller_gets_in_between(bench: Bench, open_database: OpenDatabase) -> None:
    """Posts that race the end of the run are told it is busy, and never go ahead of the queue."""
    session_id, owner = await busy(bench)
    ids = await put_in(bench, session_id, "one")
    others = [Bench(open_database()) for _ in range(3)]
    posts = [outcome(others[i % 3].say(session_id, f"post {i}")) for i in range(9)]
    _, *said = await asyncio.gather(bench.settle(owner, RunStatus.COMPLETED), *posts)
    assert [type(x) for x in said] == [SessionBusy] * 9
    assert (await following(bench, session_id)).trigger_message_id == ids[0]


async def test_messages_that_race_the_end_of_a_run_wait_or_start_one_and_none_is_left_lying(
    bench: Bench, open_database: OpenDatabase
) -> None:
    session_id, owner = await busy(bench)
    views = [open_database() for _ in range(3)]
    posts = [
        views[i % 3].write(
            accept_if_busy,
            session_id,
            UserInput(text=str(i)),
            if_busy="enqueue",
            tenant=TENANT,
            choose=choose,
        )
        for i in range(6)
    ]
    _, said = await asyncio.gather(bench.settle(owner, RunStatus.COMPLETED), asyncio.gather(*posts))
    run = await following(bench, session_id)
    waiting = [message.message_id for message in await bench.database.read(queued, session_id)]
    accepted = {
        x.message_id if isinstance(x, QueuedMessage) else x.run.trigger_message_id for x in said
    }
    assert {run.trigger_message_id, *waiting} == accepted
    assert len(waiting) == 5


async def test_concurrent_messages_are_all_queued_each_at_its_own_place(
    bench: Bench, open_database: OpenDatabase
) -> None:
    session_id, _ = await busy(bench)
    views: list[Database] = [open_database() for _ in range(3)]
    said = await asyncio.gather(
        *(views[i % 3].write(_enqueue, session_id, str(i)) for i in range(9))
    )
    assert sorted(message.position for message in said) == list(range(1, 10))
    in_order = sorted(said, key=lambda message: message.position)
    assert await line(bench, session_id) == [message.text for message in in_order]


async def test_a_withdrawn_message_is_gone_and_the_others_move_up(bench: Bench) -> None:
    session_id, owner = await busy(bench)
    ids = await put_in(bench, session_id, "one", "two", "three")
    await bench.database.write(withdraw, session_id, ids[1], tenant=TENANT)
    assert await line(bench, session_id) == ["one", "three"]
    (event,) = await bench.database.read(
        read_events, session_id=session_id, types=["message.withdrawn"]
    )
    assert event.data == {"message_id": ids[1], "position": 2}
    await bench.settle(owner, RunStatus.COMPLETED)
    before = await bench.everything()
    for message_id in (ids[0], ids[1], "msg_none"):
        with pytest.raises(NotFound):
            await bench.database.write(withdraw, session_id, message_id, tenant=TENANT)
        with pytest.raises(NotFound):
            await bench.database.read(require_queued, session_id, message_id)
    for place, tenant in ((session_id, "other"), (await bench.session(), TENANT)):
        with pytest.raises(NotFound):
            await bench.database.write(withdraw, place, ids[2], tenant=tenant)
    assert (await bench.everything())[inbox.name] == before[inbox.name]
    assert await line(bench, session_id) == ["three"]


async def test_a_message_leaves_once_whoever_is_first(
    bench: Bench, open_database: OpenDatabase
) -> None:
    """Withdrawn while the run before it ends: gone, or a run, and never both."""
    session_id, owner = await busy(bench)
    (message_id,) = await put_in(bench, session_id, "one")
    withdrawing = open_database().write(withdraw, session_id, message_id, tenant=TENANT)
    _, gone = await asyncio.gather(bench.settle(owner, RunStatus.COMPLETED), outcome(withdrawing))
    run = await bench.database.read(active_root, session_id)
    assert (run is None) is (gone is None)
    log = await bench.database.read(read_events, session_id=session_id, types=QUEUE_EVENTS)
    assert [event.type for event in log][1:] == [
        "message.withdrawn" if gone is None else "message.dequeued"
    ]


def _withdraw_all(tx: Tx, session_id: str) -> None:
    withdraw_all(tx, lock_session(tx, session_id))


async def test_all_that_waits_can_be_withdrawn_at_once(bench: Bench) -> None:
    session_id, _ = await busy(bench)
    ids = await put_in(bench, session_id, "one", "two")
    await bench.database.write(_withdraw_all, session_id)
    assert await line(bench, session_id) == []
    log = await bench.database.read(read_events, session_id=session_id, types=QUEUE_EVENTS)
    assert [(x.data["message_id"], x.data["position"]) for x in log[2:]] == [
        (ids[1], 2),
        (ids[0], 1),
    ]
    await bench.database.write(_withdraw_all, session_id)


async def test_a_task_session_that_closes_withdraws_its_queue_first(bench: Bench) -> None:
    session_id = await bench.session("task")
    owner = await bench.started(session_id)
    await put_in(bench, session_id, "one")
    await bench.round(owner, 1, response("Done"))
    log = await bench.database.read(read_events, session_id=session_id)
    assert [event.type for event in log][-3:] == [
        "run.completed", "message.withdrawn", "session.closed"
    ]  # fmt: skip
    assert await bench.database.read(active_root, session_id) is None
    assert await line(bench, session_id) == []


async def test_closing_by_a_caller_withdraws_too(bench: Bench) -> None:
    """Whatever left a message waiting in an idle session."""
    session_id = await bench.session()
    await put_in(bench, session_id, "one")
    await bench.database.write(change_session, session_id, SessionChange(close=True), tenant=TENANT)
    log = await bench.database.read(read_events, session_id=session_id)
    assert [event.type for event in log][-2:] == ["message.withdrawn", "session.closed"]
    assert await line(bench, session_id) == []


async def test_a_session_without_a_queue_has_nothing_to_dequeue(bench: Bench) -> None:
    session_id = await bench.session()
    before = await bench.everything()
    assert await bench.database.write(_dequeue, session_id) is None
    assert await bench.everything() == before
    assert isinstance(await bench.say(session_id), Accepted)


def _dequeue(tx: Tx, session_id: str) -> Run | None:
    return dequeue(tx, lock_session(tx, session_id))


async def queues(bench: Bench) -> str:
    """A session whose queue has seen everything, with a run that was taken and is `starting`."""
    session_id, owner = await busy(bench)
    ids = await put_in(bench, session_id, "one", "two", "three", "four")
    await put_in(bench, session_id, "now", front=True)
    await bench.database.write(withdraw, session_id, ids[1], tenant=TENANT)
    await bench.settle(owner, RunStatus.CANCELLED)
    return session_id


def _lose_all(tx: Tx) -> None:
    tx.connection.execute(inbox.delete())
    tx.connection.execute(runs.delete())


def _lose_first(tx: Tx) -> None:
    tx.connection.execute(inbox.delete().where(inbox.c.data["text"].as_string() == "one"))


def _turn_around(tx: Tx) -> None:
    tx.connection.execute(inbox.update().where(inbox.c.kind == "queued").values(rank=-inbox.c.rank))


def _garble(tx: Tx) -> None:
    lies: dict[str, object] = {"kind": "message", "run_id": "run_none", "rank": None, "data": {}}
    tx.connection.execute(inbox.update().where(inbox.c.kind == "queued").values(lies))


def _leave_taken(tx: Tx) -> None:
    tx.connection.execute(inbox.update().where(inbox.c.kind == "message").values(kind="queued"))


@pytest.mark.parametrize("harm", [_lose_all, _lose_first, _turn_around, _garble, _leave_taken])
async def test_the_queue_s_rows_are_rebuilt_from_the_log(
    bench: Bench, harm: Callable[[Tx], None]
) -> None:
    """The run that took its message and is not opened yet is restored with it (behaviour 30)."""
    session_id = await queues(bench)
    assert (await rebuild(bench.database)).equal
    before = await bench.database.read(queued, session_id)
    run = await following(bench, session_id)
    await bench.database.write(harm)
    assert not (await rebuild(bench.database)).equal
    assert await line(bench, session_id) == ["one", "three", "four"]
    assert await bench.database.read(queued, session_id) == before
    assert await following(bench, session_id) == run
    assert (await rebuild(bench.database)).equal
    owner = await opened(bench, run)
    assert (await bench.log(owner))[0].data["text"] == "now"
    await bench.round(owner, 1, response("Done"))
    assert (await following(bench, session_id)).trigger_message_id == before[0].message_id
