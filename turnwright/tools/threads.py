"""Blocking functions, each in a thread of its own."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TypeVar

R = TypeVar("R")


async def in_thread(function: Callable[[], R], *, name: str) -> R:
    """What `function` returns or raises, called in a new thread, with our context variables.

    No pool: one tool that hangs must not use up the threads of another, or of the store. A daemon:
    a function that never returns must not keep the process from ending. When the awaiting task is
    cancelled the thread goes on, and what it returns is dropped.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Callable[[], R]] = loop.create_future()
    context = contextvars.copy_context()

    def report(outcome: Callable[[], R]) -> None:
        if not done.done():
            done.set_result(outcome)

    def work() -> None:
        outcome: Callable[[], R]
        try:
            value = context.run(function)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the caller's
            outcome = _raiser(error)
        else:
            outcome = lambda: value  # noqa: E731
        with suppress(RuntimeError):  # the loop has closed: nobody waits any more
            loop.call_soon_threadsafe(report, outcome)

    threading.Thread(target=work, name=f"tool {name}", daemon=True).start()
    return (await done)()


def _raiser(error: BaseException) -> Callable[[], NoReturn]:
    # A future cannot hold a StopIteration, and would raise a SystemExit in the loop.
    def outcome() -> NoReturn:
        raise error

    return outcome
