"""The runs as the activities write them: one transaction a method, each found again by its key."""

from collections.abc import Sequence
from typing import ParamSpec

from sqlalchemy import delete, insert, select

from turnwright.domain import events as e
from turnwright.domain.errors import Fenced, NotFound
from turnwright.domain.history import CONVERSATION, conversation
from turnwright.domain.ids import new_id
from turnwright.domain.messages import ModelResponse, Opaque
from turnwright.domain.ports import CallWork, Opened, Owner, RoundWork
from turnwright.domain.run import Failure, Question, Run, RunStatus
from turnwright.domain.sessions import UserInput
from turnwright.domain.turn import Answered, Asked, Ended, Settle, ended
from turnwright.store.engine import Database, Tx
from turnwright.store.event_log import find, lock_session, read_events
from turnwright.store.run_rows import get_run, record, save_run
from turnwright.store.settlement import end, failure_of, returned_key
from turnwright.store.tables import checkpoints, inbox, live_texts, tool_contents

P = ParamSpec("P")
EMPTY = "The model answered with nothing."


class RunStore:
    """`turnwright.domain.ports.Runs` over a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, run_id: str) -> Run:
        return await self._database.read(get_run, run_id)

    async def get_call(self, run_id: str, call_id: str) -> e.ToolCalled:
        return await self._database.read(_get_call, run_id, call_id)

    async def open(self, owner: Owner, *, displaces: str | None) -> Opened:
        return await self._database.write(_open, owner, displaces)

    async def load_round(self, owner: Owner, number: int) -> RoundWork:
        return await self._database.read(_load_round, owner, number)

    async def begin_round(self, owner: Owner, number: int) -> str:
        return await self._database.write(_begin_round, owner, number)

    async def finish_round(
        self, owner: Owner, number: int, response: ModelResponse, *, allow_empty: bool
    ) -> Opened:
        return await self._database.write(_finish_round, owner, number, response, allow_empty)

    async def begin_call(self, owner: Owner, call_id: str, *, repeatable: bool) -> CallWork:
        return await self._database.write(_begin_call, owner, call_id, repeatable)

    async def finish_call(
        self, owner: Owner, result: e.ToolReturned, *, whole: str | None = None
    ) -> e.ToolReturned:
        return await self._database.write(_finish_call, owner, result, whole)

    async def ask(
        self, owner: Owner, call_id: str, *, text: str, choices: Sequence[str] | None
    ) -> Asked:
        return await self._database.write(_ask, owner, call_id, text, choices)

    async def resume(self, owner: Owner, asked: Asked) -> Answered | None:
        return await self._database.write(_resume, owner, asked)

    async def settle(self, owner: Owner, step: Settle) -> Ended:
        return await self._database.write(_settle, owner, step.status, failure_of(step))

    async def fail(self, owner: Owner, failure: Failure) -> Ended:
        return await self._database.write(_settle, owner, RunStatus.FAILED, failure)


def _locked(tx: Tx, owner: Owner) -> Run:
    """The run, with its session's row locked."""
    session_id = get_run(tx, owner.run_id).session_id
    lock_session(tx, session_id)
    return get_run(tx, owner.run_id)


def _owned(run: Run, owner: Owner) -> Run:
    if run.execution_id != owner.execution_id or not run.status.active:
        raise Fenced(f"run {run.id} is {run.status}, and owned by {run.execution_id}")
    return run


def _open(tx: Tx, owner: Owner, displaces: str | None) -> Opened:
    run = _locked(tx, owner)
    if run.execution_id != owner.execution_id and run.status.active:
        if run.execution_id != displaces:
            raise Fenced(f"run {run.id} is owned by {run.execution_id} by now")
        run = run.model_copy(update={"execution_id": owner.execution_id})
        if run.status is RunStatus.STARTING:
            return Opened(run=_start(tx, run), log=())
        save_run(tx, run)
    return Opened(run=run, log=tuple(read_events(tx, run_id=run.id)))


def _start(tx: Tx, run: Run) -> Run:
    row = tx.connection.execute(
        select(inbox).where(inbox.c.id == run.trigger_message_id)
    ).one_or_none()
    if row is None or run.execution_id is None:
        raise NotFound(f"run {run.id} has no trigger in the inbox")
    words = UserInput.model_validate(row.data)
    said = e.UserMessage(
        message_id=row.id,
        text=words.text,
        author=words.author,
        metadata=words.metadata,
        created_at=row.created_at,
    )
    identity = {name: getattr(run, name) for name in e.RunStarted.model_fields}
    started = e.RunStarted(**identity)
    tx.connection.execute(delete(inbox).where(inbox.c.id == row.id))
    return record(tx, run, (f"{row.id}/said", said), (f"{run.id}/started", started))


def _round_key(run_id: str, number: int, step: str) -> str:
    return f"{run_id}/round/{number}/{step}"


def _log_of(tx: Tx, run: Run, after: int = 0) -> Opened:
    return Opened(run=run, log=tuple(read_events(tx, run_id=run.id, after=after)))


def _done(tx: Tx, run: Run, number: int) -> Opened | None:
    """The log from this round's record on, if it is there."""
    record = find(tx, run.session_id, _round_key(run.id, number, "finished"))
    return None if record is None else _log_of(tx, run, record.sequence - 1)


def _load_round(tx: Tx, owner: Owner, number: int) -> RoundWork:
    run = get_run(tx, owner.run_id)
    if (done := _done(tx, run, number)) is not None:
        return RoundWork(run=run, messages=(), done=done)
    _owned(run, owner)
    log = read_events(tx, session_id=run.session_id, types=CONVERSATION)
    rows = tx.connection.execute(select(checkpoints).where(checkpoints.c.run_id == run.id))
    opaque = {row.round: Opaque.model_validate(row.opaque) for row in rows}
    return RoundWork(run=run, messages=conversation(log, run_id=run.id, opaque=opaque))


def _begin_round(tx: Tx, owner: Owner, number: int) -> str:
    run = _locked(tx, owner)
    key = _round_key(run.id, number, "started")
    if (event := find(tx, run.session_id, key)) is not None:
        started = e.RoundStarted.model_validate(event.data)
        return started.message_id
    _owned(run, owner)
    started = e.RoundStarted(round=number, model=run.model, message_id=new_id("msg"))
    record(tx, run, (key, started))
    return started.message_id


def _finish_round(
    tx: Tx, owner: Owner, number: int, response: ModelResponse, allow_empty: bool
) -> Opened:
    run = _locked(tx, owner)
    if (done := _done(tx, run, number)) is not None:
        return done
    _owned(run, owner)
    before = run.last_sequence
    run = record(tx, run, *_round_facts(tx, run, number, response))
    if response.opaque is not None:
        tx.connection.execute(
            insert(checkpoints).values(
                run_id=run.id, round=number, opaque=response.opaque.model_dump(mode="json")
            )
        )
    if response.tool_calls:
        tx.connection.execute(delete(live_texts).where(live_texts.c.run_id == run.id))
    else:
        if response.text or allow_empty:
            run = end(tx, run, RunStatus.COMPLETED)
        else:
            failure = Failure(reason="empty_model_turn", message=EMPTY, retryable=True)
            run = end(tx, run, RunStatus.FAILED, failure)
    return _log_of(tx, run, before)


def _round_facts(
    tx: Tx, run: Run, number: int, response: ModelResponse
) -> list[tuple[str | None, e.EventData]]:
    finished = e.RoundFinished(
        round=number,
        model=run.model,
        usage=response.usage,
        finish_reason=response.finish_reason,
        tool_calls=tuple(e.CallName(id=c.id, name=c.name) for c in response.tool_calls),
    )
    facts: list[tuple[str | None, e.EventData]] = [
        (_round_key(run.id, number, "finished"), finished)
    ]
    if response.text:
        started = find(tx, run.session_id, _round_key(run.id, number, "started"))
        said = e.AssistantMessage(
            message_id=started.data["message_id"] if started else new_id("msg"),
            round=number,
            text=response.text,
            final=not response.tool_calls,
            reply_to=run.trigger_message_id,
        )
        facts.append((_round_key(run.id, number, "said"), said))
    for call in response.tool_calls:
        called = e.ToolCalled(
            tool_call_id=call.id, name=call.name, round=number, arguments=call.arguments
        )
        facts.append((f"{run.id}/call/{call.id}/called", called))
    return facts


def _get_call(tx: Tx, run_id: str, call_id: str) -> e.ToolCalled:
    return _called(tx, get_run(tx, run_id), call_id)


def _called(tx: Tx, run: Run, call_id: str) -> e.ToolCalled:
    event = find(tx, run.session_id, f"{run.id}/call/{call_id}/called")
    if event is None:
        raise NotFound(f"run {run.id} has no call {call_id}")
    return e.ToolCalled.model_validate(e.upcast(event).data)


def _returned(tx: Tx, run: Run, call_id: str) -> e.ToolReturned | None:
    event = find(tx, run.session_id, returned_key(run.id, call_id))
    return None if event is None else e.ToolReturned.model_validate(e.upcast(event).data)


def _begin_call(tx: Tx, owner: Owner, call_id: str, repeatable: bool) -> CallWork:
    run = _locked(tx, owner)
    called = _called(tx, run, call_id)
    starts = read_events(tx, run_id=run.id, types=(e.ToolStarted.type,))
    attempt = 1 + sum(event.data["tool_call_id"] == call_id for event in starts)
    returned = _returned(tx, run, call_id)
    if returned is None:
        _owned(run, owner)
        if attempt == 1 or repeatable:
            started = e.ToolStarted(tool_call_id=call_id, name=called.name, attempt=attempt)
            record(tx, run, (f"{run.id}/call/{call_id}/started/{attempt}", started))
    return CallWork(run=run, called=called, attempt=attempt, returned=returned)


def _finish_call(
    tx: Tx, owner: Owner, result: e.ToolReturned, whole: str | None
) -> e.ToolReturned:
    run = _locked(tx, owner)
    if (returned := _returned(tx, run, result.tool_call_id)) is not None:
        return returned
    _owned(run, owner)
    if whole is not None:
        tx.connection.execute(
            insert(tool_contents).values(
                run_id=run.id, tool_call_id=result.tool_call_id, content=whole
            )
        )
    record(tx, run, (returned_key(run.id, result.tool_call_id), result))
    return result


def _ask(tx: Tx, owner: Owner, call_id: str, text: str, choices: Sequence[str] | None) -> Asked:
    run = _locked(tx, owner)
    key = f"{run.id}/call/{call_id}/asked"
    if (event := find(tx, run.session_id, key)) is not None:
        return Asked(call_id=call_id, question_id=event.data["question_id"])
    _owned(run, owner)
    question = Question(
        id=new_id("qst"), text=text, choices=None if choices is None else tuple(choices)
    )
    asked = e.QuestionAsked(
        question_id=question.id, tool_call_id=call_id, text=text, choices=question.choices
    )
    waiting = e.RunWaiting(status=RunStatus.WAITING_FOR_USER, question=question)
    record(tx, run, (key, asked), (f"{question.id}/waiting", waiting))
    return Asked(call_id=call_id, question_id=question.id)


def _resume(tx: Tx, owner: Owner, asked: Asked) -> Answered | None:
    run = _locked(tx, owner)
    if _returned(tx, run, asked.call_id) is not None:
        return Answered(call_id=asked.call_id)
    _owned(run, owner)
    row = tx.connection.execute(
        select(inbox).where(inbox.c.question_id == asked.question_id)
    ).one_or_none()
    if row is None:
        return None
    words = UserInput.model_validate(row.data)
    name = _called(tx, run, asked.call_id).name
    record(
        tx,
        run,
        (
            f"{asked.question_id}/answer",
            e.UserMessage(
                message_id=row.id,
                text=words.text,
                in_reply_to=asked.question_id,
                author=words.author,
                metadata=words.metadata,
                created_at=row.created_at,
            ),
        ),
        (
            f"{asked.question_id}/answered",
            e.QuestionAnswered(
                question_id=asked.question_id, text=words.text, message_id=row.id
            ),
        ),
        (
            returned_key(run.id, asked.call_id),
            e.ToolReturned(
                tool_call_id=asked.call_id,
                name=name,
                outcome="ok",
                content=words.text,
                bytes=len(words.text.encode()),
            ),
        ),
        (f"{asked.question_id}/resumed", e.RunResumed(left=RunStatus.WAITING_FOR_USER)),
    )
    tx.connection.execute(delete(inbox).where(inbox.c.id == row.id))
    return Answered(call_id=asked.call_id)


def _settle(tx: Tx, owner: Owner, status: RunStatus, failure: Failure | None) -> Ended:
    run = _locked(tx, owner)
    if not run.status.active:
        return ended(run)
    _owned(run, owner)
    if run.waiting is not None and run.waiting.question is not None:
        _resume_accepted(tx, owner, run.waiting.question)
        run = get_run(tx, run.id)
    return ended(end(tx, run, status, failure))


def _resume_accepted(tx: Tx, owner: Owner, question: Question) -> None:
    """An answer that was accepted before the run ends is in the log before its end."""
    asked = next(
        event
        for event in read_events(tx, run_id=owner.run_id, types=(e.QuestionAsked.type,))
        if event.data["question_id"] == question.id
    )
    _resume(tx, owner, Asked(call_id=asked.data["tool_call_id"], question_id=question.id))
