"""Whether a person must allow a call: `approval=` of a tool, checked where it is written."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from turnwright.tools.errors import DefinitionError

Approval = Literal["never", "always"] | Callable[..., object]
"""Whether a person must allow a call; a predicate gets the validated arguments as keywords.

It runs in the worker's event loop, so it must be quick: it looks at its arguments and nothing
else. What it returns is taken by its truth.
"""


def check_approval(approval: object, parameters: Iterable[str], tool: str) -> None:
    """Raise `DefinitionError` unless it says when a tool with these parameters needs approval."""
    if approval in ("never", "always"):
        return
    if not callable(approval):
        raise DefinitionError(f"tool {tool}: approval is 'never', 'always' or a function")
    if _deferred(approval):
        raise DefinitionError(
            f"tool {tool}: approval has to answer at once; it cannot be async or a generator"
        )
    try:
        signature = inspect.signature(approval)
    except (ValueError, TypeError):  # some builtins have none to look at
        return
    try:
        signature.bind(**dict.fromkeys(parameters))
    except TypeError as error:
        raise DefinitionError(
            f"tool {tool}: approval cannot be called with the tool's parameters: {error}"
        ) from error


def approval_needed(approval: Approval, arguments: Mapping[str, object]) -> bool:
    """Whether a call with these validated arguments needs approval; it does if asking fails."""
    match approval:
        case "never":
            return False
        case "always":
            return True
        case predicate:
            try:
                return bool(predicate(**arguments))
            except (Exception, SystemExit):  # noqa: BLE001 - who cannot tell, asks a person
                return True


def _deferred(approval: Callable[..., object]) -> bool:
    """Whether calling it only makes something that is yet to run, and is always true."""
    functions = (approval, getattr(approval, "__call__", None))  # noqa: B004 - of an object
    checks = (
        inspect.iscoroutinefunction,
        inspect.isgeneratorfunction,
        inspect.isasyncgenfunction,
    )
    return any(check(function) for function in functions for check in checks)
