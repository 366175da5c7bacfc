"""Rounds in a row that ask for just the same calls are counted."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwright.domain.events import ToolCalled
from turnwright.domain.loops import repeats
from turnwright.domain.messages import ToolCall


def call(name: str, arguments: dict[str, Any] | str, call_id: str = "c") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


LOOK = call("look", {"city": "Graz", "days": 1})
WAIT = call("wait", {})


def test_a_round_without_calls_repeats_nothing() -> None:
    assert repeats([], [LOOK], 3) == 0
    assert repeats([], [], 0) == 0


def test_a_first_round_and_one_that_asks_for_something_else_count_as_one() -> None:
    assert repeats([LOOK], [], 0) == 1
    assert repeats([LOOK], [WAIT], 4) == 1


def test_each_round_that_asks_for_the_same_counts_one_more() -> None:
    assert [repeats([LOOK], [LOOK], before) for before in (1, 2, 3)] == [2, 3, 4]


def test_the_same_call_counts_under_another_id_and_from_the_log() -> None:
    logged = ToolCalled(tool_call_id="x", name=LOOK.name, round=1, arguments=LOOK.arguments)
    assert repeats([call("look", LOOK.arguments, "y")], [logged], 1) == 2


def test_neither_the_order_of_calls_nor_that_of_keys_matters() -> None:
    assert repeats([LOOK, WAIT], [WAIT, LOOK], 1) == 2
    assert repeats([call("look", {"days": 1, "city": "Graz"})], [LOOK], 1) == 2
    nested = ({"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}})
    assert repeats([call("f", nested[0])], [call("f", nested[1])], 1) == 2


def test_how_often_a_call_is_asked_for_matters() -> None:
    assert repeats([WAIT, WAIT], [WAIT], 1) == 1
    assert repeats([WAIT], [WAIT, LOOK], 1) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"number": 1.0},
        {"number": True},
        {"number": "1"},
        {"number": [1]},
        {"number": None},
        {},
        '{"number": 1}',
    ],
)
def test_arguments_differ_as_json_differs(other: dict[str, Any] | str) -> None:
    assert repeats([call("f", {"number": 1})], [call("f", other)], 1) == 1


def test_a_round_that_was_counted_by_nobody_counts_as_one() -> None:
    """A `round.finished` of schema version 1 is read with 0 repeats."""
    assert repeats([LOOK], [LOOK], 0) == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=3), min_size=1, max_size=4), st.data())
def test_what_is_shuffled_or_written_and_read_again_is_the_same(
    arguments: list[dict[str, Any]], data: st.DataObject
) -> None:
    calls = [call("f", each) for each in arguments]
    read = [call("f", json.loads(json.dumps(each))) for each in arguments]
    assert repeats(data.draw(st.permutations(calls)), read, 1) == 2
