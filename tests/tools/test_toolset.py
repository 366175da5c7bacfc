"""What an agent's models are offered, and what the runtime accepts as a question."""

from typing import Any

import pytest

from turnwright import Agent, tool
from turnwright.tools.control import ask_user_arguments
from turnwright.tools.errors import ArgumentsInvalid
from turnwright.tools.names import contract_name, wire_name
from turnwright.tools.toolset import toolset


@tool(name="orders.lookup")
def lookup(order_id: str) -> str:
    """Find an order."""
    return order_id


def agent(*, can_ask_user: bool) -> Agent:
    return Agent(
        "desk", instructions="", model="scripted:echo", tools=[lookup], can_ask_user=can_ask_user
    )


def test_models_see_names_without_dots_and_we_get_ours_back() -> None:
    tools = toolset(agent(can_ask_user=True))
    assert [each.name for each in tools.definitions] == ["orders_lookup", "conversation_ask_user"]
    assert tools.contract_name("orders_lookup") == "orders.lookup"
    assert tools.contract_name("conversation_ask_user") == "conversation.ask_user"
    assert tools.contract_name("orders_drop") == "orders_drop"
    assert tools.get("orders.lookup") is lookup
    assert tools.get("conversation.ask_user") is None


def test_an_agent_that_may_not_ask_is_not_offered_the_question() -> None:
    tools = toolset(agent(can_ask_user=False))
    assert [each.name for each in tools.definitions] == ["orders_lookup"]
    # A model may call it all the same; then it is called by its name when it is refused.
    assert tools.contract_name("conversation_ask_user") == "conversation.ask_user"


@pytest.mark.parametrize("name", ["conversation.ask_user", "run.sleep_until", "agent.delegate"])
def test_the_names_of_control_tools_go_both_ways(name: str) -> None:
    assert contract_name(wire_name(name)) == name


def test_a_question_may_have_choices() -> None:
    assert ask_user_arguments({"question": "When?"}).choices is None
    assert ask_user_arguments({"question": "When?", "choices": None}).choices is None
    asked = ask_user_arguments({"question": "Which?", "choices": ["a", "b"]})
    assert (asked.question, asked.choices) == ("Which?", ("a", "b"))


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({}, "question: Field required"),
        ({"question": "  "}, "question: Value error, must not be blank"),
        ({"question": "a\0"}, "question: Value error, must not hold the character NUL"),
        ({"question": "\ud800"}, "not valid JSON text"),
        ({"question": "?", "choices": ["one"]}, "choices: Tuple should have at least 2 items"),
        ({"question": "?", "choices": ["a", "a"]}, "choices: Value error, must differ"),
        ({"question": "?", "choices": ["a", ""]}, "choices.1: Value error, must not be blank"),
        ({"question": "?", "choices": [str(n) for n in range(21)]}, "at most 20 items"),
        ({"question": "?", "options": ["a", "b"]}, "options: Extra inputs are not permitted"),
        ("what?", "Invalid JSON"),
    ],
)
def test_a_question_that_nobody_could_answer_is_given_back(
    arguments: dict[str, Any] | str, hint: str
) -> None:
    with pytest.raises(ArgumentsInvalid) as raised:
        ask_user_arguments(arguments)
    assert hint in raised.value.detail
