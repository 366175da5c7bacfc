"""The agent that the chaos tests run: its model plays the script that its trigger holds."""

from pathlib import Path

from turnwright import Agent, ToolContext, tool


@tool
def effect(path: str, context: ToolContext) -> str:
    """Leave a line in a file: an effect that must not happen twice."""
    with Path(path).open("a") as file:
        file.write(f"{context.tool_call_id}\n")
    return "done"


@tool(repeatable=True)
def repeatable_effect(path: str, context: ToolContext) -> str:
    """Leave a line in a file: an effect that may happen twice."""
    with Path(path).open("a") as file:
        file.write(f"{context.tool_call_id}\n")
    return "done"


agents = [
    Agent(
        name="scripted",
        instructions="Play the script.",
        model="scripted:script",
        tools=[effect, repeatable_effect],
        can_ask_user=True,
    )
]
