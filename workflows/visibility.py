"""What operators see of a run in the Temporal UI: search attributes and current details.

Status, round, tool names, counts and why it waits; never conversation text (guarantee 11).
"""

from typing import NoReturn, assert_never

from temporalio import workflow

from activities.inputs import RunInput
from turnwright.domain import deciding as d
from turnwright.domain.run import RunStatus
from turnwright.domain.turn import Ended, Turn
from turnwright.search_attributes import ACTOR, RUN, STATUS

RUN_MEMO = "run_id"
"""The memo of an execution that names the run it drives."""


def show(run: RunInput, turn: Turn, step: d.Step) -> None:
    """Show where the run stands, before it takes the step."""
    if isinstance(step, d.Finish | d.Settle | d.MoveOn):
        return
    status = RunStatus.RUNNING
    if isinstance(step, d.Wait):
        status = step.status
    _show(run, status, _doing(step), turn)


def show_ended(run: RunInput, ended: Ended) -> None:
    """Show how the run ended."""
    reason = f"because of `{ended.reason}`" if ended.reason else ""
    _show(run, ended.status, reason, None)


def move_on(run: RunInput) -> NoReturn:
    """End this execution, and go on as one that drives this run."""
    if run.searchable:
        workflow.upsert_search_attributes([RUN.value_set(run.run_id), ACTOR.value_set(run.actor)])
    workflow.continue_as_new(run, memo={RUN_MEMO: run.run_id})


def _show(run: RunInput, status: RunStatus, doing: str, turn: Turn | None) -> None:
    name = f"[{run.run_id}]({run.link})" if run.link else f"`{run.run_id}`"
    lines = [f"**{status}** {doing}".rstrip(), f"run {name} of `{run.actor}`"]
    if turn is not None:
        lines.append(
            f"{turn.rounds} rounds, {turn.tool_calls} tool calls, {turn.tokens} tokens so far"
        )
    workflow.set_current_details("\n\n".join(lines))
    if run.searchable and workflow.info().typed_search_attributes.get(STATUS) != status:
        workflow.upsert_search_attributes([STATUS.value_set(status)])


def _doing(step: d.Step) -> str:
    match step:
        case d.AskModel():
            doing = f"in model round {step.round}"
        case d.CallTools():
            doing = "calling " + ", ".join(f"`{call.name}`" for call in step.calls)
        case d.RequestApprovals():
            doing = "asking for approval"
        case d.AskUser():
            doing = "asking the user"
        case d.Sleep():
            doing = "going to sleep"
        case d.Wait():
            doing = _waiting(step)
        case d.AwaitBudget() | d.WrapUp():
            doing = f"at the limit of `{step.limit}`"
        case d.Reflect():
            doing = "telling the model that it repeats itself"
        case d.Settle() | d.Finish() | d.MoveOn():
            doing = "ending"
        case _:
            assert_never(step)
    return doing


def _waiting(step: d.Wait) -> str:
    if step.asked is not None:
        return f"for the answer to `{step.asked.question_id}`"
    if step.limit is not None:
        return f"for more of `{step.limit}`"
    return f"until {step.until:%Y-%m-%d %H:%M:%S} UTC" if step.until is not None else ""
