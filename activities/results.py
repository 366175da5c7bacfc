"""Results of calls: in words of ours, and as facts."""

from activities.inputs import CallInput, Facts
from turnwright.domain.events import ToolReturned
from turnwright.domain.messages import Outcome
from turnwright.domain.turn import CallReturned


def result_of(
    request: CallInput, outcome: Outcome, text: str, *, fatal: bool = False
) -> ToolReturned:
    """A result in words of ours, for a call that no function has answered."""
    return ToolReturned(
        tool_call_id=request.call.id,
        name=request.call.name,
        outcome=outcome,
        content=text,
        bytes=len(text.encode()),
        fatal=fatal,
    )


def facts_of(returned: ToolReturned) -> Facts:
    """A recorded result, as the workflow needs it."""
    fact = CallReturned(
        call_id=returned.tool_call_id, outcome=returned.outcome, fatal=returned.fatal
    )
    return Facts(facts=(fact,))
