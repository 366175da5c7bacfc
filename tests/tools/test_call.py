"""One call of a function tool: whatever happens in it is a result that a model can read."""

import asyncio
import contextvars
import sys
import threading
from concurrent.futures import CancelledError as FutureCancelledError

import pytest

from tests.tools.building import context
from turnwright import ToolContext, ToolError, tool
from turnwright.tools.call import ToolResult, call_function_tool
from turnwright.tools.results import LIMIT


async def test_an_async_tool_runs_in_the_loop_and_a_sync_one_in_a_thread() -> None:
    @tool
    async def in_loop() -> int:
        return threading.get_ident()

    @tool
    def outside() -> int:
        return threading.get_ident()

    here = str(threading.get_ident())
    assert (await call_function_tool(in_loop, {}, context())).content == here
    assert (await call_function_tool(outside, {}, context())).content != here


async def test_a_tool_gets_the_context_under_any_name_and_is_called_with_defaults() -> None:
    @tool
    def say(text: str, me: ToolContext, times: int = 2) -> dict[str, object]:
        return {"said": text * times, "call": me.tool_call_id, "attempt": me.attempt}

    result = await call_function_tool(say, {"text": "ha"}, context(attempt=3))
    expected = '{"said":"haha","call":"call_1","attempt":3}'
    assert result == ToolResult(outcome="ok", content=expected, bytes=len(expected))


async def test_arguments_that_do_not_validate_are_an_error_to_mend_and_nothing_runs() -> None:
    ran: list[int] = []

    @tool
    def count(number: int) -> None:
        ran.append(number)

    result = await call_function_tool(count, {"number": "many"}, context())
    assert (result.outcome, result.fatal, ran) == ("error", False, [])
    assert "number: Input should be a valid integer" in result.content


@pytest.mark.parametrize(
    ("error", "content", "fatal"),
    [
        (ValueError("no such city"), "ValueError: no such city", False),
        (KeyError(), "KeyError()", False),
        (StopIteration("end"), "RuntimeError: coroutine raised StopIteration", False),
        (SystemExit("bye"), "SystemExit: bye", False),
        (TimeoutError("its own"), "TimeoutError: its own", False),
        (FutureCancelledError("its own"), "CancelledError: its own", False),
        (ToolError("Try another city."), "Try another city.", False),
        (ToolError("The key was revoked.", fatal=True), "The key was revoked.", True),
        (ValueError("a\0b\ud800"), "ValueError: a\ufffdb\ufffd", False),
    ],
)
async def test_an_exception_in_a_sync_tool_is_a_result(
    error: BaseException, content: str, *, fatal: bool
) -> None:
    @tool
    def fail() -> None:
        raise error

    result = await call_function_tool(fail, {}, context())
    assert (result.outcome, result.content, result.fatal) == ("error", content, fatal)


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit("x"), asyncio.CancelledError("x")])
async def test_an_exception_in_an_async_tool_is_a_result(error: BaseException) -> None:
    @tool
    async def fail() -> None:
        raise error

    result = await call_function_tool(fail, {}, context())
    assert (result.outcome, result.content) == ("error", f"{type(error).__name__}: x")


async def test_a_return_value_that_cannot_be_shown_is_an_error_that_says_the_tool_ran() -> None:
    @tool
    def strange() -> object:
        return sys

    result = await call_function_tool(strange, {}, context())
    assert result.outcome == "error"
    assert result.content.startswith("The tool ran to its end, but it returned 'module'")


async def test_an_async_tool_that_takes_too_long_is_interrupted() -> None:
    interrupted = asyncio.Event()

    @tool(timeout=0.01, repeatable=True)
    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            interrupted.set()

    result = await call_function_tool(forever, {}, context())
    assert result.outcome == "error"
    assert result.content == "The tool did not finish within 0.01 seconds and was given up."
    assert interrupted.is_set()


async def test_a_sync_tool_that_takes_too_long_sees_that_it_was_given_up() -> None:
    ended = threading.Event()

    @tool(timeout=0.01)
    def forever(ctx: ToolContext) -> None:
        while not ctx.cancelled:
            pass
        ended.set()

    result = await call_function_tool(forever, {}, context())
    assert result.content.endswith("was given up. What it does may still take effect.")
    assert await asyncio.to_thread(ended.wait, 10)


async def test_cancelling_the_call_propagates_and_is_seen_by_a_sync_tool() -> None:
    started, ended = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @tool
    def forever(ctx: ToolContext) -> None:
        loop.call_soon_threadsafe(started.set)
        while not ctx.cancelled:
            pass
        ended.set()

    task = asyncio.create_task(call_function_tool(forever, {}, context()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, 10)


async def test_calls_run_in_parallel_whether_sync_or_not() -> None:
    """Each waits for the other: one after the other, they would never end."""
    barrier = threading.Barrier(3, timeout=10)

    @tool
    def meet() -> str:
        barrier.wait()
        return "met"

    results = await asyncio.gather(*(call_function_tool(meet, {}, context()) for _ in range(3)))
    assert [result.content for result in results] == ["met"] * 3


async def test_progress_from_a_thread_arrives_in_the_loop_in_order_before_the_result() -> None:
    seen: list[tuple[str, int]] = []

    @tool
    def work(ctx: ToolContext) -> None:
        ctx.progress("half")
        ctx.progress("done")

    here = threading.get_ident()
    reporting = context(progress=lambda text: seen.append((text, threading.get_ident())))
    await call_function_tool(work, {}, reporting)
    assert seen == [("half", here), ("done", here)]


async def test_context_variables_reach_a_sync_tool() -> None:
    trace = contextvars.ContextVar[str]("trace")
    trace.set("t-1")

    @tool
    def read() -> str:
        return trace.get()

    assert (await call_function_tool(read, {}, context())).content == "t-1"


async def test_a_result_over_the_limit_is_shortened_and_kept_whole() -> None:
    @tool
    def long() -> str:
        return "x" * (LIMIT + 1)

    result = await call_function_tool(long, {}, context())
    assert (result.outcome, result.truncated, result.bytes) == ("ok", True, LIMIT + 1)
    assert result.full == "x" * (LIMIT + 1)
    assert len(result.content.encode()) <= LIMIT
