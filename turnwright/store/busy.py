"""What becomes of a message that knows what it wants while a run is active (`if_busy`)."""

from typing import Any

from turnwright.domain.queue import IfBusy, QueuedMessage
from turnwright.domain.sessions import Accepted, UserInput
from turnwright.store.admission import Choose, accept_message
from turnwright.store.cancelling import accept_cancel
from turnwright.store.engine import Tx
from turnwright.store.event_log import lock_session
from turnwright.store.new_runs import asked_for
from turnwright.store.queue import enqueue
from turnwright.store.run_rows import active_root
from turnwright.store.steering import accept_steer

INTERRUPTED = "a message interrupted it"


def accept_if_busy(
    tx: Tx,
    session_id: str,
    words: UserInput,
    *,
    if_busy: IfBusy,
    tenant: str,
    choose: Choose,
    agent: str | None = None,
    model: str | None = None,
    limits: dict[str, Any] | None = None,
) -> Accepted | QueuedMessage:
    """Start a run in an idle session; in a busy one do as the message says.

    Raises `NotFound`, `SessionCompleted`, and `SessionBusy` for a message that is to be rejected.
    """
    session = lock_session(tx, session_id, tenant=tenant)
    run = active_root(tx, session_id)
    if run is None or session.status == "closed" or if_busy == "reject":
        return accept_message(
            tx,
            session_id,
            words,
            tenant=tenant,
            choose=choose,
            agent=agent,
            model=model,
            limits=limits,
        )
    if if_busy == "steer":
        return accept_steer(tx, run.id, tenant=tenant, words=words)
    chosen = asked_for(choose(agent or session.agent), model=model, limits=limits)
    message = enqueue(tx, session, words, chosen, front=if_busy == "interrupt")
    if if_busy == "interrupt":
        accept_cancel(tx, run.id, tenant=tenant, by=words.author, reason=INTERRUPTED)
    return message
