"""Questions in the store: asked, and answered by what the inbox has accepted."""

from collections.abc import Sequence

from sqlalchemy import Row, bindparam, delete

from turnwright.domain import events as e
from turnwright.domain.ids import new_id
from turnwright.domain.ports import Owner
from turnwright.domain.run import Failure, Question, Run, RunStatus
from turnwright.domain.turn import Answered, Asked, Ended, ended
from turnwright.store.calls import called, returned
from turnwright.store.engine import Tx
from turnwright.store.event_log import find, read_events
from turnwright.store.inbox import user_message
from turnwright.store.run_rows import Fact, lock_run, record
from turnwright.store.settlement import end, returned_key
from turnwright.store.tables import inbox

_TAKE = delete(inbox).where(inbox.c.settles == bindparam("question")).returning(inbox)


def ask(tx: Tx, owner: Owner, call_id: str, text: str, choices: Sequence[str] | None) -> Asked:
    """See `turnwright.domain.ports.Runs.ask`."""
    locked = lock_run(tx, owner)
    run, key = locked.run, f"{locked.run.id}/call/{call_id}/asked"
    if found := find(tx, run.session_id, key):
        return Asked(call_id=call_id, question_id=e.upcast(found[key]).data["question_id"])
    locked.owned()
    question = Question(
        id=new_id("qst"), text=text, choices=None if choices is None else tuple(choices)
    )
    asked = e.QuestionAsked(
        question_id=question.id, tool_call_id=call_id, text=text, choices=question.choices
    )
    waiting = e.RunWaiting(status=RunStatus.WAITING_FOR_USER, question=question)
    record(tx, run, [(key, asked), (f"{question.id}/waiting", waiting)])
    return Asked(call_id=call_id, question_id=question.id)


def resume(tx: Tx, owner: Owner, asked: Asked) -> Answered | None:
    """See `turnwright.domain.ports.Runs.resume`."""
    locked = lock_run(tx, owner)
    if returned(tx, locked.run, asked.call_id) is not None:
        return Answered(call_id=asked.call_id)
    return None if _answer(tx, locked.owned(), asked) is None else Answered(call_id=asked.call_id)


def settle(tx: Tx, owner: Owner, status: RunStatus, failure: Failure | None) -> Ended:
    """See `turnwright.domain.ports.Runs.settle`."""
    locked = lock_run(tx, owner)
    if not locked.run.status.active:
        return ended(locked.run)
    run = locked.owned()
    if run.waiting is not None and run.waiting.question is not None:
        # What was accepted before the run ends is in the log before its end.
        run = _answer(tx, run, _asked(tx, run, run.waiting.question.id)) or run
    run, _ = end(tx, locked.session, run, status, failure)
    return ended(run)


def _answer(tx: Tx, run: Run, asked: Asked) -> Run | None:
    """Log the question's accepted answer, if there is one."""
    row = tx.connection.execute(_TAKE, {"question": asked.question_id}).one_or_none()
    if row is None:
        return None
    run, _ = record(tx, run, _facts(tx, run, asked, row))
    return run


def _facts(tx: Tx, run: Run, asked: Asked, row: Row[tuple[object, ...]]) -> list[Fact]:
    said = user_message(row)
    answered = e.QuestionAnswered(question_id=asked.question_id, text=said.text, message_id=row.id)
    result = e.ToolReturned(
        tool_call_id=asked.call_id,
        name=called(tx, run, asked.call_id).name,
        outcome="ok",
        content=said.text,
        bytes=len(said.text.encode()),
    )
    return [
        (f"{asked.question_id}/answer", said),
        (f"{asked.question_id}/answered", answered),
        (returned_key(run.id, asked.call_id), result),
        (f"{asked.question_id}/resumed", e.RunResumed(left=RunStatus.WAITING_FOR_USER)),
    ]


def _asked(tx: Tx, run: Run, question_id: str) -> Asked:
    """The question as it was asked."""
    log = read_events(tx, run_id=run.id, types=(e.QuestionAsked.type,))
    data = next(d for event in log if (d := e.upcast(event).data)["question_id"] == question_id)
    return Asked(call_id=data["tool_call_id"], question_id=question_id)
