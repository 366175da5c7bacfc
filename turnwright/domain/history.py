"""The conversation as a projection of the log: what a model is sent, and what history shows.

Prior turns come from ended root runs, oldest first; an answer appears once, as the result of the
call that asked; attempts that were retried are left out (CONTRACT.md, "What history leaves out"),
but for what a retry from the checkpoint goes on with.
"""

from collections.abc import Iterable, Mapping

from turnwright.domain import events as e
from turnwright.domain.events import Event
from turnwright.domain.messages import Message, Opaque, ToolCall
from turnwright.domain.run_log import (
    ENDINGS,
    INTERRUPTED,
    Performed,
    Result,
    Round,
    RunLog,
    RunLogs,
    gather,
    performed,
)

__all__ = ["CONVERSATION", "INTERRUPTED", "conversation", "estimate_tokens", "to_be_redone"]

CONVERSATION = (
    *ENDINGS,
    e.RunStarted.type,
    e.RunReopened.type,
    e.UserMessage.type,
    e.MessageInjected.type,
    e.AssistantMessage.type,
    e.RoundFinished.type,
    e.ToolCalled.type,
    e.ToolReturned.type,
)
"""The types of event that a conversation is made of."""


def conversation(
    events: Iterable[Event],
    *,
    run_id: str | None = None,
    opaque: Mapping[int, Opaque] | None = None,
) -> tuple[Message, ...]:
    """The messages a model is sent, from a session's events in order.

    Without `run_id`: what a new run would be seeded with now. With it: that, and then the named
    run's working conversation, with `opaque` (its own rounds' records by round number) attached.
    A message is the run's that works with it: in a retry from the checkpoint, the rounds of the
    attempts before are the retry's, without a round number, which only its own rounds have.
    """
    logs = gather(events)
    retried = {log.retry_of for log in logs.values()}
    said: list[Message] = []
    for log in logs.values():
        prior = log.kind == "turn" and log.ended
        if prior and log.run_id != run_id and log.run_id not in retried:
            said.extend(_turn(log, logs, {}))
    if run_id is not None and run_id in logs:
        said.extend(_turn(logs[run_id], logs, opaque or {}))
    return tuple(said)


def to_be_redone(events: Iterable[Event], run_id: str) -> tuple[e.ToolCalled, ...]:
    """What a retry of this run from its checkpoint calls anew, as the retry's log is to say it.

    They are the calls of the run's last round (which may be an earlier attempt's) whose results
    do not stand, in call order. `events` are the session's, in order; the types of `CONVERSATION`
    are enough. Empty for a run that the log does not know.
    """
    logs = gather(events)
    if run_id not in logs:
        return ()
    return tuple(
        e.ToolCalled(tool_call_id=call.id, name=call.name, round=0, arguments=call.arguments)
        for call in performed(logs[run_id], logs).cut_short()
    )


def estimate_tokens(messages: Iterable[Message]) -> int:
    """About how many tokens these are: characters / 4 × 1.2 (FACTS.md)."""
    characters = sum(
        len(m.text) + sum(len(c.name) + len(str(c.arguments)) for c in m.tool_calls)
        for m in messages
    )
    return round(characters / 4 * 1.2)


def _turn(log: RunLog, logs: RunLogs, opaque: Mapping[int, Opaque]) -> list[Message]:
    """A run's part of the conversation, in the order a model expects."""
    said = list(log.users) or _trigger(log, logs)
    done = performed(log, logs)
    for part in done.parts:
        if isinstance(part, Message):
            said.append(part)
        elif part.text or part.calls:
            own = part.run_id == log.run_id
            said.append(_assistant(part, opaque.get(part.number) if own else None))
            said.extend(_result(call, part, done) for call in part.calls)
    return [
        message if message.run_id == log.run_id else _taken_over(message, log) for message in said
    ]


def _trigger(log: RunLog, logs: RunLogs) -> list[Message]:
    """The trigger that a retry shares with its first attempt, which alone logged it."""
    first = log
    while first.retry_of is not None and first.retry_of in logs:
        first = logs[first.retry_of]
    return first.users[:1]


def _taken_over(message: Message, log: RunLog) -> Message:
    return message.model_copy(update={"run_id": log.run_id, "round": None})


def _assistant(a_round: Round, opaque: Opaque | None) -> Message:
    return Message(
        role="assistant",
        text=a_round.text,
        tool_calls=tuple(a_round.calls),
        run_id=a_round.run_id,
        sequence=a_round.sequence,
        round=a_round.number,
        opaque=opaque,
    )


def _result(call: ToolCall, a_round: Round, done: Performed) -> Message:
    result = done.results.get(call.id) or Result(a_round.sequence)
    return Message(
        role="tool",
        text=result.text,
        tool_call_id=call.id,
        name=call.name,
        outcome=result.outcome,
        run_id=a_round.run_id,
        sequence=result.sequence,
    )
