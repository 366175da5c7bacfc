"""Python functions as tools: `@tool`, and what it makes."""

import asyncio
import dataclasses
import inspect
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial, update_wrapper
from typing import Any, Generic, Literal, ParamSpec, TypeVar, overload

from pydantic import JsonValue

from turnwright.domain.messages import ToolDefinition
from turnwright.tools.approval import Approval, approval_needed, check_approval
from turnwright.tools.context import ToolContext
from turnwright.tools.errors import ArgumentsInvalid, DefinitionError
from turnwright.tools.names import TOOL_NAME
from turnwright.tools.signature import read_signature
from turnwright.tools.threads import in_thread

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

OnUnknown = Literal["continue", "fail"]


class FunctionTool(Generic[P, R_co]):
    """A Python function that models may call. Made by `@tool`; still callable as itself."""

    def __init__(
        self,
        function: Callable[P, R_co],
        *,
        name: str | None = None,
        description: str | None = None,
        repeatable: bool = False,
        approval: Approval = "never",
        timeout: float | None = 300,
        on_unknown: OnUnknown = "continue",
    ) -> None:
        update_wrapper(self, function)
        self.name = name if name is not None else getattr(function, "__name__", "")
        _check(self.name, function, timeout, on_unknown)
        self.function = function
        self.repeatable = repeatable
        """Whether running it twice does no harm; otherwise a crash leaves its outcome unknown."""
        self.approval = approval
        self.timeout = timeout
        """Seconds one call may take; None is for ever."""
        self.on_unknown = on_unknown
        """Whether a call whose outcome is unknown is left to the model, or fails the run."""
        self._signature = read_signature(function, self.name)
        check_approval(approval, self._signature.names, self.name)
        self.definition = ToolDefinition(
            name=self.name,
            description=description if description is not None else self._signature.description,
            parameters=self._signature.parameters,
        )
        """As models see it, but for the name's spelling (see `turnwright.tools.names`)."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function itself, without validation."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    def validate(self, arguments: dict[str, JsonValue] | str) -> dict[str, Any]:
        """The function's keyword arguments, defaults included.

        Raises `ArgumentsInvalid`, whose text tells the model what to mend.
        """
        return self._signature.validate(arguments)

    def needs_approval(self, arguments: dict[str, JsonValue] | str) -> bool:
        """Whether a person must allow a call with these arguments, as a model sent them.

        A predicate that raises asks for approval. Arguments that do not validate need none:
        nothing runs under them, and the call's result says what to mend.
        """
        if self.approval == "never":
            return False
        try:
            validated = self.validate(arguments)
        except ArgumentsInvalid:
            return False
        return approval_needed(self.approval, validated)

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> object:
        """What the function returns for arguments that `validate` gave, or whatever it raises.

        A function that is not async runs in a thread. When the call is cancelled an async
        function is interrupted; a thread cannot be, and finds `context.cancelled` set.
        """
        if _is_async(self.function):
            return await self._function(arguments, context)()
        loop, given_up = asyncio.get_running_loop(), threading.Event()

        def progress(text: str) -> None:
            with suppress(RuntimeError):  # the loop has closed: nobody follows any more
                loop.call_soon_threadsafe(context.progress, text)

        inside = dataclasses.replace(
            context,
            progress=progress,
            is_cancelled=lambda: given_up.is_set() or context.cancelled,
        )
        try:
            result = await in_thread(self._function(arguments, inside), name=self.name)
        finally:
            given_up.set()
        return await result if inspect.isawaitable(result) else result

    def _function(self, arguments: dict[str, Any], context: ToolContext) -> Callable[[], Any]:
        function: Callable[..., Any] = self.function
        if self._signature.context_parameter is not None:
            arguments = {**arguments, self._signature.context_parameter: context}
        return partial(function, **arguments)


@overload
def tool(function: Callable[P, R_co], /) -> FunctionTool[P, R_co]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    repeatable: bool = False,
    approval: Approval = "never",
    timeout: float | None = 300,
    on_unknown: OnUnknown = "continue",
) -> Callable[[Callable[P, R_co]], FunctionTool[P, R_co]]: ...


def tool(
    function: Callable[P, R_co] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    repeatable: bool = False,
    approval: Approval = "never",
    timeout: float | None = 300,
    on_unknown: OnUnknown = "continue",
) -> FunctionTool[P, R_co] | Callable[[Callable[P, R_co]], FunctionTool[P, R_co]]:
    """Make a function a tool, as `@tool` or `@tool(…)`.

    Name, description, schema and validation come from the function. Say `repeatable=True` if
    running it twice with the same arguments does no harm: only then is it tried again after a
    crash. Raises `DefinitionError` if models could not call it.
    """

    def decorate(function: Callable[P, R_co]) -> FunctionTool[P, R_co]:
        return FunctionTool(
            function,
            name=name,
            description=description,
            repeatable=repeatable,
            approval=approval,
            timeout=timeout,
            on_unknown=on_unknown,
        )

    return decorate if function is None else decorate(function)


def _is_async(function: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object whose __call__ is async
    )


def _check(name: str, function: object, timeout: object, on_unknown: object) -> None:
    if not callable(function) or isinstance(function, type):
        raise DefinitionError(f"@tool is for functions, not {function!r}")
    if not re.fullmatch(TOOL_NAME, name):
        raise DefinitionError(
            f"a tool cannot be called {name!r}: a letter, then up to 63 letters, digits, _ . or -"
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise DefinitionError(f"tool {name}: a generator has no single result; return a list")
    if timeout is not None and not (isinstance(timeout, int | float) and timeout > 0):
        raise DefinitionError(f"tool {name}: timeout is a number of seconds above 0, or None")
    if on_unknown not in ("continue", "fail"):
        raise DefinitionError(f"tool {name}: on_unknown is 'continue' or 'fail'")
