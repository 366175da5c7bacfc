"""What waits for a session's active run to end, folded from the session's events."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from turnwright.domain import events as e
from turnwright.domain.base import Frozen
from turnwright.domain.events import Event, Metadata
from turnwright.domain.run import Limits
from turnwright.domain.sessions import AgentChoice

IfBusy = Literal["reject", "enqueue", "interrupt", "steer"]
"""What a message wants of an active run."""


class QueuedMessage(Frozen):
    """A message that waits for its turn, with all that its run will be made of.

    `position` counts from 1, the next to become a run. The agent was chosen when the message was
    accepted; the session's may have changed since.
    """

    message_id: str
    position: int
    text: str
    agent: str
    agent_version: str
    model: str
    limits: Limits
    metadata: Metadata | None
    author: str | None
    created_at: datetime

    @property
    def choice(self) -> AgentChoice:
        """What the run takes from its agent."""
        return AgentChoice(
            actor=self.agent, version=self.agent_version, model=self.model, limits=self.limits
        )


@dataclass
class Queue:
    """A session's queue: what waits, in its order, and what has become a run."""

    waiting: list[QueuedMessage] = field(default_factory=list)
    """Each at its position."""
    taken: list["Taken"] = field(default_factory=list)


@dataclass(frozen=True)
class Taken:
    """A message that became the trigger of a run, and when."""

    run_id: str
    message: QueuedMessage
    at: datetime


def fold_queue(events: Iterable[Event]) -> Queue:
    """The queue that a session's events leave, in order. Raises `UnknownEvent`."""
    queue = Queue()
    line: dict[str, QueuedMessage] = {}
    order: list[str] = []
    for event in events:
        match e.decode(event):
            case e.MessageQueued() as data:
                queued = QueuedMessage(**data.model_dump(), created_at=event.created_at)
                line[queued.message_id] = queued
                order.insert(queued.position - 1, queued.message_id)
            case e.MessageDequeued() as data:
                order.remove(data.message_id)
                message = line[data.message_id].model_copy(update={"position": data.position})
                queue.taken.append(Taken(data.run_id, message, event.created_at))
            case e.MessageWithdrawn() as data:
                order.remove(data.message_id)
            case _:
                pass
    queue.waiting += (
        line[message_id].model_copy(update={"position": position})
        for position, message_id in enumerate(order, 1)
    )
    return queue
