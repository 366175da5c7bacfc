"""A session's queue: what waits for the active run to end, and taking something out of it."""

from fastapi import APIRouter, Response

from api import cursors
from api.dependencies import CallerOf, Cursor, Limit, MessageId, Parts, SessionId
from api.mutations import Done, Mutating
from api.openapi import problems
from api.route import CheckedRoute
from api.schemas import Page
from turnwright.domain.queue import QueuedMessage
from turnwright.store.engine import Tx
from turnwright.store.queue import queue_page, withdraw
from turnwright.store.reading import require_session

router = APIRouter(
    prefix="/v1/sessions/{session_id}/queue", tags=["queue"], route_class=CheckedRoute
)


@router.get("", responses=problems(404, 422, 503))
async def list_queue(
    *,
    session_id: SessionId,
    parts: Parts,
    caller: CallerOf,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[QueuedMessage]:
    """List what waits, the next to become a run first."""
    after = cursors.decode_rank(cursor)

    def read(tx: Tx) -> Page[QueuedMessage]:
        require_session(tx, session_id, tenant=caller.tenant)
        found = queue_page(tx, session_id, after=after, limit=limit + 1)
        page = cursors.page(found, limit, last=lambda ranked: str(ranked[0]))
        return Page(data=[message for _, message in page.data], next_cursor=page.next_cursor)

    return await parts.database.read(read)


@router.delete("/{message_id}", status_code=204, responses=problems(404, 422, 503))
async def withdraw_message(
    session_id: SessionId, message_id: MessageId, mutation: Mutating
) -> Response:
    """Take a message out of the queue."""

    def act(tx: Tx) -> Done:
        withdraw(tx, session_id, message_id, tenant=mutation.caller.tenant)
        return Done(status=204, session_id=session_id)

    return await mutation.perform(act)
