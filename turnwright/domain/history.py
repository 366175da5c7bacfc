"""The conversation as a projection of the log: what a model is sent, and what history shows.

Prior turns come from ended root runs, oldest first; an answer appears once, as the result of the
call that asked; attempts that were retried are left out (CONTRACT.md, "What history leaves out").
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from turnwright.domain import events as e
from turnwright.domain.events import Event, upcast
from turnwright.domain.messages import Message, Opaque, Outcome, ToolCall

_ENDINGS = frozenset(ending.type for ending in e.ENDINGS.values())

CONVERSATION = (
    *_ENDINGS,
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
class _Result:
    sequence: int
    text: str = INTERRUPTED
    outcome: Outcome = "cancelled"


@dataclass
class _RunLog:
    """One run's events, gathered as they pass."""

    run_id: str
    kind: str = ""
    retry_of: str | None = None
    ended: bool = False
    users: list[Message] = field(default_factory=list)
    rounds: list[_Round] = field(default_factory=list)
    results: dict[str, _Result] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        # The data as they are: this runs over a whole session's log before every round, and
        # validating them again would be most of its cost.
        data = event.data
        match event.type:
            case "run.started":
                self.kind, self.retry_of = data["kind"], data["retry_of"]
            case "message.user" if data["in_reply_to"] is None:
                self.users.append(
                    Message(
                        role="user",
                        text=data["text"],
                        run_id=self.run_id,
                        sequence=event.sequence,
                    )
                )
            case "round.finished":
                self.rounds.append(_Round(data["round"], event.sequence))
            case "message.assistant":
                self.rounds[-1].text = data["text"]
                self.rounds[-1].sequence = event.sequence
            case "tool.called":
                call = ToolCall(
                    id=data["tool_call_id"], name=data["name"], arguments=data["arguments"]
                )
                self.rounds[-1].calls.append(call)
            case "tool.returned":
                result = _Result(event.sequence, data["content"], data["outcome"])
                self.results[data["tool_call_id"]] = result
            case ending if ending in _ENDINGS:
                self.ended = True
            case _:
                pass

    def messages(self, opaque: Mapping[int, Opaque], logs: "_Logs") -> list[Message]:
        """This run's part of the conversation, in the order a model expects."""
        said = list(self.users) or self._retried(logs)
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

    def _retried(self, logs: "_Logs") -> list[Message]:
        """The trigger that a retry shares with its first attempt, whose part is left out."""
        first = self
        while first.retry_of is not None and first.retry_of in logs:
            first = logs[first.retry_of]
        return [said.model_copy(update={"run_id": self.run_id}) for said in first.users[:1]]

    def _result(self, call: ToolCall, a_round: _Round) -> Message:
        result = self.results.get(call.id) or _Result(a_round.sequence)
        return Message(
            role="tool",
            text=result.text,
            tool_call_id=call.id,
            name=call.name,
            outcome=result.outcome,
            run_id=self.run_id,
            sequence=result.sequence,
        )


_Logs = dict[str, _RunLog]


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
    logs: _Logs = {}
    for event in events:
        if event.run_id is not None:
            if (log := logs.get(event.run_id)) is None:
                log = logs[event.run_id] = _RunLog(event.run_id)
            log.take(upcast(event))
    retried = {log.retry_of for log in logs.values()}
    said: list[Message] = []
    for log in logs.values():
        prior = log.kind == "turn" and log.ended
        if prior and log.run_id != run_id and log.run_id not in retried:
            said.extend(log.messages({}, logs))
    if run_id is not None and run_id in logs:
        said.extend(logs[run_id].messages(opaque or {}, logs))
    return tuple(said)


def estimate_tokens(messages: Iterable[Message]) -> int:
    """About how many tokens these are: characters / 4 × 1.2 (FACTS.md)."""
    characters = sum(
        len(m.text) + sum(len(c.name) + len(str(c.arguments)) for c in m.tool_calls)
        for m in messages
    )
    return round(characters / 4 * 1.2)
