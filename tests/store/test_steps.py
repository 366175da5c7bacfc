"""The steps of a run: each found again by its key, each written by the run's owner alone."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.store.building import ASK, Bench, count, response, result
from tests.store.conftest import OpenDatabase
from turnwright.domain.errors import Fenced, Held, NotFound
from turnwright.domain.evolve import fold
from turnwright.domain.ports import Owner
from turnwright.domain.run import Failure, RunStatus, RunUsage
from turnwright.store.engine import Tx
from turnwright.store.event_log import read_events
from turnwright.store.runs import RunStore
from turnwright.store.sessions import get_session
from turnwright.store.tables import checkpoints, inbox, tool_contents

Step = Callable[[RunStore, Owner], Awaitable[Any]]

FINISH = {"message_id": "msg_1", "allow_empty": False}
FAILURE = Failure(reason="model_error", message="No.")


async def test_message_start_and_running_commit_together(bench: Bench) -> None:
    """Behaviour 1."""
    accepted = await bench.say(await bench.session(), "Hello")
    owner = Owner(run_id=accepted.run.id, execution_id="execution-1")
    assert await bench.types(owner) == []
    assert (await bench.run(owner)).status is RunStatus.STARTING
    opened = await bench.runs.open(owner)
    assert await bench.types(owner) == ["message.user", "run.started"]
    assert (opened.run, opened.run.status) == (await bench.run(owner), RunStatus.RUNNING)
    assert await bench.database.read(count, inbox) == 0


async def test_opening_again_finds_the_run_where_it_stands(bench: Bench) -> None:
    owner = await bench.started()
    await bench.round(owner, 1, response("Look", ("c1", "look")))
    before = await bench.everything()
    opened = await bench.runs.open(owner)
    assert list(opened.log) == await bench.log(owner)
    assert await bench.everything() == before


async def test_a_whole_run_in_the_order_of_the_contract(bench: Bench) -> None:
    owner, _ = await bench.asked(["a", "b"])
    await bench.answer(owner, choice="a")
    assert (await bench.take(owner)).run.status is RunStatus.RUNNING
    await bench.round(owner, 2, response("Done"))
    assert await bench.types(owner) == [
        "message.user", "run.started",
        "round.started", "round.finished", "message.assistant", "tool.called",
        "question.asked", "run.waiting",
        "message.user", "question.answered", "tool.returned", "run.resumed",
        "round.started", "round.finished", "message.assistant", "run.completed",
    ]  # fmt: skip
    run = await bench.run(owner)
    assert run == fold(await bench.log(owner))
    assert run.usage == RunUsage(
        rounds=2, tool_calls=1, input_tokens=18, output_tokens=2, cost_usd=0.2
    )
    assert run.output is not None
    assert run.output.text == "Done"
    assert (await bench.log(owner))[-1].data["usage"] == run.usage.model_dump()


@pytest.mark.parametrize(
    "step",
    [
        lambda runs, owner: runs.begin_round(owner, 1),
        lambda runs, owner: runs.finish_round(owner, 1, response("X", ("c9", "x")), **FINISH),
        lambda runs, owner: runs.finish_call(owner, result("c1", "another"), whole="another"),
        lambda runs, owner: runs.begin_call(owner, "c1", repeatable=True),
        lambda runs, owner: runs.ask(owner, "c2", text="Another?", choices=None),
    ],
    ids=["begin_round", "finish_round", "finish_call", "begin_call", "ask"],
)
@pytest.mark.parametrize("execution_id", ["execution-1", "execution-2"])
async def test_a_step_that_is_repeated_finds_its_own_record(
    bench: Bench, step: Step, execution_id: str
) -> None:
    """Even by an execution that owns the run no more: what is recorded is recorded."""
    owner = await bench.started()
    await bench.round(owner, 1, response("Look", ("c1", "look"), ("c2", ASK), opaque=True))
    await bench.runs.begin_call(owner, "c1", repeatable=False)
    await bench.runs.finish_call(owner, result("c1"), whole="whole")
    await bench.runs.ask(owner, "c2", text="Which?", choices=None)
    before = await bench.everything()
    first = await step(bench.runs, owner)
    assert await step(bench.runs, owner.model_copy(update={"execution_id": execution_id})) == first
    assert await bench.everything() == before


@pytest.mark.parametrize(
    "step",
    [
        lambda runs, owner: runs.begin_round(owner, 2),
        lambda runs, owner: runs.finish_round(owner, 2, response("Done", opaque=True), **FINISH),
        lambda runs, owner: runs.begin_call(owner, "c1", repeatable=True),
        lambda runs, owner: runs.finish_call(owner, result("c1"), whole="whole"),
        lambda runs, owner: runs.ask(owner, "c1", text="Which?", choices=None),
        lambda runs, owner: runs.take(owner, after=1),
        lambda runs, owner: runs.fail(owner, FAILURE),
    ],
    ids=["begin_round", "finish_round", "begin_call", "finish_call", "ask", "resume", "fail"],
)
async def test_who_does_not_own_the_run_leaves_no_trace(bench: Bench, step: Step) -> None:
    owner = await bench.started()
    await bench.round(owner, 1, response("Look", ("c1", "look")))
    before = await bench.everything()
    with pytest.raises(Fenced):
        await step(bench.runs, owner.model_copy(update={"execution_id": "execution-2"}))
    assert await bench.everything() == before


async def test_a_run_is_taken_over_from_the_execution_that_was_named_alone(bench: Bench) -> None:
    first = await bench.started()
    second = first.model_copy(update={"execution_id": "execution-2"})
    third = first.model_copy(update={"execution_id": "execution-3"})
    with pytest.raises(Held) as held:
        await bench.runs.open(second)
    assert held.value.execution_id == "execution-1"
    await bench.runs.open(second, displaces="execution-1")
    with pytest.raises(Held):
        await bench.runs.open(third, displaces="execution-1")
    with pytest.raises(Fenced):
        await bench.runs.begin_round(first, 1)
    await bench.round(second, 1, response("Done"))


async def test_of_executions_that_open_at_once_one_owns_the_run(
    bench: Bench, open_database: OpenDatabase
) -> None:
    accepted = await bench.say(await bench.session())
    stores = [RunStore(open_database()) for _ in range(4)]
    opened = await asyncio.gather(
        *(
            store.open(Owner(run_id=accepted.run.id, execution_id=f"execution-{i}"))
            for i, store in enumerate(stores)
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(x, Held) for x in opened) == 3
    owner = Owner(run_id=accepted.run.id, execution_id="any")
    assert await bench.types(owner) == ["message.user", "run.started"]


async def test_a_call_that_was_begun_is_begun_again_only_if_it_is_repeatable(bench: Bench) -> None:
    """Guarantee 7: the second attempt of the other kind is told, and logs no start."""
    owner = await bench.started()
    await bench.round(owner, 1, response("", ("c1", "look"), ("c2", "look")))
    for call_id, repeatable, starts in (("c1", False, 1), ("c2", True, 2)):
        works = [
            await bench.runs.begin_call(owner, call_id, repeatable=repeatable) for _ in range(2)
        ]
        assert [work.attempt for work in works] == [1, 2]
        assert works[0].called.arguments == {"of": call_id}
        log = [x for x in await bench.log(owner) if x.type == "tool.started"]
        assert sum(x.data["tool_call_id"] == call_id for x in log) == starts


async def test_a_whole_result_is_kept_where_the_model_is_shown_less(bench: Bench) -> None:
    owner = await bench.started()
    await bench.round(owner, 1, response("", ("c1", "look")))
    await bench.runs.finish_call(owner, result("c1"), whole="all of it")
    assert [row.content for row in (await bench.everything())[tool_contents.name]] == ["all of it"]


async def test_a_call_that_nobody_made_is_not_found(bench: Bench) -> None:
    owner = await bench.started()
    with pytest.raises(NotFound):
        await bench.runs.get_call(owner.run_id, "c9")
    with pytest.raises(NotFound):
        await bench.runs.open(Owner(run_id="run_none", execution_id="execution-1"))


@pytest.mark.parametrize("status", [RunStatus.CANCELLED, RunStatus.FAILED, RunStatus.TIMED_OUT])
async def test_a_run_ends_once_with_all_that_is_open_settled_before_it(
    bench: Bench, status: RunStatus
) -> None:
    owner = await bench.started()
    await bench.round(owner, 1, response("Well", ("c1", ASK), ("c2", "look")))
    await bench.runs.ask(owner, "c1", text="Which?", choices=None)
    ended = await bench.settle(owner, status)
    assert await bench.settle(owner, RunStatus.FAILED) == ended
    log = await bench.log(owner)
    requested = ["run.cancel_requested"] if status is RunStatus.CANCELLED else []
    tail = [*requested, "question.expired", "tool.returned", "tool.returned", f"run.{status}"]
    assert [event.type for event in log][-len(tail) :] == tail
    outcomes = {x.data["tool_call_id"]: x.data["outcome"] for x in log if x.type == "tool.returned"}
    assert outcomes == {"c1": "cancelled", "c2": "cancelled"}
    run = await bench.run(owner)
    assert (run.status, run.waiting) == (status, None)
    assert run == fold(log)


async def test_an_answer_that_was_accepted_is_in_the_log_before_the_end(bench: Bench) -> None:
    owner, _ = await bench.asked()
    await bench.answer(owner, "this")
    await bench.settle(owner, RunStatus.CANCELLED)
    assert (await bench.types(owner))[-6:] == [
        "message.user", "question.answered", "tool.returned", "run.resumed",
        "run.cancel_requested", "run.cancelled",
    ]  # fmt: skip
    assert await bench.database.read(count, inbox) == 0


async def test_a_question_without_an_answer_goes_on_waiting(bench: Bench) -> None:
    owner, _ = await bench.asked()
    before = await bench.everything()
    assert not (await bench.take(owner)).log
    assert await bench.everything() == before


@pytest.mark.parametrize(
    ("allow_empty", "status"), [(True, RunStatus.COMPLETED), (False, RunStatus.FAILED)]
)
async def test_an_empty_turn_is_allowed_or_fails(
    bench: Bench, *, allow_empty: bool, status: RunStatus
) -> None:
    owner = await bench.started()
    done = await bench.round(owner, 1, response(), allow_empty=allow_empty)
    assert (done.run.status, done.run.output) == (status, None)
    assert "message.assistant" not in await bench.types(owner)


async def test_opaque_records_stay_in_the_run_and_go_with_it(bench: Bench) -> None:
    """Guarantee 5: given back to the same run; erased at its end; never in the log."""
    session_id = await bench.session()
    owner = await bench.started(session_id)
    await bench.round(owner, 1, response("sealed", ("c1", "look"), opaque=True))
    await bench.runs.finish_call(owner, result("c1"))
    work = await bench.runs.begin_round(owner, 2)
    assert [m.opaque.data for m in work.messages if m.opaque] == [{"sealed": "sealed"}]
    assert not any("opaque" in str(event.data) for event in await bench.log(owner))
    await bench.round(owner, 2, response("Done"))
    assert await bench.database.read(count, checkpoints) == 0
    again = await bench.started(session_id)
    assert not any(m.opaque for m in (await bench.runs.begin_round(again, 1)).messages)


async def test_a_failed_run_keeps_its_opaque_records_for_a_retry(bench: Bench) -> None:
    owner = await bench.started()
    await bench.round(owner, 1, response("", ("c1", "look"), opaque=True))
    await bench.settle(owner, RunStatus.FAILED)
    assert await bench.database.read(count, checkpoints) == 1


async def test_a_task_session_closes_with_its_first_run(bench: Bench) -> None:
    session_id = await bench.session("task")
    owner = await bench.started(session_id)
    await bench.round(owner, 1, response("Done"))
    log = await bench.database.read(read_events, session_id=session_id)
    assert [event.type for event in log][-2:] == ["run.completed", "session.closed"]

    def look(tx: Tx) -> str:
        return get_session(tx, session_id, tenant="acme").status

    assert await bench.database.read(look) == "closed"


async def test_the_next_run_is_seeded_with_what_was_said(bench: Bench) -> None:
    session_id = await bench.session()
    owner = await bench.started(session_id, "one")
    await bench.round(owner, 1, response("1"))
    again = await bench.started(session_id, "two")
    work = await bench.runs.begin_round(again, 1)
    assert [m.text for m in work.messages] == ["one", "1", "two"]
