"""A new turn's row, for whatever brings it about."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from turnwright.domain.ids import new_id
from turnwright.domain.run import Limits, Run
from turnwright.domain.sessions import AgentChoice
from turnwright.store.engine import Tx
from turnwright.store.event_log import SessionRow
from turnwright.store.run_rows import insert_run


def asked_for(
    chosen: AgentChoice, *, model: str | None, limits: Mapping[str, Any] | None
) -> AgentChoice:
    """The choice, with what a request puts in the place of single values of the agent's."""
    merged = Limits(**chosen.limits.model_dump() | dict(limits or {}))
    return chosen.model_copy(update={"model": model or chosen.model, "limits": merged})


def new_turn(tx: Tx, session: SessionRow, chosen: AgentChoice, *, trigger: str) -> Run:
    """A turn for the message `trigger`: its row, `starting` and owned by no execution yet.

    The session's row has to be locked. Raises `SessionBusy` while a run is active.
    """
    run = starting_turn(session, chosen, run_id=new_id("run"), trigger=trigger, at=tx.now)
    insert_run(tx, run, tenant=session.tenant)
    return run


def starting_turn(
    session: SessionRow, chosen: AgentChoice, *, run_id: str, trigger: str, at: datetime
) -> Run:
    """The turn as it is before anything has happened to it."""
    return Run(
        id=run_id,
        session_id=session.id,
        room=session.room,
        actor=chosen.actor,
        agent_version=chosen.version,
        model=chosen.model,
        trigger_message_id=trigger,
        root_run_id=run_id,
        limits=chosen.limits,
        created_at=at,
        updated_at=at,
    )
