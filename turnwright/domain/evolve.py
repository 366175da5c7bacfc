"""Rows folded from events: the one function that says what an event does to a run's row.

The live append and `turnwright rebuild` both go through here, so that a row always equals its log.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from turnwright.domain import events as e
from turnwright.domain.errors import UnknownEvent
from turnwright.domain.events import Event
from turnwright.domain.run import Limits, Output, Run, RunStatus, Waiting
from turnwright.domain.sessions import Session


def begin(event: Event, data: e.RunStarted) -> Run:
    """The row of a run that has just been opened."""
    identity = data.model_dump(exclude={"execution_id", "limits"})
    return Run(
        **identity,
        id=_run_id(event),
        session_id=event.session_id,
        limits=data.limits,
        status=RunStatus.RUNNING,
        execution_id=data.execution_id,
        started_at=event.created_at,
        updated_at=event.created_at,
        last_sequence=event.sequence,
    )


def evolve(run: Run, event: Event, data: e.EventData) -> Run:
    """The row after one more of its events."""
    changes: dict[str, Any] = {"updated_at": event.created_at, "last_sequence": event.sequence}
    match data:
        case e.RoundStarted():
            changes["usage"] = run.usage.plus(rounds=1)
        case e.RoundFinished():
            changes["usage"] = run.usage.plus(data.usage)
        case e.ToolCalled():
            changes["usage"] = run.usage.plus(tool_calls=1)
        case e.AssistantMessage(final=True):
            changes["output"] = Output(message_id=data.message_id, text=data.text)
        case e.RunWaiting():
            changes |= {
                "status": data.status,
                "waiting": Waiting(
                    since=event.created_at,
                    question=data.question,
                    approval=data.approval,
                    until=data.until,
                    limit=data.limit,
                ),
            }
        case e.RunResumed():
            changes |= {"status": RunStatus.RUNNING, "waiting": None}
        case e.RunCancelRequested():
            changes["cancel_requested_at"] = event.created_at
        case e.RunModelSwitched():
            changes["model"] = data.after
        case e.RunBudgetExtended():
            # The event's numbers are floats for the sake of `seconds`.
            limits = run.limits.model_dump() | {data.limit: data.after}
            changes["limits"] = Limits.model_validate(limits)
        case e.RunReopened():
            changes |= {
                "status": RunStatus.RUNNING,
                "execution_id": data.execution_id,
                "cancel_requested_at": None,
                "failure": None,
                "ended_at": None,
            }
        case e.RunEnded():
            changes |= {
                "status": data.status,
                "waiting": None,
                "failure": data.failure,
                "ended_at": event.created_at,
            }
        case _:
            pass
    return run.model_copy(update=changes)


def fold(events: Iterable[Event]) -> Run:
    """A run's row from all its events. Raises `UnknownEvent`."""
    run: Run | None = None
    for event in events:
        data = e.decode(event)
        if isinstance(data, e.RunStarted):
            run = begin(event, data)
        elif run is not None:
            run = evolve(run, event, data)
    if run is None:
        raise UnknownEvent("these events hold no run.started")
    return run


def fold_session(events: Iterable[Event]) -> Session:
    """A session's row from all its events (its active run is the runs' affair).

    Raises `UnknownEvent`.
    """
    first = last = None
    state: e.SessionState | None = None
    closed_at: datetime | None = None
    for event in events:
        first, last = first or event, event
        match e.decode(event):
            case e.SessionClosed() as data:
                state, closed_at = data, event.created_at
            case e.SessionState() as data:
                state = data
            case _:
                pass
    if first is None or last is None or state is None:
        raise UnknownEvent("these events hold no session.created")
    return Session(
        **state.model_dump(),
        id=first.session_id,
        status="open" if closed_at is None else "closed",
        active_run=None,
        last_sequence=last.sequence,
        created_at=first.created_at,
        updated_at=last.created_at,
        closed_at=closed_at,
    )


def _run_id(event: Event) -> str:
    if event.run_id is None:
        raise UnknownEvent(f"event {event.id} is a run's, and names none")
    return event.run_id
