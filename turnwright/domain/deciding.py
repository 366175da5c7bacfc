"""What a run does next: the decision over its `Turn`. Pure; the workflow only carries it out.

The order inside a round (CONTRACT.md, "Agents"): calls that need no approval, together; then all
its approvals, open at once, an approved call running as soon as it is; then its questions and
sleeps, one by one; then the next round.
"""

from datetime import datetime

from turnwright.domain.base import Frozen
from turnwright.domain.limits import reached
from turnwright.domain.run import FailureReason, LimitName, RunStatus, RunUsage
from turnwright.domain.turn import Asked, CallRef, Ended, RunRef, Turn

REPEATS = 3
"""So many rounds in a row with just the same calls are a loop: the model is told so, once. As
many again, and the run fails."""


class AskModel(Frozen):
    """Have the model round of this number. The `last` one is without tools."""

    round: int
    last: bool = False


class CallTools(Frozen):
    """Run these calls, all at once."""

    calls: tuple[CallRef, ...]


class RequestApprovals(Frozen):
    """Ask people to allow these calls."""

    calls: tuple[CallRef, ...]


class AskUser(Frozen):
    """Put the question of this call to the user."""

    call: CallRef


class Sleep(Frozen):
    """Begin the sleep that this call asks for."""

    call: CallRef


class Wait(Frozen):
    """Wait for what is accepted for the run, or for the moment `until`."""

    status: RunStatus
    until: datetime | None = None
    asked: Asked | None = None
    limit: LimitName | None = None


class AwaitBudget(Frozen):
    """Say that the run waits for more of this limit."""

    limit: LimitName


class WrapUp(Frozen):
    """Have the model come to an end: this limit is reached."""

    limit: LimitName


class Reflect(Frozen):
    """Tell the model that it repeats itself."""


class Settle(Frozen):
    """End the run. `limit`: because of it; a top-up that was accepted meanwhile lets it go on."""

    status: RunStatus
    reason: FailureReason | None = None
    message: str = ""
    limit: LimitName | None = None


class Finish(Frozen):
    """The run has ended; so does its workflow."""

    ended: Ended


class MoveOn(Frozen):
    """Drive this run instead."""

    run: RunRef


Step = (
    AskModel
    | CallTools
    | RequestApprovals
    | AskUser
    | Sleep
    | Wait
    | AwaitBudget
    | WrapUp
    | Reflect
    | Settle
    | Finish
    | MoveOn
)


def decide(turn: Turn) -> Step:
    """What to do next."""
    if turn.instead is not None:
        return MoveOn(run=turn.instead)
    if turn.ended is not None:
        return Finish(ended=turn.ended)
    if turn.cancelling:
        return Settle(status=RunStatus.CANCELLED)
    if turn.fatal:
        return _fatal(turn)
    return _waiting(turn) or _calls(turn) or _round(turn)


def _fatal(turn: Turn) -> Settle:
    if turn.unknown:
        message = "It is not known whether a tool took effect, and its policy is to fail then."
        return _failed("tool_outcome_unknown", message)
    return _failed("tool_failed", "A tool failed for good.")


def _waiting(turn: Turn) -> Wait | None:
    """What the run waits for, other than approvals: some calls may run meanwhile."""
    if turn.waits is not None and turn.waits.limit is not None:
        return Wait(status=RunStatus.WAITING_FOR_BUDGET, limit=turn.waits.limit)
    if turn.waits is not None:
        return Wait(status=RunStatus.WAITING_FOR_SCHEDULE, until=turn.waits.until)
    if turn.asked is not None:
        deadline = turn.asked.deadline
        return Wait(status=RunStatus.WAITING_FOR_USER, until=deadline, asked=turn.asked)
    return None


def _calls(turn: Turn) -> Step | None:
    if not turn.calls:
        return None
    if turn.repeats >= 2 * REPEATS:
        message = f"The model asked for the same calls in {turn.repeats} rounds in a row."
        return _failed("tool_loop_detected", message)
    # No round could follow these calls without tokens: they do not take effect for nothing.
    if (limited := _limited(turn, "tool_calls", "total_tokens")) is not None:
        return limited
    functions = [call for call in turn.calls if call.kind == "function"]
    if functions:
        return _functions(turn, functions)
    first = turn.calls[0]
    return Sleep(call=first) if first.kind == "sleep" else AskUser(call=first)


def _functions(turn: Turn, functions: list[CallRef]) -> CallTools | RequestApprovals | Wait:
    if ready := tuple(call for call in functions if not call.needs_approval):
        return CallTools(calls=ready)
    open_calls = {approval.call_id for approval in turn.approvals}
    if new := tuple(call for call in functions if call.id not in open_calls):
        return RequestApprovals(calls=new)
    deadlines = [x.deadline for x in turn.approvals if x.deadline is not None]
    return Wait(status=RunStatus.WAITING_FOR_APPROVAL, until=min(deadlines, default=None))


def _round(turn: Turn) -> Step:
    if turn.repeats >= REPEATS and not turn.reflected:
        return Reflect()
    limited = _limited(turn, "rounds", "total_tokens")
    return limited or AskModel(round=turn.rounds + 1, last=turn.wrapping_up)


def _limited(turn: Turn, *limits: LimitName) -> AwaitBudget | WrapUp | Settle | None:
    """What the agent's policy is, if one of these limits keeps the run from going on."""
    if turn.wrapping_up:
        return None
    usage = RunUsage(
        # Histories of the first version know finished rounds only.
        rounds=max(turn.rounds, turn.attempts),
        tool_calls=turn.tool_calls,
        input_tokens=turn.tokens,
    )
    limit = next((name for name in limits if reached(turn.limits, usage, name)), None)
    if limit is None:
        return None
    if turn.on_limit == "wait":
        return AwaitBudget(limit=limit)
    if turn.on_limit == "wrap_up":
        return WrapUp(limit=limit)
    return _over(turn, limit)


def _over(turn: Turn, limit: LimitName) -> Settle:
    most = getattr(turn.limits, limit)
    match limit:
        case "rounds":
            message = f"The limit of {most} model rounds was reached."
            return _failed("max_rounds_exceeded", message, limit)
        case "tool_calls":
            message = f"The limit of {most} tool calls would have been exceeded."
        case _:
            message = f"The limit of {most} tokens was reached."
    return _failed("budget_exceeded", message, limit)


def _failed(reason: FailureReason, message: str, limit: LimitName | None = None) -> Settle:
    return Settle(status=RunStatus.FAILED, reason=reason, message=message, limit=limit)
