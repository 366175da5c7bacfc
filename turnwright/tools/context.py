"""What a tool may know about the call it answers."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """One attempt at one tool call.

    A tool that declares a parameter of this type is given it; models never see that parameter.
    Usable from any thread.
    """

    run_id: str
    session_id: str
    tool_call_id: str
    """Unique within the run, the same in every attempt."""
    attempt: int
    """Which attempt at this call this is, from 1. More than one only for repeatable tools."""
    progress: Callable[[str], None] = field(repr=False)
    """Shows a line of text to whoever follows the run. It is not kept."""
    is_cancelled: Callable[[], bool] = field(repr=False)

    @property
    def cancelled(self) -> bool:
        """Whether the call's result is no longer wanted: it was cancelled or ran out of time."""
        return self.is_cancelled()
