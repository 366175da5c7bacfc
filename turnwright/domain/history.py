"""The conversation as a projection of the log: what a model is sent, and what history shows.

Prior turns come from ended root runs, oldest first; an answer appears once, as the result of the
call that asked; attempts that were retried are left out (CONTRACT.md, "What history leaves out").
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from turnwright.domain import events as e
from turnwright.domain.events import Event, decode
from turnwright.domain.messages import Message, Opaque, ToolCall

CONVERSATION = (
    *(ending.type for ending in e.ENDINGS.values()),
    e.RunStarted.type,
    e.UserMessage.type,
    e.AssistantMessage.type,
    e.RoundFinished.type,
    e.ToolCalled.type,
    e.ToolReturned.type,
)
"""The types of event that a conversation is made of."""

INTERRUPTED = "This call was cut short: the run ended before it had a result."


@dataclass
class _Round:
    number: int
    sequence: int
    text: str = ""
    calls: list[ToolCall] = field(default_factory=list)


@dataclass
class _RunLog:
    """One run's events, gathered as they pass."""

    run_id: str
    started: e.RunStarted | None = None
    ended: bool = False
    users: list[Message] = field(default_factory=list)
    rounds: list[_Round] = field(default_factory=list)
    results: dict[str, tuple[e.ToolReturned, int]] = field(default_factory=dict)

    def take(self, event: Event, data: e.EventData) -> None:
        match data:
            case e.RunStarted():
                self.started = data
            case e.UserMessage(in_reply_to=None):
                self.users.append(self._said(data.text, event))
            case e.RoundFinished():
                self.rounds.append(_Round(data.round, event.sequence))
            case e.AssistantMessage():
                self.rounds[-1].text = data.text
                self.rounds[-1].sequence = event.sequence
            case e.ToolCalled():
                call = ToolCall(id=data.tool_call_id, name=data.name, arguments=data.arguments)
                self.rounds[-1].calls.append(call)
            case e.ToolReturned():
                self.results[data.tool_call_id] = (data, event.sequence)
            case e.RunEnded():
                self.ended = True
            case _:
                pass

    def _said(self, text: str, event: Event) -> Message:
        return Message(role="user", text=text, run_id=self.run_id, sequence=event.sequence)

    def messages(self, opaque: Mapping[int, Opaque]) -> list[Message]:
        """This run's part of the conversation, in the order a model expects."""
        said = list(self.users)
        for a_round in self.rounds:
            if not a_round.text and not a_round.calls:
                continue
            said.append(
                Message(
                    role="assistant",
                    text=a_round.text,
                    tool_calls=tuple(a_round.calls),
                    run_id=self.run_id,
                    sequence=a_round.sequence,
                    round=a_round.number,
                    opaque=opaque.get(a_round.number),
                )
            )
            said.extend(self._result(call, a_round) for call in a_round.calls)
        return said

    def _result(self, call: ToolCall, a_round: _Round) -> Message:
        data, sequence = self.results.get(call.id, (None, a_round.sequence))
        return Message(
            role="tool",
            text=data.content if data else INTERRUPTED,
            tool_call_id=call.id,
            name=call.name,
            outcome=data.outcome if data else "cancelled",
            run_id=self.run_id,
            sequence=sequence,
        )


def conversation(
    events: Iterable[Event],
    *,
    run_id: str | None = None,
    opaque: Mapping[int, Opaque] | None = None,
) -> tuple[Message, ...]:
    """The messages a model is sent, from a session's events in order.

    Without `run_id`: what a new run would be seeded with now. With it: that, and then the named
    run's own messages, with `opaque` (its own rounds' records by round number) attached.
    """
    logs: dict[str, _RunLog] = {}
    for event in events:
        if event.run_id is not None:
            log = logs.setdefault(event.run_id, _RunLog(event.run_id))
            log.take(event, decode(event))
    retried = {log.started.retry_of for log in logs.values() if log.started}
    said: list[Message] = []
    for log in logs.values():
        prior = log.started and log.started.kind == "turn" and log.ended
        if prior and log.run_id != run_id and log.run_id not in retried:
            said.extend(log.messages({}))
    if run_id is not None and run_id in logs:
        said.extend(logs[run_id].messages(opaque or {}))
    return tuple(said)


def estimate_tokens(messages: Iterable[Message]) -> int:
    """About how many tokens these are: characters / 4 × 1.2 (FACTS.md)."""
    characters = sum(
        len(m.text) + sum(len(c.name) + len(str(c.arguments)) for c in m.tool_calls)
        for m in messages
    )
    return round(characters / 4 * 1.2)
