"""What becomes of a run that has reached a limit, and of one that repeats itself."""

from typing import Final

from turnwright.domain import events as e
from turnwright.domain.ids import new_id
from turnwright.domain.limits import reached
from turnwright.domain.ports import Owner, Recorded
from turnwright.domain.run import LimitName, Run, RunStatus
from turnwright.store.calls import outcome_of, returned_key
from turnwright.store.engine import Tx
from turnwright.store.event_log import find
from turnwright.store.inputs import take
from turnwright.store.run_rows import Fact, lock_run, record, recorded, since
from turnwright.store.settlement import open_calls

NOT_RUN: Final = "This call was not carried out: the run has reached its limit of {limit}."
WRAP_UP: Final = (
    "You have reached the limit of {limit} for this turn, and can call no more tools. "
    "Give your final answer now, with what you know; say what is left undone."
)
REFLECT: Final = (
    "You have asked for the same calls with the same arguments several times in a row. "
    "Repeating them changes nothing: use the results you have, try something else, or finish."
)
NAMES: Final = {
    "rounds": "model rounds",
    "tool_calls": "tool calls",
    "total_tokens": "tokens",
    "seconds": "time",
}


def await_budget(tx: Tx, owner: Owner, limit: LimitName, *, after: int) -> Recorded:
    """See `turnwright.domain.ports.Runs.await_budget`."""
    locked = lock_run(tx, owner)
    run, appended = take(tx, locked, locked.owned())
    if run.status is not RunStatus.WAITING_FOR_BUDGET and reached(run.limits, run.usage, limit):
        waiting = e.RunWaiting(status=RunStatus.WAITING_FOR_BUDGET, limit=limit)
        run, more = record(tx, run, [(None, waiting)])
        appended += more
    return recorded(tx, locked, run, appended, after=after)


def wrap_up(tx: Tx, owner: Owner, limit: LimitName, *, after: int) -> Recorded:
    """See `turnwright.domain.ports.Runs.wrap_up`."""
    locked = lock_run(tx, owner)
    key = f"{locked.run.id}/wrap_up"
    told = key in find(tx, locked.run.session_id, key)
    run, appended = take(tx, locked, locked.owned())
    if not told and reached(run.limits, run.usage, limit):
        words = WRAP_UP.format(limit=NAMES[limit])
        facts = [*_not_run(tx, run, limit), _injected(key, words, "budget")]
        run, more = record(tx, run, facts)
        appended += more
    return recorded(tx, locked, run, appended, after=after)


def reflect(tx: Tx, owner: Owner) -> Recorded:
    """See `turnwright.domain.ports.Runs.reflect`."""
    locked = lock_run(tx, owner)
    key = f"{locked.run.id}/reflection"
    if found := find(tx, locked.run.session_id, key):
        return since(tx, locked.run, found[key])
    run, appended = record(tx, locked.owned(), [_injected(key, REFLECT, "reflection")])
    return Recorded(run=run, log=tuple(appended))


def _not_run(tx: Tx, run: Run, limit: LimitName) -> list[Fact]:
    text = NOT_RUN.format(limit=NAMES[limit])
    return [
        (returned_key(run.id, c.tool_call_id), outcome_of(c.tool_call_id, c.name, "denied", text))
        for c in open_calls(tx, run)
    ]


def _injected(key: str, text: str, source: e.InjectedBy) -> Fact:
    return key, e.MessageInjected(message_id=new_id("msg"), text=text, source=source)
