"""One call of a function tool, from a model's arguments to a result that a model can read."""

import asyncio

from pydantic import JsonValue

from turnwright.domain.base import Frozen
from turnwright.domain.messages import Outcome
from turnwright.tools.context import ToolContext
from turnwright.tools.errors import ArgumentsInvalid, ToolError, Unrenderable
from turnwright.tools.function import FunctionTool
from turnwright.tools.results import clean, render, shorten


class ToolResult(Frozen):
    """The one result of a call."""

    outcome: Outcome
    content: str
    """As the model sees it."""
    truncated: bool = False
    bytes: int
    """Of the whole result, in UTF-8."""
    full: str | None = None
    """The whole result, where `content` is not."""
    fatal: bool = False
    """Whether the run fails with it."""


async def call_function_tool(
    tool: FunctionTool[..., object], arguments: dict[str, JsonValue] | str, context: ToolContext
) -> ToolResult:
    """Run the tool once. Whatever goes wrong in it is a result (`error`) with words for the model.

    Only the cancellation of the awaiting task is raised.
    """
    try:
        validated = tool.validate(arguments)
    except ArgumentsInvalid as error:
        return _result("error", error.detail)
    deadline = asyncio.timeout(tool.timeout)
    try:
        async with deadline:
            value = await tool.call(validated, context)
        return _result("ok", render(value))
    except asyncio.CancelledError as error:
        if _being_cancelled():
            raise
        return _failed(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool's fault is the model's to know
        if isinstance(error, TimeoutError) and deadline.expired():
            return _result("error", _out_of_time(tool))
        return _failed(error)


def _result(outcome: Outcome, text: str, *, fatal: bool = False) -> ToolResult:
    whole = clean(text)
    content, truncated, size = shorten(whole)
    return ToolResult(
        outcome=outcome,
        content=content,
        truncated=truncated,
        bytes=size,
        full=whole if truncated else None,
        fatal=fatal,
    )


def _being_cancelled() -> bool:
    """Whether a CancelledError was meant for us; a tool may let one of its own escape."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _failed(error: BaseException) -> ToolResult:
    match error:
        case ToolError():
            return _result("error", error.detail, fatal=error.fatal)
        case Unrenderable():
            return _result("error", f"The tool ran to its end, but {error.detail}")
        case _:
            text = str(error)
            return _result("error", f"{type(error).__name__}: {text}" if text else repr(error))


def _out_of_time(tool: FunctionTool[..., object]) -> str:
    waited = f"The tool did not finish within {tool.timeout:g} seconds and was given up."
    return waited if tool.repeatable else f"{waited} What it does may still take effect."
