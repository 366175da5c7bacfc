"""What the sweep looks for: accepted and not yet carried out."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, select

from turnwright.domain.handoff import Cancel, Handoff, Start, Wake
from turnwright.domain.run import ACTIVE, Run, RunStatus
from turnwright.store.engine import Tx
from turnwright.store.run_rows import active_root, to_run
from turnwright.store.tables import answers, inbox, runs

KEYS_KEPT = timedelta(hours=48)
"""Longer than the 24 hours that CONTRACT.md promises."""


PAGE = 100

WAKE_UPS = ("answer", "decision", "steer", "budget", "cancel")
"""The kinds of inbox rows that a run has to be told of. A `message` starts its run, and what is
`queued` waits for the end of another."""


@dataclass(frozen=True)
class PendingInput:
    """Something that was accepted for a run and that the run has not taken yet."""

    session_id: str
    run_id: str
    id: str
    kind: str


def starting_runs(
    tx: Tx, *, older_than: timedelta, after: str = "", limit: int = PAGE
) -> list[Run]:
    """Runs that were accepted a while ago and have not been opened, by id, after the one named."""
    return _runs(tx, (RunStatus.STARTING,), older_than, after, limit)


def open_runs(tx: Tx, *, older_than: timedelta, after: str = "", limit: int = PAGE) -> list[Run]:
    """Opened runs without an event for a while, by id, after the one named."""
    return _runs(tx, _OPENED, older_than, after, limit)


def active_runs(tx: Tx, *, after: str = "", limit: int = PAGE) -> list[Run]:
    """Every tenant's active runs, by id, after the one named."""
    return _runs(tx, ACTIVE, None, after, limit)


def pending_inputs(
    tx: Tx, *, older_than: timedelta, after: str = "", limit: int = PAGE
) -> list[PendingInput]:
    """What was accepted a while ago and is not in the log, by id, after the one named."""
    rows = tx.connection.execute(
        _INPUTS.where(inbox.c.created_at <= tx.now - older_than, inbox.c.id > after)
        .order_by(inbox.c.id)
        .limit(limit)
    )
    return [PendingInput(*row) for row in rows]


def waiting_handoffs(tx: Tx, session_id: str) -> list[Handoff]:
    """What Temporal may not know yet of the session's active run."""
    run = active_root(tx, session_id)
    if run is None:
        return []
    if run.status is RunStatus.STARTING:
        return [Start(run)]
    rows = tx.connection.execute(
        select(inbox.c.id, inbox.c.kind).where(inbox.c.run_id == run.id).order_by(inbox.c.id)
    )
    return [Cancel(run) if row.kind == "cancel" else Wake(session_id, row.id) for row in rows]


def forget_old_answers(tx: Tx) -> None:
    """Forget the answers to idempotency keys that need no longer be kept."""
    tx.connection.execute(delete(answers).where(answers.c.created_at < tx.now - KEYS_KEPT))


_OPENED = tuple(status for status in ACTIVE if status is not RunStatus.STARTING)
_INPUTS = select(inbox.c.session_id, inbox.c.run_id, inbox.c.id, inbox.c.kind).where(
    inbox.c.kind.in_(WAKE_UPS), inbox.c.run_id.is_not(None)
)


def _runs(
    tx: Tx, statuses: tuple[RunStatus, ...], older: timedelta | None, after: str, limit: int
) -> list[Run]:
    """Root runs: a child has no workflow id of its session's own, its parent looks after it."""
    query = select(runs).where(
        runs.c.status.in_(statuses), runs.c.parent_run_id.is_(None), runs.c.id > after
    )
    if older is not None:
        query = query.where(runs.c.updated_at <= tx.now - older)
    return [to_run(row) for row in tx.connection.execute(query.order_by(runs.c.id).limit(limit))]
