"""What a person can do to a run that is under way or has ended: cancel, steer, retry."""

from collections.abc import Sequence

from fastapi import APIRouter, Response

from api.dependencies import RunId, SessionId
from api.errors import invalid
from api.models import check_model
from api.mutations import Done, Mutating, Mutation
from api.openapi import problems
from api.route import CheckedRoute
from api.schemas import (
    Cancel,
    CancelledRuns,
    Retry,
    RetryAccepted,
    Run,
    RunAccepted,
    RunAnswer,
    Steer,
)
from turnwright.domain.sessions import Acceptance, UserInput
from turnwright.store.cancelling import CancelAccepted, accept_cancel, cancel_session
from turnwright.store.engine import Tx
from turnwright.store.retrying import accept_retry
from turnwright.store.steering import accept_model_switch, accept_steer

router = APIRouter(prefix="/v1", tags=["control"], route_class=CheckedRoute)


@router.post(
    "/runs/{run_id}/cancel",
    status_code=202,
    response_model=RunAnswer,
    responses=problems(404, 413, 422, 503),
)
async def cancel_run(run_id: RunId, mutation: Mutating, asked: Cancel | None = None) -> Response:
    """Cancel a run. 200: it had ended, and nothing was done."""
    reason = asked.reason if asked else None

    def act(tx: Tx) -> Done:
        caller = mutation.caller
        accepted = accept_cancel(tx, run_id, tenant=caller.tenant, by=caller.name, reason=reason)
        run = Run.of(accepted.run, mutation.parts.place)
        return Done(
            status=202 if accepted.pending else 200,
            body=RunAnswer(run=run),
            session_id=accepted.run.session_id,
        )

    return await mutation.perform(act)


@router.post(
    "/sessions/{session_id}/cancel",
    status_code=202,
    response_model=CancelledRuns,
    responses=problems(404, 413, 422, 503),
)
async def cancel_session_run(
    session_id: SessionId, mutation: Mutating, asked: Cancel | None = None
) -> Response:
    """Cancel a session's active run, and withdraw what is queued behind it."""
    reason = asked.reason if asked else None

    def act(tx: Tx) -> Done:
        caller = mutation.caller
        accepted = cancel_session(
            tx, session_id, tenant=caller.tenant, by=caller.name, reason=reason
        )
        return cancelled(mutation, accepted, session_id=session_id)

    return await mutation.perform(act)


@router.post(
    "/runs/{run_id}/steer",
    status_code=202,
    response_model=RunAccepted,
    responses=problems(404, 409, 413, 422, 503),
)
async def steer_run(run_id: RunId, asked: Steer, mutation: Mutating) -> Response:
    """Add a message for the run's next round, or switch its model from the next round on."""
    if (asked.text is None) is (asked.model is None):
        raise invalid([{"loc": ["body"], "msg": "needs either `text` or `model`"}])
    check_model(mutation.parts, asked.model)

    def act(tx: Tx) -> Done:
        accepted = _steer(tx, run_id, asked, mutation)
        told = RunAccepted.of(accepted, mutation.parts.place)
        return Done(status=202, body=told, session_id=accepted.run.session_id)

    return await mutation.perform(act)


def _steer(tx: Tx, run_id: str, asked: Steer, mutation: Mutation) -> Acceptance:
    tenant = mutation.caller.tenant
    if asked.model is not None:
        return accept_model_switch(tx, run_id, tenant=tenant, model=asked.model)
    words = UserInput(text=asked.text or "", author=mutation.caller.name)
    return accept_steer(tx, run_id, tenant=tenant, words=words)


@router.post(
    "/runs/{run_id}/retry",
    status_code=202,
    response_model=RetryAccepted,
    responses=problems(404, 409, 413, 422, 503),
)
async def retry_run(run_id: RunId, mutation: Mutating, asked: Retry | None = None) -> Response:
    """Start a new attempt at the message of a run that failed, timed out or was cancelled."""
    wanted = asked or Retry()
    check_model(mutation.parts, wanted.model)

    def act(tx: Tx) -> Done:
        accepted = accept_retry(
            tx,
            run_id,
            tenant=mutation.caller.tenant,
            choose=mutation.parts.choose,
            start=wanted.from_,
            model=wanted.model,
            limits=wanted.limits.model_dump(exclude_unset=True) if wanted.limits else None,
        )
        told = RetryAccepted(run=Run.of(accepted.run, mutation.parts.place), after=accepted.after)
        return Done(status=202, body=told, session_id=accepted.run.session_id)

    return await mutation.perform(act)


def cancelled(
    mutation: Mutation, accepted: Sequence[CancelAccepted], *, session_id: str | None = None
) -> Done:
    """The answer to a cancellation of several runs: 202 while one is pending."""
    place = mutation.parts.place
    return Done(
        status=202 if any(one.pending for one in accepted) else 200,
        body=CancelledRuns(runs=[Run.of(one.run, place) for one in accepted]),
        session_id=session_id,
    )
