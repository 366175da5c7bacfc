"""Model rounds in the store: what they are asked with, and their record."""

from sqlalchemy import bindparam, delete, insert, select

from turnwright.domain import events as e
from turnwright.domain.events import Event
from turnwright.domain.history import CONVERSATION, conversation
from turnwright.domain.ids import new_id
from turnwright.domain.messages import ModelResponse, Opaque
from turnwright.domain.ports import Opened, Owner, RoundWork
from turnwright.domain.run import Failure, Run, RunStatus
from turnwright.store.engine import Tx
from turnwright.store.event_log import find, read_events
from turnwright.store.run_rows import Fact, Locked, lock_run, record
from turnwright.store.settlement import end
from turnwright.store.tables import checkpoints, live_texts

EMPTY = "The model answered with nothing."

_CHECKPOINTS = select(checkpoints).where(checkpoints.c.run_id == bindparam("of_run"))
_KEEP = insert(checkpoints)
_NO_LIVE_TEXT = delete(live_texts).where(live_texts.c.run_id == bindparam("of_run"))


def begin_round(tx: Tx, owner: Owner, number: int) -> RoundWork:
    """See `turnwright.domain.ports.Runs.begin_round`."""
    locked = lock_run(tx, owner)
    run = locked.run
    finished, started = (_key(run, number, step) for step in ("finished", "started"))
    found = find(tx, run.session_id, finished, started)
    if finished in found:
        return RoundWork(run=run, done=_from(tx, run, found[finished]))
    locked.owned()
    log = read_events(tx, session_id=run.session_id, types=CONVERSATION)
    rows = tx.connection.execute(_CHECKPOINTS, {"of_run": run.id})
    opaque = {row.round: Opaque.model_validate(row.opaque) for row in rows}
    if started in found:
        message_id = str(e.upcast(found[started]).data["message_id"])
    else:
        message_id = new_id("msg")
        fact = e.RoundStarted(round=number, attempt=1, model=run.model, message_id=message_id)
        run, _ = record(tx, run, [(started, fact)])
    messages = conversation(log, run_id=run.id, opaque=opaque)
    return RoundWork(run=run, messages=messages, message_id=message_id)


def finish_round(
    tx: Tx,
    owner: Owner,
    number: int,
    response: ModelResponse,
    *,
    message_id: str,
    allow_empty: bool,
) -> Opened:
    """See `turnwright.domain.ports.Runs.finish_round`."""
    locked = lock_run(tx, owner)
    run, key = locked.run, _key(locked.run, number, "finished")
    if found := find(tx, run.session_id, key):
        return _from(tx, run, found[key])
    locked.owned()
    facts = _facts(run, number, response, message_id)
    if response.tool_calls:
        run, appended = record(tx, run, facts)
        tx.connection.execute(_NO_LIVE_TEXT, {"of_run": run.id})
        if response.opaque is not None:
            opaque = response.opaque.model_dump(mode="json")
            tx.connection.execute(_KEEP, {"run_id": run.id, "round": number, "opaque": opaque})
    else:
        run, appended = _last(tx, locked, facts, ok=bool(response.text) or allow_empty)
    return Opened(run=run, log=tuple(appended))


def _last(tx: Tx, locked: Locked, facts: list[Fact], *, ok: bool) -> tuple[Run, list[Event]]:
    """A round without calls is the run's output, and ends it in the same transaction."""
    if ok:
        return end(tx, locked.session, locked.run, RunStatus.COMPLETED, last=facts)
    failure = Failure(reason="empty_model_turn", message=EMPTY, retryable=True)
    return end(tx, locked.session, locked.run, RunStatus.FAILED, failure, last=facts)


def _from(tx: Tx, run: Run, record: Event) -> Opened:
    """The run's log from this record on."""
    return Opened(run=run, log=tuple(read_events(tx, run_id=run.id, after=record.sequence - 1)))


def _key(run: Run, number: int, step: str) -> str:
    return f"{run.id}/round/{number}/{step}"


def _facts(run: Run, number: int, response: ModelResponse, message_id: str) -> list[Fact]:
    finished = e.RoundFinished(
        round=number,
        model=run.model,
        usage=response.usage,
        finish_reason=response.finish_reason,
        tool_calls=tuple(e.CallName(id=c.id, name=c.name) for c in response.tool_calls),
        repeats=0,
    )
    facts: list[Fact] = [(_key(run, number, "finished"), finished)]
    if response.text:
        said = e.AssistantMessage(
            message_id=message_id,
            round=number,
            text=response.text,
            final=not response.tool_calls,
            reply_to=run.trigger_message_id,
        )
        facts.append((_key(run, number, "said"), said))
    for call in response.tool_calls:
        called = e.ToolCalled(
            tool_call_id=call.id, name=call.name, round=number, arguments=call.arguments
        )
        facts.append((f"{run.id}/call/{call.id}/called", called))
    return facts
