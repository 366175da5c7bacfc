"""Cancellation, as the API accepts it: of a run, of a session, of a room."""

from dataclasses import dataclass

from sqlalchemy import select

from turnwright.domain.ids import new_id
from turnwright.domain.run import ACTIVE, Run
from turnwright.store.engine import Tx
from turnwright.store.event_log import lock_session
from turnwright.store.inbox import put
from turnwright.store.queue import withdraw_all
from turnwright.store.run_rows import active_root, get_run
from turnwright.store.tables import inbox, runs


@dataclass(frozen=True)
class CancelAccepted:
    """A run that was to be cancelled, as it is. `pending`: it has yet to end."""

    run: Run
    pending: bool


def accept_cancel(
    tx: Tx, run_id: str, *, tenant: str, by: str | None, reason: str | None
) -> CancelAccepted:
    """Have the run end. Once is enough, and an ended run stays as it is.

    Raises `NotFound`.
    """
    run = get_run(tx, run_id, tenant=tenant)
    lock_session(tx, run.session_id)
    run = get_run(tx, run_id)
    if run.status.active and run.cancel_requested_at is None and not _accepted(tx, run):
        put(tx, "cancel", new_id("msg"), run, {"reason": reason, "requested_by": by})
    return CancelAccepted(run, pending=run.status.active)


def cancel_session(
    tx: Tx, session_id: str, *, tenant: str, by: str | None, reason: str | None
) -> list[CancelAccepted]:
    """Have the session's active run end, and withdraw what waits behind it.

    Raises `NotFound`.
    """
    withdraw_all(tx, lock_session(tx, session_id, tenant=tenant))
    run = active_root(tx, session_id)
    if run is None:
        return []
    return [accept_cancel(tx, run.id, tenant=tenant, by=by, reason=reason)]


def cancel_room(
    tx: Tx, room: str, *, tenant: str, by: str | None, reason: str | None
) -> list[CancelAccepted]:
    """`cancel_session` for each session of the room that has an active run."""
    busy = tx.connection.scalars(
        select(runs.c.session_id)
        .where(
            runs.c.tenant == tenant,
            runs.c.room == room,
            runs.c.parent_run_id.is_(None),
            runs.c.status.in_(ACTIVE),
        )
        # Always in this order, so that two of these never wait for each other.
        .order_by(runs.c.session_id)
    ).all()
    return [
        accepted
        for session_id in busy
        for accepted in cancel_session(tx, session_id, tenant=tenant, by=by, reason=reason)
    ]


def _accepted(tx: Tx, run: Run) -> bool:
    query = select(inbox.c.id).where(inbox.c.run_id == run.id, inbox.c.kind == "cancel")
    return tx.connection.execute(query).first() is not None
