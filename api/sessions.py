"""Sessions: creation, reading, change, erasing, and the history that a new run would see."""

from typing import Annotated, Any, get_args

from fastapi import APIRouter, Query, Response

from api import cursors
from api.dependencies import CallerOf, Cursor, Limit, Parts, SessionId, SessionStatuses
from api.mutations import Done, Mutating
from api.openapi import problems
from api.route import CheckedRoute
from api.schemas import History, HistoryMessage, NewSession, Page, SessionPatch
from api.text import Name
from turnwright.domain.history import CONVERSATION, conversation, estimate_tokens
from turnwright.domain.sessions import Session
from turnwright.store import sessions as stored
from turnwright.store.engine import Tx
from turnwright.store.event_log import read_events

router = APIRouter(prefix="/v1/sessions", tags=["sessions"], route_class=CheckedRoute)


@router.post(
    "", status_code=201, response_model=Session, responses=problems(404, 409, 413, 422, 503)
)
async def create_session(asked: NewSession, mutation: Mutating) -> Response:
    """Create a session."""

    def act(tx: Tx) -> Done:
        mutation.parts.choose(asked.agent)
        new = stored.NewSession(tenant=mutation.caller.tenant, **asked.model_dump())
        session = stored.create_session(tx, new)
        return Done(status=201, body=session, session_id=session.id)

    return await mutation.perform(act)


@router.get("", responses=problems(422, 503))
async def list_sessions(
    *,
    parts: Parts,
    caller: CallerOf,
    status: SessionStatuses,
    room: Annotated[Name | None, Query()] = None,
    agent: Annotated[Name | None, Query()] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[Session]:
    """List sessions, newest first."""
    found = await parts.database.read(
        stored.list_sessions,
        tenant=caller.tenant,
        limit=limit + 1,
        before=cursors.decode_id("ses", cursor),
        room=room,
        agent=agent,
        status=status,
    )
    return cursors.page(found, limit, last=lambda session: session.id)


@router.get("/{session_id}", responses=problems(404, 422, 503))
async def get_session(session_id: SessionId, parts: Parts, caller: CallerOf) -> Session:
    """Read a session."""
    return await parts.database.read(stored.get_session, session_id, tenant=caller.tenant)


@router.patch("/{session_id}", response_model=Session, responses=problems(404, 409, 413, 422, 503))
async def change_session(
    session_id: SessionId, mutation: Mutating, patch: SessionPatch | None = None
) -> Response:
    """Change a session, or close it."""
    asked = patch or SessionPatch()
    values: dict[stored.Change, Any] = {
        name: getattr(asked, name)
        for name in get_args(stored.Change)
        if name in asked.model_fields_set
    }
    change = stored.SessionChange(values=values, close="status" in asked.model_fields_set)

    def act(tx: Tx) -> Done:
        if "agent" in values:
            mutation.parts.choose(values["agent"])
        session = stored.change_session(tx, session_id, change, tenant=mutation.caller.tenant)
        return Done(status=200, body=session, session_id=session_id)

    return await mutation.perform(act)


@router.delete("/{session_id}", status_code=204, responses=problems(404, 409, 422, 503))
async def erase_session(session_id: SessionId, mutation: Mutating) -> Response:
    """Erase a session and all that belongs to it. Erasing it again is fine."""

    def act(tx: Tx) -> Done:
        stored.erase_session(tx, session_id, tenant=mutation.caller.tenant)
        return Done(status=204)

    return await mutation.perform(act, target=False)


@router.get(
    "/{session_id}/history",
    response_model_exclude_unset=True,
    responses=problems(404, 422, 503),
)
async def get_history(session_id: SessionId, parts: Parts, caller: CallerOf) -> History:
    """Show what a new run would be seeded with now."""

    def read(tx: Tx) -> History:
        session = stored.get_session(tx, session_id, tenant=caller.tenant)
        messages = conversation(read_events(tx, session_id=session_id, types=CONVERSATION))
        return History(
            messages=[HistoryMessage.of(message) for message in messages],
            tokens=estimate_tokens(messages),
            compaction=None,
            last_sequence=session.last_sequence,
        )

    return await parts.database.read(read)
