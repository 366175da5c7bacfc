"""Turnwright: durable agent turns on Temporal. Here is what authors of agents import."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwright.agents import Agent as Agent
    from turnwright.agents import MCPServer as MCPServer
    from turnwright.domain.run import Limits as Limits
    from turnwright.tools.context import ToolContext as ToolContext
    from turnwright.tools.errors import ToolError as ToolError
    from turnwright.tools.function import tool as tool

__all__ = ["Agent", "Limits", "MCPServer", "ToolContext", "ToolError", "tool"]

_HOMES = {
    "Agent": "turnwright.agents",
    "Limits": "turnwright.domain.run",
    "MCPServer": "turnwright.agents",
    "ToolContext": "turnwright.tools.context",
    "ToolError": "turnwright.tools.errors",
    "tool": "turnwright.tools.function",
}


def __getattr__(name: str) -> object:
    # On first use only: workflows import `turnwright.domain`, and must not load the rest with it.
    if name not in _HOMES:
        raise AttributeError(f"module 'turnwright' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
