"""What users say: a message starts a run, an answer lets one go on."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Response

from api.dependencies import RunId, SessionId
from api.errors import invalid
from api.models import check_model
from api.mutations import Done, Mutating, Mutation
from api.openapi import problems
from api.route import CheckedRoute
from api.schemas import Answer, NewMessage, Queued, RunAccepted, Sent, Words
from turnwright.domain.queue import QueuedMessage
from turnwright.domain.sessions import Accepted, UserInput
from turnwright.store.admission import accept_answer, accept_send
from turnwright.store.busy import accept_if_busy
from turnwright.store.engine import Tx

router = APIRouter(prefix="/v1", tags=["messages"], route_class=CheckedRoute)


@router.post(
    "/sessions/{session_id}/messages",
    status_code=202,
    response_model=RunAccepted | Queued,
    responses=problems(404, 409, 413, 422, 503),
)
async def post_message(session_id: SessionId, asked: NewMessage, mutation: Mutating) -> Response:
    """Start a run for a user's message, or do with a busy session as the message says."""
    _check_steering(asked)
    check_model(mutation.parts, asked.model)

    def act(tx: Tx) -> Done:
        accepted = accept_if_busy(
            tx,
            session_id,
            _said(mutation, asked.text, asked.metadata),
            if_busy=asked.if_busy,
            tenant=mutation.caller.tenant,
            choose=mutation.parts.choose,
            agent=asked.agent,
            model=asked.model,
            limits=asked.limits.model_dump(exclude_unset=True) if asked.limits else None,
        )
        if isinstance(accepted, QueuedMessage):
            return Done(status=202, body=Queued.of(accepted), session_id=session_id)
        return _done(accepted, RunAccepted.of(accepted, mutation.parts.place))

    return await mutation.perform(act)


@router.post(
    "/sessions/{session_id}/send",
    status_code=202,
    response_model=Sent,
    responses=problems(404, 409, 413, 422, 503),
)
async def send(session_id: SessionId, asked: Words, mutation: Mutating) -> Response:
    """Start a run, or answer the open question: whichever the session's state asks for."""

    def act(tx: Tx) -> Done:
        routed, accepted = accept_send(
            tx,
            session_id,
            _said(mutation, asked.text),
            tenant=mutation.caller.tenant,
            choose=mutation.parts.choose,
        )
        told = RunAccepted.of(accepted, mutation.parts.place)
        sent = Sent(**dict(told), routed=routed)
        return _done(accepted, sent)

    return await mutation.perform(act)


@router.post(
    "/runs/{run_id}/input",
    status_code=202,
    response_model=RunAccepted,
    responses=problems(404, 409, 413, 422, 503),
)
async def answer_question(run_id: RunId, asked: Answer, mutation: Mutating) -> Response:
    """Answer the run's open question; the same run goes on."""
    if (asked.text is None) is (asked.choice is None):
        raise invalid([{"loc": ["body"], "msg": "needs either `text` or `choice`"}])

    def act(tx: Tx) -> Done:
        accepted = accept_answer(
            tx,
            run_id,
            tenant=mutation.caller.tenant,
            author=mutation.caller.name,
            text=asked.text,
            choice=asked.choice,
            question_id=asked.question_id,
        )
        return _done(accepted, RunAccepted.of(accepted, mutation.parts.place))

    return await mutation.perform(act)


def _said(mutation: Mutation, text: str, metadata: Mapping[str, Any] | None = None) -> UserInput:
    kept = None if metadata is None else dict(metadata)
    return UserInput(text=text, author=mutation.caller.name, metadata=kept)


def _done(accepted: Accepted, told: RunAccepted | Sent) -> Done:
    return Done(status=202, body=told, session_id=accepted.run.session_id)


def _check_steering(asked: NewMessage) -> None:
    """Raise `Invalid` for what a message that steers cannot choose: its run has begun."""
    if asked.if_busy == "steer":
        faults = [
            {"loc": ["body", name], "msg": "cannot be asked for with if_busy: steer"}
            for name in ("agent", "model", "limits")
            if getattr(asked, name) is not None
        ]
        if faults:
            raise invalid(faults)
