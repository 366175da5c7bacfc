"""Model rounds in the store: what they are asked with, and their record."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, insert, select

from turnwright.domain import events as e
from turnwright.domain.events import Event
from turnwright.domain.history import CONVERSATION, conversation
from turnwright.domain.ids import new_id
from turnwright.domain.limits import reached
from turnwright.domain.loops import repeats
from turnwright.domain.messages import ModelResponse, Opaque
from turnwright.domain.ports import Owner, Recorded, RoundWork
from turnwright.domain.run import Failure, Run, RunStatus
from turnwright.store.calls import called
from turnwright.store.engine import Tx
from turnwright.store.event_log import find, read_events
from turnwright.store.inputs import Pending, pending, take
from turnwright.store.run_rows import Fact, Locked, lock_run, record, recorded, since
from turnwright.store.settlement import end
from turnwright.store.tables import checkpoints, live_texts

EMPTY = "The model answered with nothing."

_CHECKPOINTS = select(checkpoints).where(checkpoints.c.run_id == bindparam("of_run"))
_KEEP = insert(checkpoints)
_NO_LIVE_TEXT = delete(live_texts).where(live_texts.c.run_id == bindparam("of_run"))


def begin_round(tx: Tx, owner: Owner, number: int, *, last: bool, after: int) -> RoundWork:
    """See `turnwright.domain.ports.Runs.begin_round`."""
    locked = lock_run(tx, owner)
    run = locked.run
    finished, started = (_key(run, number, step) for step in ("finished", "started"))
    found = find(tx, run.session_id, finished, started)
    if finished in found:
        return RoundWork(run=run, instead=since(tx, run, found[finished]))
    run, taken = take(tx, locked, locked.owned())
    if run.cancel_requested_at is not None or (
        not last and reached(run.limits, run.usage, "rounds")
    ):
        return RoundWork(run=run, instead=recorded(tx, locked, run, taken, after=after))
    attempt, message_id = _attempt(tx, run, number, found.get(started))
    fact = e.RoundStarted(round=number, attempt=attempt, model=run.model, message_id=message_id)
    run, _ = record(tx, run, [(started if attempt == 1 else f"{started}/{attempt}", fact)])
    log = read_events(tx, session_id=run.session_id, types=CONVERSATION)
    rows = tx.connection.execute(_CHECKPOINTS, {"of_run": run.id})
    opaque = {row.round: Opaque.model_validate(row.opaque) for row in rows}
    messages = conversation(log, run_id=run.id, opaque=opaque)
    return RoundWork(run=run, messages=messages, message_id=message_id)


def _attempt(tx: Tx, run: Run, number: int, first: Event | None) -> tuple[int, str]:
    """Which attempt at the round this is, and the id of the text in all of them."""
    if first is None:
        return 1, new_id("msg")
    starts = read_events(tx, run_id=run.id, types=(e.RoundStarted.type,), after=first.sequence - 1)
    attempts = sum(event.data["round"] == number for event in starts)
    return attempts + 1, str(first.data["message_id"])


def finish_round(
    tx: Tx,
    owner: Owner,
    number: int,
    response: ModelResponse,
    *,
    message_id: str,
    allow_empty: bool,
) -> Recorded:
    """See `turnwright.domain.ports.Runs.finish_round`."""
    locked = lock_run(tx, owner)
    run, key = locked.run, _key(locked.run, number, "finished")
    if found := find(tx, run.session_id, key):
        return since(tx, run, found[key])
    run = locked.owned()
    if response.tool_calls:
        in_a_row = _repeats(tx, run, number, response)
        facts = _facts(run, number, response, message_id, repeats=in_a_row)
        run, appended = record(tx, run, facts)
        tx.connection.execute(_NO_LIVE_TEXT, {"of_run": run.id})
        if response.opaque is not None:
            opaque = response.opaque.model_dump(mode="json")
            tx.connection.execute(_KEEP, {"run_id": run.id, "round": number, "opaque": opaque})
        return Recorded(run=run, log=tuple(appended))
    waiting = pending(tx, locked)
    final = not (waiting.text or waiting.cancel)
    facts = _facts(run, number, response, message_id, final=final)
    run, appended = _last(tx, locked, facts, waiting, ok=bool(response.text) or allow_empty)
    return Recorded(run=run, log=tuple(appended))


def _last(
    tx: Tx, locked: Locked, facts: list[Fact], waiting: Pending, *, ok: bool
) -> tuple[Run, list[Event]]:
    """A round without calls is the run's output, and ends it in the same transaction.

    Not if words came while it was streaming: they get a round of their own.
    """
    if waiting.cancel:
        return end(tx, locked, locked.run, RunStatus.CANCELLED, last=facts)
    if waiting.text:
        run, appended = record(tx, locked.run, facts)
        tx.connection.execute(_NO_LIVE_TEXT, {"of_run": run.id})
        run, taken = take(tx, locked, run)
        return run, appended + taken
    if ok:
        return end(tx, locked, locked.run, RunStatus.COMPLETED, last=facts)
    failure = Failure(reason="empty_model_turn", message=EMPTY, retryable=True)
    return end(tx, locked, locked.run, RunStatus.FAILED, failure, last=facts)


def _repeats(tx: Tx, run: Run, number: int, response: ModelResponse) -> int:
    """So many rounds in a row, with this one, asked for just these calls."""
    before: Sequence[e.ToolCalled] = ()
    so_far = 0
    key = _key(run, number - 1, "finished")
    if number > 1 and (found := find(tx, run.session_id, key)):
        last = e.RoundFinished.model_validate(e.upcast(found[key]).data)
        names = sorted(call.name for call in response.tool_calls)
        if names == sorted(call.name for call in last.tool_calls):
            before = [called(tx, run, call.id) for call in last.tool_calls]
            so_far = last.repeats
    return repeats(response.tool_calls, before, so_far)


def _key(run: Run, number: int, step: str) -> str:
    return f"{run.id}/round/{number}/{step}"


def _facts(
    run: Run,
    number: int,
    response: ModelResponse,
    message_id: str,
    *,
    repeats: int = 0,
    final: bool = True,
) -> list[Fact]:
    finished = e.RoundFinished(
        round=number,
        model=run.model,
        usage=response.usage,
        finish_reason=response.finish_reason,
        tool_calls=tuple(e.CallName(id=c.id, name=c.name) for c in response.tool_calls),
        repeats=repeats,
    )
    facts: list[Fact] = [(_key(run, number, "finished"), finished)]
    if response.text:
        said = e.AssistantMessage(
            message_id=message_id,
            round=number,
            text=response.text,
            final=final and not response.tool_calls,
            reply_to=run.trigger_message_id,
        )
        facts.append((_key(run, number, "said"), said))
    for call in response.tool_calls:
        fact = e.ToolCalled(
            tool_call_id=call.id, name=call.name, round=number, arguments=call.arguments
        )
        facts.append((f"{run.id}/call/{call.id}/called", fact))
    return facts
