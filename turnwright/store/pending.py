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


@dataclass(frozen=True)
class PendingAnswer:
    """An accepted answer that its run has not taken yet."""

    session_id: str
    run_id: str
    message_id: str


def starting_runs(tx: Tx, *, older_than: timedelta, limit: int = 100) -> list[Run]:
    """Runs that were accepted a while ago and have not been opened, oldest first."""
    return _runs(tx, (RunStatus.STARTING,), older_than, limit)


def open_runs(tx: Tx, *, older_than: timedelta, after: str = "", limit: int = 100) -> list[Run]:
    """Opened runs without an event for a while, by id, after the one named."""
    rows = tx.connection.execute(
        select(runs)
        .where(
            runs.c.status.in_([s for s in ACTIVE if s is not RunStatus.STARTING]),
            runs.c.updated_at < tx.now - older_than,
            runs.c.id > after,
        )
        .order_by(runs.c.id)
        .limit(limit)
    )
    return [to_run(row) for row in rows]


def pending_answers(tx: Tx, *, older_than: timedelta, limit: int = 100) -> list[PendingAnswer]:
    """Answers that were accepted a while ago and are not in the log, oldest first."""
    rows = tx.connection.execute(
        select(inbox.c.session_id, inbox.c.run_id, inbox.c.id)
        .where(inbox.c.kind == "answer", inbox.c.created_at < tx.now - older_than)
        .order_by(inbox.c.created_at)
        .limit(limit)
    )
    return [PendingAnswer(row.session_id, row.run_id, row.id) for row in rows]


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


def _runs(tx: Tx, statuses: tuple[RunStatus, ...], older: timedelta, limit: int) -> list[Run]:
    rows = tx.connection.execute(
        select(runs)
        .where(runs.c.status.in_(statuses), runs.c.updated_at < tx.now - older)
        .order_by(runs.c.updated_at)
        .limit(limit)
    )
    return [to_run(row) for row in rows]
