"""One run's events, gathered as they pass, and what a chain of retries makes of them.

A retry from the checkpoint goes on with its predecessor's rounds; one from the start begins anew
(CONTRACT.md, `POST /runs/{id}/retry`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from turnwright.domain import events as e
from turnwright.domain.events import Event, upcast
from turnwright.domain.messages import Message, Outcome, ToolCall

ENDINGS = frozenset(ending.type for ending in e.ENDINGS.values())
INTERRUPTED = "This call was cut short: the run ended before it had a result."


@dataclass
class Round:
    """A finished round: what was said in it, and the calls it asked for."""

    run_id: str
    number: int
    sequence: int
    text: str = ""
    calls: list[ToolCall] = field(default_factory=list)


@dataclass(frozen=True)
class Result:
    """What came back of a call; as it is built without one, that nothing did."""

    sequence: int
    text: str = INTERRUPTED
    outcome: Outcome = "cancelled"


@dataclass
class RunLog:
    """One run: its trigger, its rounds and injected messages in their order, its results."""

    run_id: str
    kind: str = ""
    retry_of: str | None = None
    retry_from: str | None = None
    ended: bool = False
    users: list[Message] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    parts: list[Round | Message] = field(default_factory=list)
    """The rounds, and where each injected message stands between them."""
    results: dict[str, Result] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Gather one more event of this run."""
        # The data as they are: this runs over a whole session's log before every round, and
        # validating them again would be most of its cost.
        data = event.data
        match event.type:
            case "run.started":
                self.kind = data["kind"]
                self.retry_of, self.retry_from = data["retry_of"], data["retry_from"]
            case "run.reopened":
                self.ended = False
            case "message.user" if data["in_reply_to"] is None:
                self.users.append(self._said(event))
            case "message.injected":
                self.parts.append(self._said(event))
            case "round.finished":
                self.rounds.append(Round(self.run_id, data["round"], event.sequence))
                self.parts.append(self.rounds[-1])
            case "message.assistant":
                self.rounds[-1].text = data["text"]
                self.rounds[-1].sequence = event.sequence
            # A call of round 0 is done anew, and stands in the round that asked for it.
            case "tool.called" if data["round"]:
                call = ToolCall(
                    id=data["tool_call_id"], name=data["name"], arguments=data["arguments"]
                )
                self.rounds[-1].calls.append(call)
            case "tool.returned":
                result = Result(event.sequence, data["content"], data["outcome"])
                self.results[data["tool_call_id"]] = result
            case ending if ending in ENDINGS:
                self.ended = True
            case _:
                pass

    def _said(self, event: Event) -> Message:
        return Message(
            role="user", text=event.data["text"], run_id=self.run_id, sequence=event.sequence
        )


RunLogs = Mapping[str, RunLog]
"""A session's runs by id, in the order of their first events."""


@dataclass
class Performed:
    """What a run goes on from: its predecessors' part and its own, with the results that stand."""

    parts: list[Round | Message] = field(default_factory=list)
    results: dict[str, Result] = field(default_factory=dict)

    def cut_short(self) -> list[ToolCall]:
        """The calls of the last round that have no result a retry can go on with, in order.

        An earlier round's cancelled results were seen by a later one, and stand.
        """
        rounds = [part for part in self.parts if isinstance(part, Round)]
        return [
            call
            for call in (rounds[-1].calls if rounds else ())
            if (result := self.results.get(call.id)) is None or result.outcome == "cancelled"
        ]


def gather(events: Iterable[Event]) -> dict[str, RunLog]:
    """The runs of a session's log."""
    logs: dict[str, RunLog] = {}
    for event in events:
        if event.run_id is not None:
            if (log := logs.get(event.run_id)) is None:
                log = logs[event.run_id] = RunLog(event.run_id)
            log.take(upcast(event))
    return logs


def performed(log: RunLog, logs: RunLogs) -> Performed:
    """What was done for this run, by itself and by the attempts whose checkpoint it has."""
    chain = [log]
    while chain[-1].retry_from == "checkpoint" and (before := logs.get(chain[-1].retry_of or "")):
        chain.append(before)
    done = Performed()
    for attempt in reversed(chain):
        for call in done.cut_short():
            done.results.pop(call.id, None)
        done.results |= attempt.results
        done.parts += attempt.parts
    return done
