"""Answers that are given again, whichever process is asked."""

import asyncio

import pytest

from tests.store.building import TENANT, Bench, choose, count, outcome
from tests.store.conftest import OpenDatabase
from turnwright.domain.errors import IdempotencyKeyReused, SessionBusy
from turnwright.domain.run import Failure
from turnwright.domain.sessions import UserInput
from turnwright.store.admission import accept_message
from turnwright.store.engine import Tx
from turnwright.store.idempotency import Answer, Request, answer_once
from turnwright.store.sessions import erase_session
from turnwright.store.tables import answers, runs


def request(key: str | None = "key", fingerprint: str = "body", tenant: str = TENANT) -> Request:
    return Request(tenant=tenant, key=key, fingerprint=fingerprint)


def post(tx: Tx, asked: Request, session_id: str) -> Answer:
    """A message under a key, as the API accepts it."""

    def act(tx: Tx) -> Answer:
        said = accept_message(tx, session_id, UserInput(text="Hello"), tenant=TENANT, choose=choose)
        return Answer(status=202, body=said.model_dump_json(), session_id=session_id)

    return answer_once(tx, asked, act)


async def test_of_concurrent_requests_with_one_key_one_acts_and_all_get_its_answer(
    bench: Bench, open_database: OpenDatabase
) -> None:
    """Behaviour 3, over several processes' views of one database."""
    session_id = await bench.session()
    views = [open_database() for _ in range(3)]
    given = await asyncio.gather(
        *(views[i % 3].write(post, request(), session_id) for i in range(12))
    )
    assert len({answer.body for answer in given}) == 1
    assert sorted(answer.replayed for answer in given) == [False] + [True] * 11
    assert await bench.database.read(count, runs) == 1


async def test_a_key_of_another_request_is_refused_and_changes_nothing(bench: Bench) -> None:
    """Behaviour 4."""
    session_id = await bench.session()
    await bench.database.write(post, request(), session_id)
    before = await bench.everything()
    with pytest.raises(IdempotencyKeyReused):
        await bench.database.write(post, request(fingerprint="another body"), session_id)
    assert await bench.everything() == before


async def test_a_refusal_leaves_the_key_free(bench: Bench) -> None:
    session_id = await bench.session()
    owner = await bench.started(session_id)
    refused = await outcome(bench.database.write(post, request(), session_id))
    assert isinstance(refused, SessionBusy)
    assert await bench.database.read(count, answers) == 0
    await bench.runs.fail(owner, _failure())
    assert not (await bench.database.write(post, request(), session_id)).replayed


async def test_keys_are_each_tenant_s_own(bench: Bench) -> None:
    def act(_: Tx) -> Answer:
        return Answer(status=201, body="{}")

    for tenant in ("acme", "other"):
        given = await bench.database.write(answer_once, request(tenant=tenant), act)
        assert not given.replayed


async def test_without_a_key_each_request_counts(bench: Bench) -> None:
    for session_id in [await bench.session() for _ in range(2)]:
        assert not (await bench.database.write(post, request(None), session_id)).replayed
    assert await bench.database.read(count, answers) == 0


async def test_erasing_a_session_forgets_its_answers(bench: Bench) -> None:
    session_id, other = await bench.session(), await bench.session()
    await bench.database.write(post, request(), session_id)
    (run,) = (await bench.everything())[runs.name]
    await bench.database.write(_end, run.id)
    await bench.database.write(erase_session, session_id, tenant=TENANT)
    assert not (await bench.database.write(post, request(), other)).replayed


def _end(tx: Tx, run_id: str) -> None:
    tx.connection.execute(runs.update().where(runs.c.id == run_id).values(status="failed"))


def _failure() -> Failure:
    return Failure(reason="model_error", message="No.")
