"""Two spellings of a tool's name: ours, and the one models see.

Providers allow letters, digits, `_` and `-` in a name. So `orders.lookup`, the name everywhere in
Turnwright, is `orders_lookup` on the wire.
"""

TOOL_NAME = "[a-zA-Z][a-zA-Z0-9_.-]{0,63}"

ASK_USER = "conversation.ask_user"
SLEEP_UNTIL = "run.sleep_until"
DELEGATE = "agent.delegate"
CONTROL_TOOLS = (ASK_USER, SLEEP_UNTIL, DELEGATE)
"""The tools that the runtime answers. No other tool may have a name that looks like one of them."""


def wire_name(name: str) -> str:
    """The name that models see."""
    return name.replace(".", "_")


_CONTROL_BY_WIRE = {wire_name(name): name for name in CONTROL_TOOLS}


def contract_name(wire: str) -> str:
    """The name of the control tool that models see as `wire`; any other name stays as it is.

    What models see of an agent's own tools is turned back by the agent's `Toolset`.
    """
    return _CONTROL_BY_WIRE.get(wire, wire)
