"""What operators see of a run in the Temporal UI: search attributes and current details.

Status, round, tool names, counts and why it waits; never conversation text (guarantee 11).
"""

from typing import assert_never

from temporalio import workflow

from activities.inputs import RunInput
from turnwright.domain import turn as t
from turnwright.domain.run import RunStatus
from turnwright.search_attributes import STATUS


def show(run: RunInput, turn: t.Turn, step: t.Step) -> None:
    """Show where the run stands, before it takes the step."""
    if isinstance(step, t.Finish | t.Settle):
        return
    status = RunStatus.RUNNING
    if isinstance(step, t.AwaitAnswer):
        status = RunStatus.WAITING_FOR_USER
    _show(run, status, _doing(step), turn)


def show_ended(run: RunInput, ended: t.Ended) -> None:
    """Show how the run ended."""
    reason = f"because of `{ended.reason}`" if ended.reason else ""
    _show(run, ended.status, reason, None)


def _show(run: RunInput, status: RunStatus, doing: str, turn: t.Turn | None) -> None:
    name = f"[{run.run_id}]({run.link})" if run.link else f"`{run.run_id}`"
    lines = [f"**{status}** {doing}".rstrip(), f"run {name} of `{run.actor}`"]
    if turn is not None:
        lines.append(
            f"{turn.rounds} rounds, {turn.tool_calls} tool calls, {turn.tokens} tokens so far"
        )
    workflow.set_current_details("\n\n".join(lines))
    if run.searchable and workflow.info().typed_search_attributes.get(STATUS) != status:
        workflow.upsert_search_attributes([STATUS.value_set(status)])


def _doing(step: t.Step) -> str:
    match step:
        case t.AskModel():
            return f"in model round {step.round}"
        case t.CallTools():
            return "calling " + ", ".join(f"`{call.name}`" for call in step.calls)
        case t.AskUser():
            return "asking the user"
        case t.AwaitAnswer():
            return f"for the answer to `{step.asked.question_id}`"
        case t.Settle() | t.Finish():
            return "ending"
        case _:
            assert_never(step)
