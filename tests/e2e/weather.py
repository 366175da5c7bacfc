"""An agent that can look up the weather in two cities."""

from typing import Literal

from tests.support.app import Json
from turnwright import Agent, tool


@tool(repeatable=True)
def weather(city: Literal["Oslo", "Rome"] = "Oslo") -> str:
    """Current weather in a city."""
    return f"It is sunny in {city}."


def reporter(model: str) -> Agent:
    """The agent, on this model."""
    return Agent(name="reporter", instructions="Report the weather.", model=model, tools=[weather])


def types_of(events: list[Json], run_id: str) -> list[str]:
    """The types of one run's events, in order."""
    return [event["type"] for event in events if event["run_id"] == run_id]


def data_of(events: list[Json], event_type: str) -> list[Json]:
    """The data of the events of one type."""
    return [event["data"] for event in events if event["type"] == event_type]


TURN_WITH_A_CALL = [
    "message.user",
    "run.started",
    "round.started",
    "round.finished",
    "tool.called",
    "tool.started",
    "tool.returned",
    "round.started",
    "round.finished",
    "message.assistant",
    "run.completed",
]
