"""A session, a message, and what acceptance gives back."""

from datetime import datetime
from typing import Literal

from turnwright.domain.base import Frozen
from turnwright.domain.events import Metadata
from turnwright.domain.run import Limits, Run, RunStatus

Mode = Literal["conversation", "task"]


class ActiveRun(Frozen):
    """The session's active root run."""

    id: str
    status: RunStatus


class Session(Frozen):
    """A conversation: an ordered sequence of runs, and the owner of one event log."""

    id: str
    agent: str
    mode: Mode
    room: str | None
    title: str | None
    metadata: Metadata | None
    status: Literal["open", "closed"]
    active_run: ActiveRun | None
    last_sequence: int
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None


class UserInput(Frozen):
    """A user's words on their way in: what the inbox holds until they are in the log."""

    text: str
    author: str | None = None
    metadata: Metadata | None = None


class UserMessageView(Frozen):
    """A message as callers see it."""

    id: str
    session_id: str
    run_id: str
    role: Literal["user"] = "user"
    text: str
    author: str | None
    in_reply_to: str | None = None
    metadata: Metadata | None
    created_at: datetime


class AgentChoice(Frozen):
    """What a run takes from its agent when it is accepted."""

    actor: str
    version: str
    model: str
    limits: Limits


class Acceptance(Frozen):
    """What was accepted for a run, which is as it was before, and the sequence before it."""

    run: Run
    message: UserMessageView | None = None
    after: int


class Accepted(Acceptance):
    """The acceptance of a user's words."""

    message: UserMessageView
