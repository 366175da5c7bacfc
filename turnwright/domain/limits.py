"""What a run may use, and whether it has: the same rule before a step and for a top-up."""

from datetime import datetime, timedelta

from turnwright.domain.run import LimitName, Limits, Run, RunUsage


def deadline_of(run: Run) -> datetime | None:
    """When the run's time is up: wall-clock time from its start, waits included."""
    if run.started_at is None or run.limits.seconds is None:
        return None
    return run.started_at + timedelta(seconds=run.limits.seconds)


def reached(limits: Limits, usage: RunUsage, limit: LimitName) -> bool:
    """Whether this limit keeps the run from going on.

    Rounds and tokens are checked before a round: it needs some left. Calls are counted when the
    model asks for them, so that a batch that would exceed the limit does not start.
    """
    match limit:
        case "rounds":
            return limits.rounds is not None and usage.rounds >= limits.rounds
        case "tool_calls":
            return limits.tool_calls is not None and usage.tool_calls > limits.tool_calls
        case "total_tokens":
            most = limits.total_tokens
            return most is not None and usage.input_tokens + usage.output_tokens >= most
        case _:
            # A deadline is a moment, not an amount: `deadline_of`.
            return False
