"""Answers that are given again: what `Idempotency-Key` promises (CONTRACT.md, "Idempotency").

The answer is stored in the transaction that did what it answers, so the two cannot come apart;
a second request under the same key waits for that transaction, whichever process it is in.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from turnwright.domain.errors import IdempotencyKeyReused
from turnwright.store.engine import Tx
from turnwright.store.tables import answers

_PENDING = 0


@dataclass(frozen=True, kw_only=True)
class Request:
    """Who asks under which key, and what: `fingerprint` covers route, target and body."""

    tenant: str
    key: str | None
    fingerprint: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A response to give: `body` word for word, and the session whose erasure forgets it."""

    status: int
    body: str
    session_id: str | None = None
    replayed: bool = False


def answer_once(tx: Tx, request: Request, act: Callable[[Tx], Answer]) -> Answer:
    """The stored answer of the key's first request, or what `act` answers now.

    Raises `IdempotencyKeyReused` for a key that was used with something else. When `act` raises,
    the transaction leaves the key free.
    """
    if request.key is None:
        return act(tx)
    stored = _claim(tx, request, request.key)
    if stored is not None:
        return stored
    answer = act(tx)
    tx.connection.execute(
        update(answers)
        .where(answers.c.tenant == request.tenant, answers.c.key == request.key)
        .values(status=answer.status, body=answer.body, session_id=answer.session_id)
    )
    return answer


def _claim(tx: Tx, request: Request, key: str) -> Answer | None:
    claimed = tx.connection.execute(
        _insert_or_nothing(tx)
        .values(
            tenant=request.tenant,
            key=key,
            fingerprint=request.fingerprint,
            status=_PENDING,
            body="",
            created_at=tx.now,
        )
        .returning(answers.c.key)
    )
    if claimed.one_or_none() is not None:
        return None
    row = tx.connection.execute(
        select(answers).where(answers.c.tenant == request.tenant, answers.c.key == key)
    ).one()
    if row.fingerprint != request.fingerprint:
        raise IdempotencyKeyReused("This Idempotency-Key was used for a different request.")
    return Answer(status=row.status, body=row.body, session_id=row.session_id, replayed=True)


def _insert_or_nothing(tx: Tx) -> Insert:
    if tx.connection.dialect.name == "sqlite":
        return sqlite.insert(answers).on_conflict_do_nothing()
    return postgresql.insert(answers).on_conflict_do_nothing()
