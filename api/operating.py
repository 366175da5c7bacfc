"""What takes the scope `operate`: approvals, budget, whole rooms."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from api.control import cancelled
from api.dependencies import ApprovalId, RunId
from api.errors import invalid
from api.mutations import Done, Mutating
from api.openapi import problems
from api.route import OperatorRoute
from api.schemas import ApprovalDecision, Budget, Cancel, CancelledRuns, Run, RunAnswer
from api.text import Name
from turnwright.domain.run import LIMITS
from turnwright.store.approving import accept_decision
from turnwright.store.cancelling import cancel_room
from turnwright.store.engine import Tx
from turnwright.store.steering import accept_budget

router = APIRouter(prefix="/v1", tags=["operating"], route_class=OperatorRoute)


@router.post(
    "/runs/{run_id}/approvals/{approval_id}",
    status_code=202,
    response_model=RunAnswer,
    responses=problems(404, 409, 413, 422, 503),
)
async def decide_approval(
    run_id: RunId, approval_id: ApprovalId, asked: ApprovalDecision, mutation: Mutating
) -> Response:
    """Approve or deny a tool call. The same decision again is fine."""

    def act(tx: Tx) -> Done:
        run = accept_decision(
            tx,
            run_id,
            approval_id,
            tenant=mutation.caller.tenant,
            decision=asked.decision,
            by=mutation.caller.name,
            reason=asked.reason,
        )
        told = RunAnswer(run=Run.of(run, mutation.parts.place))
        return Done(status=202, body=told, session_id=run.session_id)

    return await mutation.perform(act)


@router.post(
    "/runs/{run_id}/budget",
    status_code=202,
    response_model=RunAnswer,
    responses=problems(404, 409, 413, 422, 503),
)
async def extend_budget(run_id: RunId, asked: Budget, mutation: Mutating) -> Response:
    """Add to a run's limits; a run that waits for budget goes on, if it is enough."""
    more = {name: getattr(asked, name) for name in LIMITS if getattr(asked, name) is not None}
    if not more:
        raise invalid([{"loc": ["body"], "msg": "needs one limit at least"}])

    def act(tx: Tx) -> Done:
        run = accept_budget(tx, run_id, tenant=mutation.caller.tenant, more=more)
        told = RunAnswer(run=Run.of(run, mutation.parts.place))
        return Done(status=202, body=told, session_id=run.session_id)

    return await mutation.perform(act)


@router.post(
    "/rooms/{room:path}/cancel",
    status_code=202,
    response_model=CancelledRuns,
    responses=problems(413, 422, 503),
)
async def cancel_room_runs(
    room: Annotated[Name, Path()], mutation: Mutating, asked: Cancel | None = None
) -> Response:
    """Cancel every active run of a room, and withdraw what is queued behind them."""
    reason = asked.reason if asked else None

    def act(tx: Tx) -> Done:
        caller = mutation.caller
        accepted = cancel_room(tx, room, tenant=caller.tenant, by=caller.name, reason=reason)
        return cancelled(mutation, accepted)

    return await mutation.perform(act)
