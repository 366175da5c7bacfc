"""Rows of the inbox: what was accepted from a user, until it is in the log."""

from typing import Any

from sqlalchemy import Row

from turnwright.domain.events import UserMessage
from turnwright.domain.sessions import UserInput


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
