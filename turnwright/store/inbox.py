"""Rows of the inbox: what was accepted from a user, until it is in the log."""

from collections.abc import Mapping
from typing import Any, Literal

from sqlalchemy import Row, insert

from turnwright.domain.events import UserMessage
from turnwright.domain.handoff import Cancel, Wake
from turnwright.domain.run import Run
from turnwright.domain.sessions import UserInput, UserMessageView
from turnwright.store.engine import Tx
from turnwright.store.tables import inbox

Kind = Literal["message", "answer", "decision", "steer", "budget", "cancel"]

_INSERT = insert(inbox)


def put(
    tx: Tx,
    kind: Kind,
    row_id: str,
    run: Run,
    data: Mapping[str, Any],
    *,
    settles: str | None = None,
) -> None:
    """Keep what was accepted for this run, and have its execution told.

    `settles`: the question or approval that this decides. A trigger wakes nobody: it comes with
    its run.
    """
    tx.connection.execute(
        _INSERT,
        {
            "id": row_id,
            "kind": kind,
            "session_id": run.session_id,
            "run_id": run.id,
            "settles": settles,
            "data": dict(data),
            "created_at": tx.now,
        },
    )
    if kind == "cancel":
        tx.handed.append(Cancel(run))
    elif kind != "message":
        tx.handed.append(Wake(run.session_id, row_id))


def user_message(row: Row[Any]) -> UserMessage:
    """The event that a trigger or an answer becomes, word for word."""
    words = UserInput.model_validate(row.data)
    return UserMessage(
        message_id=row.id,
        text=words.text,
        in_reply_to=row.settles,
        author=words.author,
        metadata=words.metadata,
        created_at=row.created_at,
    )


def view(
    tx: Tx, message_id: str, run: Run, words: UserInput, *, in_reply_to: str | None = None
) -> UserMessageView:
    """The message just accepted, as callers see it."""
    return UserMessageView(
        id=message_id,
        session_id=run.session_id,
        run_id=run.id,
        text=words.text,
        author=words.author,
        in_reply_to=in_reply_to,
        metadata=words.metadata,
        created_at=tx.now,
    )
