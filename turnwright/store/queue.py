"""A session's queue: messages that become runs, in their order, as the one before them ends.

A queued message is a row of the inbox without a run; the log says when it came, and how it left.
It leaves once: both ways of leaving have one deduplication key. Whoever changes the queue has the
session's row locked.
"""

from typing import Any

from sqlalchemy import Row, bindparam, delete, func, insert, select, update

from turnwright.domain.errors import NotFound
from turnwright.domain.events import MessageDequeued, MessageQueued, MessageWithdrawn
from turnwright.domain.ids import new_id
from turnwright.domain.queue import QueuedMessage
from turnwright.domain.run import Run
from turnwright.domain.sessions import AgentChoice, UserInput
from turnwright.store.engine import Tx
from turnwright.store.event_log import Draft, SessionRow, append, lock_session
from turnwright.store.new_runs import new_turn
from turnwright.store.tables import inbox

_COLUMNS = {"message_id", "position", "created_at"}
_HERE = (inbox.c.session_id == bindparam("of_session"), inbox.c.kind == "queued")
_LENGTH = select(func.count(), func.min(inbox.c.rank), func.max(inbox.c.rank)).where(*_HERE)
_POSITION = func.row_number().over(order_by=inbox.c.rank).label("position")
_NUMBERED = select(inbox, _POSITION).where(*_HERE).subquery()
_INSERT = insert(inbox)
_REMOVE = delete(inbox).where(inbox.c.id == bindparam("message_id"))
_TAKE = (
    update(inbox)
    .where(inbox.c.id == bindparam("message_id"))
    .values(kind="message", rank=None, run_id=bindparam("of_run"), data=bindparam("words"))
)


def enqueue(
    tx: Tx, session: SessionRow, words: UserInput, chosen: AgentChoice, *, front: bool
) -> QueuedMessage:
    """Queue a message, behind the others or in front of them, and log it."""
    length, first, last = tx.connection.execute(_LENGTH, {"of_session": session.id}).one()
    message = QueuedMessage(
        message_id=new_id("msg"),
        position=1 if front else length + 1,
        text=words.text,
        agent=chosen.actor,
        agent_version=chosen.version,
        model=chosen.model,
        limits=chosen.limits,
        metadata=words.metadata,
        author=words.author,
        created_at=tx.now,
    )
    rank = 0 if length == 0 else first - 1 if front else last + 1
    tx.connection.execute(_INSERT, queued_row(session.id, message, rank=rank))
    said = MessageQueued(**message.model_dump(exclude={"created_at"}))
    append(tx, session.id, [Draft(data=said, key=f"{message.message_id}/queued")])
    return message


def queued(tx: Tx, session_id: str) -> list[QueuedMessage]:
    """All that waits, in its order."""
    return [message for _, message in queue_page(tx, session_id)]


def queue_page(
    tx: Tx, session_id: str, *, after: int | None = None, limit: int | None = None
) -> list[tuple[int, QueuedMessage]]:
    """What waits behind the rank `after`, in its order, each with its rank."""
    query = select(_NUMBERED).order_by(_NUMBERED.c.rank).limit(limit)
    if after is not None:
        query = query.where(_NUMBERED.c.rank > after)
    rows = tx.connection.execute(query, {"of_session": session_id})
    return [(row.rank, _to_queued(row)) for row in rows]


def require_queued(tx: Tx, session_id: str, message_id: str) -> QueuedMessage:
    """The message, while it waits. Raises `NotFound`."""
    query = select(_NUMBERED).where(_NUMBERED.c.id == message_id)
    row = tx.connection.execute(query, {"of_session": session_id}).one_or_none()
    if row is None:
        raise NotFound(f"No message {message_id} is queued.")
    return _to_queued(row)


def withdraw(tx: Tx, session_id: str, message_id: str, *, tenant: str) -> None:
    """Take a message out of the queue, and log it. Raises `NotFound` once it is gone."""
    lock_session(tx, session_id, tenant=tenant)
    _withdraw(tx, session_id, require_queued(tx, session_id, message_id))


def withdraw_all(tx: Tx, session: SessionRow) -> None:
    """Empty the queue, and log it, the last message first, so that positions stay true."""
    for message in reversed(queued(tx, session.id)):
        _withdraw(tx, session.id, message)


def dequeue(tx: Tx, session: SessionRow) -> Run | None:
    """Make the first message the trigger of a run, `starting`. None when nothing waits.

    Called in the transaction that ends the session's active root run, after its terminal event,
    so that no other caller's message can come between.
    """
    waiting = queue_page(tx, session.id, limit=1)
    if not waiting:
        return None
    _, message = waiting[0]
    run = new_turn(tx, session, message.choice, trigger=message.message_id)
    words = words_of(message).model_dump(mode="json")
    tx.connection.execute(
        _TAKE, {"message_id": message.message_id, "of_run": run.id, "words": words}
    )
    taken = MessageDequeued(message_id=message.message_id, position=1, run_id=run.id)
    append(tx, session.id, [Draft(data=taken, key=_left(message))])
    return run


def queued_row(session_id: str, message: QueuedMessage, *, rank: int) -> dict[str, Any]:
    """The row of the inbox that a queued message is."""
    return {
        "id": message.message_id,
        "kind": "queued",
        "session_id": session_id,
        "run_id": None,
        "settles": None,
        "rank": rank,
        "data": message.model_dump(mode="json", exclude=_COLUMNS),
        "created_at": message.created_at,
    }


def words_of(message: QueuedMessage) -> UserInput:
    """What is left of the message once its run has a row: the words, as opening takes them."""
    return UserInput(text=message.text, author=message.author, metadata=message.metadata)


def _withdraw(tx: Tx, session_id: str, message: QueuedMessage) -> None:
    tx.connection.execute(_REMOVE, {"message_id": message.message_id})
    gone = MessageWithdrawn(message_id=message.message_id, position=message.position)
    append(tx, session_id, [Draft(data=gone, key=_left(message))])


def _left(message: QueuedMessage) -> str:
    return f"{message.message_id}/left"


def _to_queued(row: Row[Any]) -> QueuedMessage:
    return QueuedMessage(
        **row.data, message_id=row.id, position=row.position, created_at=row.created_at
    )
