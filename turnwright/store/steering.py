"""Steering and budget, as the API accepts them: for a run that goes on."""

from collections.abc import Mapping

from turnwright.domain.errors import Invalid, RunTerminal
from turnwright.domain.ids import new_id
from turnwright.domain.run import LimitName, Run
from turnwright.domain.sessions import Acceptance, Accepted, UserInput
from turnwright.store.engine import Tx
from turnwright.store.event_log import SessionRow, lock_session
from turnwright.store.inbox import put, view
from turnwright.store.run_rows import get_run


def accept_model_switch(tx: Tx, run_id: str, *, tenant: str, model: str) -> Acceptance:
    """Accept the run's model from its next round on. Raises `NotFound` and `RunTerminal`."""
    row, run = _going_on(tx, run_id, tenant)
    put(tx, "steer", new_id("msg"), run, {"model": model})
    return Acceptance(run=run, after=row.last_sequence)


def accept_steer(tx: Tx, run_id: str, *, tenant: str, words: UserInput) -> Accepted:
    """Accept words for the run's next round. Raises `NotFound` and `RunTerminal`."""
    row, run = _going_on(tx, run_id, tenant)
    message_id = new_id("msg")
    put(tx, "steer", message_id, run, words.model_dump(mode="json"))
    message = view(tx, message_id, run, words)
    return Accepted(run=run, message=message, after=row.last_sequence)


def accept_budget(tx: Tx, run_id: str, *, tenant: str, more: Mapping[LimitName, float]) -> Run:
    """Accept more of these limits.

    Raises `NotFound`, `RunTerminal`, and `Invalid` for a limit that the run does not have.
    """
    _, run = _going_on(tx, run_id, tenant)
    unlimited = [name for name in more if getattr(run.limits, name) is None]
    if unlimited:
        errors = [{"loc": ["body", name], "msg": "the run has no such limit"} for name in unlimited]
        raise Invalid(f"The run has no limit of {unlimited[0]} to add to.", errors=errors)
    put(tx, "budget", new_id("msg"), run, {str(name): amount for name, amount in more.items()})
    return run


def _going_on(tx: Tx, run_id: str, tenant: str) -> tuple[SessionRow, Run]:
    run = get_run(tx, run_id, tenant=tenant)
    row = lock_session(tx, run.session_id)
    run = get_run(tx, run_id)
    if not run.status.active:
        raise RunTerminal(f"The run is {run.status}.", run_id=run.id, run_status=run.status)
    return row, run
