"""What is accepted, and what is refused and changes nothing."""

import asyncio

import pytest
from sqlalchemy.exc import IntegrityError

from tests.store.building import TENANT, Bench, choose, count, outcome, put, response
from tests.store.conftest import OpenDatabase
from turnwright.domain.errors import (
    Invalid,
    NotFound,
    QuestionAnswered,
    QuestionMismatch,
    RunNotWaiting,
    SessionBusy,
    SessionCompleted,
    SessionNotAwaitingUser,
    TurnwrightError,
)
from turnwright.domain.ids import new_id
from turnwright.domain.run import RunStatus
from turnwright.domain.sessions import Accepted, AgentChoice, UserInput
from turnwright.store.admission import accept_message, accept_send
from turnwright.store.engine import Tx
from turnwright.store.run_rows import columns, get_run, insert_run
from turnwright.store.sessions import SessionChange, change_session, erase_session, get_session
from turnwright.store.tables import answers, inbox, live_texts, runs


async def test_of_concurrent_messages_one_starts_a_run(
    bench: Bench, open_database: OpenDatabase
) -> None:
    """Behaviour 6, by the session's lock."""
    session_id = await bench.session()
    benches = [Bench(open_database()) for _ in range(3)]
    said = await asyncio.gather(
        *(outcome(benches[i % 3].say(session_id, str(i))) for i in range(12))
    )
    (accepted,) = (x for x in said if isinstance(x, Accepted))
    refused = [x for x in said if isinstance(x, SessionBusy)]
    assert len(refused) == 11
    assert {x.extra["run_id"] for x in refused} == {accepted.run.id}
    assert await bench.database.read(count, runs) == await bench.database.read(count, inbox) == 1


async def test_the_constraint_holds_with_the_lock_out_of_the_way(bench: Bench) -> None:
    """Behaviour 6, by the partial unique index: for rows that nobody looked for first."""
    session_id = await bench.session()
    run = (await bench.say(session_id)).run
    second = run.model_copy(update={"id": new_id("run")})
    with pytest.raises(SessionBusy):
        await bench.database.write(insert_run, second, tenant=TENANT)
    with pytest.raises(IntegrityError):
        await bench.database.write(put, runs, tenant=TENANT, **columns(second))
    for allowed in ({"parent_run_id": run.id}, {"status": RunStatus.COMPLETED}):
        other = second.model_copy(update={"id": new_id("run"), **allowed})
        await bench.database.write(insert_run, other, tenant=TENANT)


async def test_an_id_that_is_taken_is_no_busy_session(bench: Bench) -> None:
    run = (await bench.say(await bench.session())).run
    other = run.model_copy(update={"session_id": await bench.session()})
    with pytest.raises(IntegrityError):
        await bench.database.write(insert_run, other, tenant=TENANT)


async def test_a_refused_message_changes_nothing(bench: Bench) -> None:
    """No such session, another tenant's, an unknown agent, a busy or a closed session."""
    busy, closed = await bench.session(), await bench.session()
    await bench.say(busy)
    await bench.database.write(change_session, closed, SessionChange(close=True), tenant=TENANT)

    def unknown(name: str) -> AgentChoice:
        raise NotFound(f"There is no agent {name}.")

    before = await bench.everything()
    words = UserInput(text="Hello")
    for session_id, tenant, choosing, refusal in (
        ("ses_none", TENANT, choose, NotFound),
        (busy, "other", choose, NotFound),
        (busy, TENANT, unknown, NotFound),
        (busy, TENANT, choose, SessionBusy),
        (closed, TENANT, choose, SessionCompleted),
    ):
        with pytest.raises(refusal):
            await bench.database.write(
                accept_message, session_id, words, tenant=tenant, choose=choosing
            )
    assert await bench.everything() == before


async def test_of_concurrent_answers_one_is_accepted_and_the_others_are_told_the_truth(
    bench: Bench, open_database: OpenDatabase
) -> None:
    """Behaviour 11, over several processes' views of one database."""
    owner, _ = await bench.asked()
    views = [open_database() for _ in range(3)]
    said = await asyncio.gather(
        *(outcome(bench.answer(owner, f"answer {i}", through=views[i % 3])) for i in range(12))
    )
    (accepted,) = (x for x in said if isinstance(x, Accepted))
    assert sum(isinstance(x, QuestionAnswered) for x in said) == 11
    (row,) = (await bench.everything())[inbox.name]
    assert (row.id, row.data["text"]) == (accepted.message.id, accepted.message.text)


@pytest.mark.parametrize("when", ["accepted", "taken", "ended"])
async def test_the_identical_answer_is_told_the_first_answer_again(bench: Bench, when: str) -> None:
    """Behaviour 12; another answer is told that it is too late. At every later moment."""
    owner, asked = await bench.asked(["a", "b"])
    first = await bench.answer(owner, choice="a")
    if when != "accepted":
        await bench.take(owner)
    if when == "ended":
        await bench.round(owner, 2, response("Done"))
    before = await bench.everything()
    name = asked.question_id
    for again in (
        await bench.answer(owner, choice="a", question_id=name),
        await bench.answer(owner, "a", question_id=name),
    ):
        assert again.message == first.message
    with pytest.raises(QuestionAnswered):
        await bench.answer(owner, choice="b", question_id=name)
    assert await bench.everything() == before


async def test_an_answer_to_another_question_is_refused_and_the_run_still_waits(
    bench: Bench,
) -> None:
    """Behaviour 13: unknown, or another run's."""
    owner, _ = await bench.asked()
    other, elsewhere = await bench.asked()
    await bench.answer(other, "there")
    before = await bench.everything()
    for question_id in (new_id("qst"), elsewhere.question_id):
        with pytest.raises(QuestionMismatch):
            await bench.answer(owner, "this", question_id=question_id)
    assert await bench.everything() == before


@pytest.mark.parametrize("status", ["starting", "running", "resumed", "completed"])
async def test_input_in_any_other_state_is_refused_and_names_it(bench: Bench, status: str) -> None:
    """Behaviour 14."""
    if status == "starting":
        run_id = (await bench.say(await bench.session())).run.id
        owner = (await bench.started()).model_copy(update={"run_id": run_id})
    elif status == "resumed":
        owner, _ = await bench.asked()
        await bench.answer(owner, "this")
        await bench.take(owner)
    else:
        owner = await bench.started()
        if status == "completed":
            await bench.round(owner, 1, response("Done"))
    with pytest.raises(RunNotWaiting) as refused:
        await bench.answer(owner, "more")
    assert refused.value.extra["run_status"] == ("running" if status == "resumed" else status)


@pytest.mark.parametrize(
    ("choices", "text", "choice"),
    [(["a", "b"], "c", None), (["a", "b"], None, "c"), (["a", "b"], "A", None), (None, None, "a")],
)
async def test_an_answer_that_is_no_choice_is_refused_and_the_run_still_waits(
    bench: Bench, choices: list[str] | None, text: str | None, choice: str | None
) -> None:
    """Behaviour 15."""
    owner, _ = await bench.asked(choices)
    with pytest.raises(Invalid):
        await bench.answer(owner, text, choice=choice)
    assert (await bench.run(owner)).status is RunStatus.WAITING_FOR_USER
    await bench.answer(owner, "a")
    assert (await bench.take(owner)).log


async def test_a_run_of_another_tenant_is_not_found(bench: Bench) -> None:
    owner, _ = await bench.asked()
    with pytest.raises(NotFound):
        await bench.database.read(get_run, owner.run_id, tenant="other")


async def test_send_goes_where_the_session_s_state_says(bench: Bench) -> None:
    """Behaviour 17."""
    session_id = await bench.session()

    async def send(text: str) -> str | TurnwrightError:
        sent = await outcome(
            bench.database.write(
                accept_send, session_id, UserInput(text=text), tenant=TENANT, choose=choose
            )
        )
        return sent if isinstance(sent, TurnwrightError) else sent[0]

    assert await send("Hello") == "message"
    assert isinstance(await send("starting"), SessionNotAwaitingUser)
    (row,) = (await bench.everything())[runs.name]
    owner = (await bench.started()).model_copy(update={"run_id": row.id})
    await bench.runs.open(owner)
    assert isinstance(await send("running"), SessionNotAwaitingUser)
    await bench.round(owner, 1, response("Well", ("c1", "conversation.ask_user")))
    await bench.runs.ask(owner, "c1", text="Which?", choices=["a", "b"], within=None)
    assert isinstance(await send("c"), Invalid)
    assert await send("a") == "input"
    assert isinstance(await send("b"), SessionNotAwaitingUser)
    await bench.take(owner)
    await bench.round(owner, 2, response("Done"))
    assert await send("Again") == "message"


async def test_a_session_is_neither_closed_nor_erased_while_a_run_is_active(bench: Bench) -> None:
    session_id = await bench.session()
    await bench.say(session_id)
    before = await bench.everything()
    with pytest.raises(SessionBusy):
        await bench.database.write(
            change_session, session_id, SessionChange(close=True), tenant=TENANT
        )
    with pytest.raises(SessionBusy):
        await bench.database.write(erase_session, session_id, tenant=TENANT)
    assert await bench.everything() == before


async def test_erasing_leaves_nothing_of_the_session(bench: Bench) -> None:
    """Its log, runs, opaque records, whole results, live text and remembered answers."""
    kept = await bench.session()
    before = await bench.everything()
    owner = await bench.started(await bench.session())
    session_id = (await bench.run(owner)).session_id
    await bench.round(owner, 1, response("Look", ("c1", "look"), opaque=True))
    await bench.settle(owner, RunStatus.FAILED)
    await bench.database.write(_leave_traces, session_id, owner.run_id)
    await bench.database.write(erase_session, session_id, tenant="other")
    assert await bench.everything() != before
    await bench.database.write(erase_session, session_id, tenant=TENANT)
    await bench.database.write(erase_session, session_id, tenant=TENANT)
    assert await bench.everything() == before
    with pytest.raises(NotFound):
        await bench.database.read(get_session, session_id, tenant=TENANT)
    assert (await bench.database.read(get_session, kept, tenant=TENANT)).id == kept


def _leave_traces(tx: Tx, session_id: str, run_id: str) -> None:
    put(
        tx, live_texts, run_id=run_id, round=1, attempt=1, start=0,
        session_id=session_id, message_id="msg_1", text="so far",
    )  # fmt: skip
    put(
        tx, answers, tenant=TENANT, key="k", fingerprint="f", status=202, body="{}",
        session_id=session_id, created_at=tx.now,
    )  # fmt: skip
