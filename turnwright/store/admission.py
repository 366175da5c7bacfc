"""What the API accepts for a run: messages and answers, durable before anybody is told.

All of it is decided under the session's row lock, so the verdict is the database's and final,
whatever Temporal does meanwhile (DESIGN.md, decisions 1 and 7).
"""

from collections.abc import Callable
from typing import Any, Literal

from sqlalchemy import select

from turnwright.domain.errors import (
    Invalid,
    QuestionAnswered,
    QuestionMismatch,
    RunNotWaiting,
    SessionBusy,
    SessionCompleted,
    SessionNotAwaitingUser,
)
from turnwright.domain.events import UserMessage, upcast
from turnwright.domain.ids import new_id
from turnwright.domain.run import Question, Run, RunStatus
from turnwright.domain.sessions import Accepted, AgentChoice, UserInput, UserMessageView
from turnwright.store.engine import Tx
from turnwright.store.event_log import find, lock_session
from turnwright.store.inbox import put, user_message, view
from turnwright.store.new_runs import asked_for, new_turn
from turnwright.store.run_rows import active_root, get_run
from turnwright.store.tables import inbox

Choose = Callable[[str], AgentChoice]
"""The agent of this name. Raises `NotFound` where none is loaded."""


def accept_message(
    tx: Tx,
    session_id: str,
    words: UserInput,
    *,
    tenant: str,
    choose: Choose,
    agent: str | None = None,
    model: str | None = None,
    limits: dict[str, Any] | None = None,
) -> Accepted:
    """One message, one run: both stored, the run `starting` and owned by no execution yet.

    Raises `NotFound`, `SessionCompleted`, and `SessionBusy` while a run is active.
    """
    row = lock_session(tx, session_id, tenant=tenant)
    chosen = choose(agent or row.agent)
    if row.status == "closed":
        raise SessionCompleted(session_id=session_id)
    busy = active_root(tx, session_id)
    if busy is not None:
        raise SessionBusy(run_id=busy.id, run_status=busy.status, session_id=session_id)
    message_id = new_id("msg")
    run = new_turn(tx, row, asked_for(chosen, model=model, limits=limits), trigger=message_id)
    put(tx, "message", message_id, run, words.model_dump(mode="json"))
    return Accepted(run=run, message=view(tx, message_id, run, words), after=row.last_sequence)


def accept_answer(
    tx: Tx,
    run_id: str,
    *,
    tenant: str,
    author: str | None,
    text: str | None,
    choice: str | None,
    question_id: str | None,
) -> Accepted:
    """Accept the one answer to a run's question; the identical one again is told the same.

    Checks, in this order: answered already (`QuestionAnswered` for another answer),
    `RunNotWaiting`, `QuestionMismatch`, the rules of choices (`Invalid`).
    """
    run = get_run(tx, run_id, tenant=tenant)
    row = lock_session(tx, run.session_id)
    run = get_run(tx, run_id)
    said = choice if choice is not None else text or ""
    question = run.waiting.question if run.waiting else None
    named = question_id or (question.id if question else None)
    if named is not None and (first := _answered(tx, run, named)) is not None:
        if first.text == said:
            return Accepted(run=run, message=first, after=row.last_sequence)
        raise QuestionAnswered(run_id=run.id, run_status=run.status)
    if run.status is not RunStatus.WAITING_FOR_USER or question is None:
        raise RunNotWaiting(
            f"The run is {run.status} and waits for no answer.",
            run_id=run.id,
            run_status=run.status,
        )
    if question_id not in (None, question.id):
        raise QuestionMismatch(run_id=run.id, run_status=run.status)
    _check_choice(question, text=text, choice=choice)
    message_id = new_id("msg")
    words = UserInput(text=said, author=author)
    put(tx, "answer", message_id, run, words.model_dump(mode="json"), settles=question.id)
    message = view(tx, message_id, run, words, in_reply_to=question.id)
    return Accepted(run=run, message=message, after=row.last_sequence)


def accept_send(
    tx: Tx, session_id: str, words: UserInput, *, tenant: str, choose: Choose
) -> tuple[Literal["input", "message"], Accepted]:
    """Route a text by the session's state alone (CONTRACT.md, `send`).

    Raises `SessionCompleted`, `SessionNotAwaitingUser`, and what an answer may be refused with.
    """
    lock_session(tx, session_id, tenant=tenant)
    run = active_root(tx, session_id)
    if run is None:
        return "message", accept_message(tx, session_id, words, tenant=tenant, choose=choose)
    question = run.waiting.question if run.waiting else None
    waits = run.status is RunStatus.WAITING_FOR_USER and question is not None
    if not waits or (question is not None and _answered(tx, run, question.id) is not None):
        raise SessionNotAwaitingUser(run_id=run.id, run_status=run.status, session_id=session_id)
    accepted = accept_answer(
        tx,
        run.id,
        tenant=tenant,
        author=words.author,
        text=words.text,
        choice=None,
        question_id=None,
    )
    return "input", accepted


def _check_choice(question: Question, *, text: str | None, choice: str | None) -> None:
    if question.choices is None:
        if choice is not None:
            raise Invalid(
                "This question has no choices; answer it with `text`.",
                errors=[{"loc": ["body", "choice"], "msg": "the open question has no choices"}],
            )
        return
    if (choice if choice is not None else text) not in question.choices:
        field = "choice" if choice is not None else "text"
        raise Invalid(
            "The answer is not one of the question's choices.",
            errors=[{"loc": ["body", field], "msg": "not one of the question's choices"}],
        )


def _answered(tx: Tx, run: Run, question_id: str) -> UserMessageView | None:
    """The accepted answer to a question of this run: in the inbox still, or in the log."""
    row = tx.connection.execute(
        select(inbox).where(inbox.c.settles == question_id, inbox.c.run_id == run.id)
    ).one_or_none()
    if row is not None:
        return _shown(user_message(row), run)
    key = f"{question_id}/answer"
    event = find(tx, run.session_id, key).get(key)
    if event is None or event.run_id != run.id:
        return None
    return _shown(UserMessage.model_validate(upcast(event).data), run)


def _shown(said: UserMessage, run: Run) -> UserMessageView:
    fields = said.model_dump(exclude={"message_id"})
    return UserMessageView(id=said.message_id, session_id=run.session_id, run_id=run.id, **fields)
