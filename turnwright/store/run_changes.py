"""What happened to runs, for whoever watches all of them: written with the events, kept a day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import bindparam, delete, insert, select

from turnwright.domain.run import Run, RunStatus
from turnwright.store.engine import Tx
from turnwright.store.tables import run_changes, runs

KEPT: Final = timedelta(hours=24)
"""How far back a watcher can resume."""
_ROWS_KEPT: Final = KEPT + timedelta(hours=1)
"""Longer: a transaction can take a while, and clocks differ."""
_FORGOTTEN_AT_ONCE: Final = 2000

# `inline`: nobody asks which position a row was given.
_NOTE = (
    insert(run_changes)
    .values(tenant=select(runs.c.tenant).where(runs.c.id == bindparam("of_run")).scalar_subquery())
    .inline()
)
_OLDEST = select(run_changes.c.position).order_by(run_changes.c.position).limit(_FORGOTTEN_AT_ONCE)
_FORGET = delete(run_changes).where(
    run_changes.c.position.in_(_OLDEST), run_changes.c.created_at < bindparam("before")
)


@dataclass(frozen=True)
class RunChange:
    """A `run.*` event: the status it left, and the run as it left it."""

    type: str
    left: RunStatus
    run: Run


def note_changes(tx: Tx, changes: Sequence[RunChange]) -> None:
    """Keep the changes for watchers. The session's row has to be locked: it orders them."""
    if changes:
        tx.connection.execute(_NOTE, [_row(tx, change) for change in changes])


def forget_old_changes(tx: Tx) -> None:
    """Forget changes that nobody can resume from any more, so many at a time."""
    tx.connection.execute(_FORGET, {"before": tx.now - _ROWS_KEPT})


def _row(tx: Tx, change: RunChange) -> dict[str, object]:
    run = change.run
    return {
        "session_id": run.session_id,
        "room": run.room,
        "run_id": run.id,
        "of_run": run.id,
        "actor": run.actor,
        "type": change.type,
        "left_status": change.left,
        "status": run.status,
        "run": run.model_dump_json(),
        "created_at": tx.now,
    }
