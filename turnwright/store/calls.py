"""Tool calls in the store: each begins before it is run, and has one result."""

from sqlalchemy import insert

from turnwright.domain import events as e
from turnwright.domain.errors import NotFound
from turnwright.domain.events import Event
from turnwright.domain.messages import Outcome
from turnwright.domain.ports import CallWork, Owner
from turnwright.domain.run import Run
from turnwright.store.engine import Tx
from turnwright.store.event_log import find, read_events
from turnwright.store.run_rows import get_run, lock_run, record
from turnwright.store.tables import tool_contents

_KEEP = insert(tool_contents)


def get_call(tx: Tx, run_id: str, call_id: str) -> e.ToolCalled:
    """See `turnwright.domain.ports.Runs.get_call`."""
    return called(tx, get_run(tx, run_id), call_id)


def begin_call(tx: Tx, owner: Owner, call_id: str, *, repeatable: bool) -> CallWork:
    """See `turnwright.domain.ports.Runs.begin_call`."""
    locked = lock_run(tx, owner)
    run, call = locked.run, called(tx, locked.run, call_id)
    attempt = 1 + _starts(tx, run, call_id)
    result = returned(tx, run, call_id)
    if result is None:
        locked.owned()
        if attempt == 1 or repeatable:
            started = e.ToolStarted(
                tool_call_id=call_id, name=call.name, attempt=attempt, repeatable=repeatable
            )
            run, _ = record(tx, run, [(f"{run.id}/call/{call_id}/started/{attempt}", started)])
    return CallWork(run=run, called=call, attempt=attempt, returned=result)


def finish_call(tx: Tx, owner: Owner, result: e.ToolReturned, whole: str | None) -> e.ToolReturned:
    """See `turnwright.domain.ports.Runs.finish_call`."""
    locked = lock_run(tx, owner)
    run, call_id = locked.run, result.tool_call_id
    if (before := returned(tx, run, call_id)) is not None:
        return before
    locked.owned()
    if whole is not None:
        tx.connection.execute(_KEEP, {"run_id": run.id, "tool_call_id": call_id, "content": whole})
    record(tx, run, [(returned_key(run.id, call_id), result)])
    return result


def outcome_of(
    call_id: str, name: str, outcome: Outcome, text: str, *, fatal: bool = False
) -> e.ToolReturned:
    """A result in words of ours, for a call that no function has answered."""
    return e.ToolReturned(
        tool_call_id=call_id,
        name=name,
        outcome=outcome,
        content=text,
        bytes=len(text.encode()),
        fatal=fatal,
    )


def returned_key(run_id: str, call_id: str) -> str:
    """The deduplication key of a call's one result."""
    return f"{run_id}/call/{call_id}/returned"


def called(tx: Tx, run: Run, call_id: str) -> e.ToolCalled:
    """What a call of this run asks for. Raises `NotFound`."""
    event = _one(tx, run, f"{run.id}/call/{call_id}/called")
    if event is None:
        raise NotFound(f"run {run.id} has no call {call_id}")
    return e.ToolCalled.model_validate(e.upcast(event).data)


def returned(tx: Tx, run: Run, call_id: str) -> e.ToolReturned | None:
    """The result of a call of this run, if it has one."""
    event = _one(tx, run, returned_key(run.id, call_id))
    return None if event is None else e.ToolReturned.model_validate(e.upcast(event).data)


def _starts(tx: Tx, run: Run, call_id: str) -> int:
    """How often the call was begun."""
    first = f"{run.id}/call/{call_id}/started/1"
    if first not in find(tx, run.session_id, first):
        return 0
    starts = read_events(tx, run_id=run.id, types=(e.ToolStarted.type,))
    return sum(event.data["tool_call_id"] == call_id for event in starts)


def _one(tx: Tx, run: Run, key: str) -> Event | None:
    return find(tx, run.session_id, key).get(key)
