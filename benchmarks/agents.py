"""The agents that are measured: their model costs nothing."""

from turnwright import Agent, Limits, tool


@tool(repeatable=True)
def nothing() -> str:
    """Do nothing."""
    return "nothing"


agents = [
    Agent(name="echo", instructions="Echo.", model="scripted:echo"),
    Agent(
        name="scripted",
        instructions="Play the script.",
        model="scripted:script",
        tools=[nothing],
        limits=Limits(rounds=200, tool_calls=200, total_tokens=None),
    ),
]
