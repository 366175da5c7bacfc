"""The queue's rows of the inbox, made what the log says; so is what has just left the queue.

A message that became a run is out of the queue and, until the run is opened, in the log as queued
alone: from there its run's row and its row of the inbox are restored.
"""

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Any

from sqlalchemy import Row, delete, insert, or_, select, update

from turnwright.domain.queue import Queue, QueuedMessage, Taken
from turnwright.store.difference import Difference, differing
from turnwright.store.engine import Tx
from turnwright.store.event_log import SessionRow
from turnwright.store.new_runs import starting_turn
from turnwright.store.queue import queued_row, words_of
from turnwright.store.run_rows import insert_run
from turnwright.store.tables import inbox, runs


def mend_queue(
    tx: Tx, session: SessionRow, queue: Queue, *, begun: Collection[str]
) -> Iterator[Difference]:
    """Make the rows what `queue` says. `begun`: the runs that are in the log."""
    waiting = {message.message_id: message for message in queue.waiting}
    rows = _rows(tx, session, waiting)
    for row_id in rows.keys() - waiting.keys():
        tx.connection.execute(delete(inbox).where(inbox.c.id == row_id))
        yield Difference(id=row_id, surplus=True)
    ranks = [rows[message_id].rank for message_id in waiting if message_id in rows]
    ordered = None not in ranks and all(one < next_one for one, next_one in pairwise(ranks))
    kept = ordered and len(ranks) == len(waiting)
    for place, message in enumerate(waiting.values(), 1):
        row = rows.get(message.message_id)
        said = queued_row(session.id, message, rank=row.rank if row and kept else place)
        yield from _mend(tx, row, said, ordered=ordered)
    for taken in queue.taken:
        if taken.run_id not in begun:
            yield from _restore(tx, session, taken)


def _rows(tx: Tx, session: SessionRow, waiting: dict[str, QueuedMessage]) -> dict[str, Row[Any]]:
    query = select(inbox).where(
        inbox.c.session_id == session.id,
        or_(inbox.c.kind == "queued", inbox.c.id.in_(waiting)),
    )
    return {row.id: row for row in tx.connection.execute(query)}


def _mend(
    tx: Tx, row: Row[Any] | None, said: dict[str, Any], *, ordered: bool
) -> Iterator[Difference]:
    if row is None:
        tx.connection.execute(insert(inbox), said)
        yield Difference(id=said["id"])
    elif fields := differing(said, row):
        tx.connection.execute(update(inbox).where(inbox.c.id == row.id).values(said))
        # The log says which comes first, and not under which number.
        told = tuple(name for name in fields if name != "rank" or not ordered)
        if told:
            yield Difference(id=row.id, fields=told)


def _restore(tx: Tx, session: SessionRow, taken: Taken) -> Iterator[Difference]:
    message = taken.message
    if tx.connection.scalar(select(runs.c.id).where(runs.c.id == taken.run_id)) is None:
        run = starting_turn(
            session,
            message.choice,
            run_id=taken.run_id,
            trigger=message.message_id,
            at=taken.at,
        )
        insert_run(tx, run, tenant=session.tenant)
        yield Difference(id=run.id)
    if tx.connection.scalar(select(inbox.c.id).where(inbox.c.id == message.message_id)) is None:
        row = queued_row(session.id, message, rank=0)
        row |= {
            "kind": "message",
            "run_id": taken.run_id,
            "rank": None,
            "data": words_of(message).model_dump(mode="json"),
        }
        tx.connection.execute(insert(inbox), row)
        yield Difference(id=message.message_id)
