"""Logs for tests of the domain, an event at a time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

from turnwright.domain import events as e
from turnwright.domain.events import Event
from turnwright.domain.messages import Outcome, Usage
from turnwright.domain.run import Limits, RetryFrom, RunKind, RunStatus, RunUsage

START = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


def event(
    data: e.EventData,
    sequence: int = 1,
    *,
    run_id: str | None = "run_a",
    version: int | None = None,
) -> Event:
    """An event with this content; its time is its sequence in seconds after `START`."""
    return Event(
        id=f"evt_{sequence}",
        session_id="ses_a",
        sequence=sequence,
        type=data.type,
        schema_version=data.version if version is None else version,
        run_id=run_id,
        created_at=START + timedelta(seconds=sequence),
        data=data.model_dump(mode="json"),
    )


class Log:
    """A session's log that grows."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._sequence = count(1)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def add(self, run_id: str | None, *facts: e.EventData) -> "Log":
        """Append these, of one run."""
        self.events += [event(data, next(self._sequence), run_id=run_id) for data in facts]
        return self

    def turn(self, run_id: str, text: str, answer: str, *, retry_of: str | None = None) -> "Log":
        """Append a whole turn without tools."""
        return self.add(
            run_id,
            user(f"msg_{run_id}", text),
            started(run_id, retry_of=retry_of),
            finished(1),
            said(1, answer, final=True),
            e.RunCompleted(output_message_id="msg_out_1", usage=RunUsage(rounds=1)),
        )


def user(message_id: str, text: str, *, in_reply_to: str | None = None) -> e.UserMessage:
    return e.UserMessage(
        message_id=message_id, text=text, in_reply_to=in_reply_to, created_at=START
    )


def started(
    run_id: str = "run_a",
    *,
    kind: RunKind = "turn",
    retry_of: str | None = None,
    retry_from: RetryFrom | None = None,
    limits: Limits | None = None,
) -> e.RunStarted:
    return e.RunStarted(
        execution_id="execution-1",
        kind=kind,
        actor="assistant",
        agent_version="1",
        model="scripted:echo",
        room="lab",
        limits=limits or Limits(),
        trigger_message_id=f"msg_{run_id}",
        triggered_by_run_id=None,
        parent_run_id=None,
        root_run_id=run_id,
        retry_of=retry_of,
        retry_from=retry_from,
        attempt=1,
        created_at=START,
    )


def began(number: int, attempt: int = 1) -> e.RoundStarted:
    return e.RoundStarted(
        round=number, attempt=attempt, model="scripted:echo", message_id=f"msg_out_{number}"
    )


def finished(
    number: int, *calls: tuple[str, str], tokens: int = 10, repeats: int = 0
) -> e.RoundFinished:
    return e.RoundFinished(
        round=number,
        model="scripted:echo",
        usage=Usage(input_tokens=tokens - 1, output_tokens=1),
        finish_reason="tool_calls" if calls else "stop",
        tool_calls=tuple(e.CallName(id=call_id, name=name) for call_id, name in calls),
        repeats=repeats,
    )


def said(number: int, text: str, *, final: bool = False) -> e.AssistantMessage:
    return e.AssistantMessage(
        message_id=f"msg_out_{number}",
        round=number,
        text=text,
        final=final,
        reply_to="msg_run_a",
    )


def called(call_id: str, name: str = "look", number: int = 1) -> e.ToolCalled:
    return e.ToolCalled(tool_call_id=call_id, name=name, round=number, arguments={"of": call_id})


def returned(
    call_id: str, content: str = "seen", name: str = "look", outcome: Outcome = "ok"
) -> e.ToolReturned:
    return e.ToolReturned(
        tool_call_id=call_id, name=name, outcome=outcome, content=content, bytes=len(content)
    )


def injected(text: str, source: e.InjectedBy = "steering") -> e.MessageInjected:
    return e.MessageInjected(message_id=f"msg_{text}", text=text, source=source)


def cancelled() -> e.RunCancelled:
    return e.RunCancelled(usage=RunUsage())


WAITING = RunStatus.WAITING_FOR_USER
