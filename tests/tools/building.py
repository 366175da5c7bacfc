"""Contexts for calls that no run has made."""

from collections.abc import Callable

from turnwright import ToolContext


def context(
    *,
    attempt: int = 1,
    progress: Callable[[str], None] = lambda _: None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> ToolContext:
    """A context as an activity would build it."""
    return ToolContext(
        run_id="run_1",
        session_id="ses_1",
        tool_call_id="call_1",
        attempt=attempt,
        progress=progress,
        is_cancelled=is_cancelled,
    )
