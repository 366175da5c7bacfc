"""What an agent's models are offered, and what the runtime accepts as a question."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from turnwright import Agent, tool
from turnwright.tools.control import ask_user_arguments, sleep_until_arguments
from turnwright.tools.errors import ArgumentsInvalid
from turnwright.tools.names import contract_name, wire_name
from turnwright.tools.toolset import toolset


@tool(name="orders.lookup")
def lookup(order_id: str) -> str:
    """Find an order."""
    return order_id


def agent(*, can_ask_user: bool = False, can_sleep: bool = False) -> Agent:
    return Agent(
        "desk",
        instructions="",
        model="scripted:echo",
        tools=[lookup],
        can_ask_user=can_ask_user,
        can_sleep=can_sleep,
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


def test_an_agent_that_may_sleep_is_offered_it() -> None:
    tools = toolset(agent(can_sleep=True))
    assert [each.name for each in tools.definitions] == ["orders_lookup", "run_sleep_until"]
    assert tools.contract_name("run_sleep_until") == "run.sleep_until"
    assert tools.get("run.sleep_until") is None
    offered = tools.definitions[-1]
    assert "do not know the current time" in offered.description
    assert offered.parameters["required"] == ["until"]
    assert offered.parameters["properties"]["until"]["format"] == "date-time"


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


@pytest.mark.parametrize(
    ("until", "moment"),
    [
        ("2026-12-01T09:30:00Z", datetime(2026, 12, 1, 9, 30, tzinfo=UTC)),
        ("2026-12-01t09:30:00.25+02:00", datetime(2026, 12, 1, 7, 30, 0, 250_000, tzinfo=UTC)),
        ("2026-12-01 09:30-0500", datetime(2026, 12, 1, 14, 30, tzinfo=UTC)),
        ("0001-01-01T00:00:00+05:00", datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_moment_to_sleep_until_is_understood_in_utc_and_may_be_past(
    until: str, moment: datetime
) -> None:
    slept = sleep_until_arguments({"until": until})
    assert (slept, slept.tzinfo) == (moment, UTC)


def test_a_sleep_of_nearly_ten_years_is_granted_and_a_longer_one_is_not() -> None:
    far = datetime.now(UTC) + timedelta(days=3650)
    assert sleep_until_arguments({"until": far.isoformat()}) == far
    with pytest.raises(ArgumentsInvalid, match="until: Value error, must be at most ten years"):
        sleep_until_arguments({"until": (far + timedelta(days=4)).isoformat()})


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({}, "until: Field required"),
        ({"until": "2026-12-01T09:30:00"}, "until: Value error, must end in its offset from UTC"),
        ({"until": "2026-12-01"}, "until: Value error, must be a date and time like"),
        ({"until": "tomorrow"}, "until: Value error, must be a date and time like"),
        ({"until": "1764581400"}, "until: Value error, must be a date and time like"),
        ({"until": 1764581400}, "until: Value error, must be a date and time like"),
        ({"until": None}, "until: Value error, must be a date and time like"),
        ({"until": "2026-13-01T09:30:00Z"}, "until: Input should be a valid datetime"),
        ({"until": "9999-12-31T23:59:59-12:00"}, "must be at most ten years from now"),
        ({"until": "2026-12-01T09:30:00Z", "why": "rest"}, "why: Extra inputs are not permitted"),
        ("until tomorrow", "Invalid JSON"),
    ],
)
def test_a_moment_that_cannot_be_meant_is_given_back(
    arguments: dict[str, Any] | str, hint: str
) -> None:
    with pytest.raises(ArgumentsInvalid) as raised:
        sleep_until_arguments(arguments)
    assert hint in raised.value.detail
