"""What models are told of a function, and which functions no model could call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from turnwright import ToolContext, tool
from turnwright.tools.errors import ArgumentsInvalid, DefinitionError


class Item(BaseModel):
    """A line of an order."""

    sku: str
    count: int = 1


@tool(name="orders.place", repeatable=True)
def place(
    items: list[Item],
    day: date,
    ctx: ToolContext,
    speed: Literal["slow", "fast"] = "slow",
    copy: Annotated[int, Field(ge=1)] = 1,
) -> str:
    """Place an order.

    Only once per day.

    Args:
        items: What to
            send.
        day: When it leaves.
        ctx: Of no concern to models.
        speed: How it travels.
        copy: How many times.

    Returns:
        The order's number.
    """
    return f"{items} {day} {speed} {copy} {ctx.run_id}"


def test_the_schema_says_what_the_signature_and_the_docstring_say() -> None:
    definition = place.definition
    assert definition.name == "orders.place"
    assert definition.description == "Place an order.\n\nOnly once per day."
    properties = definition.parameters["properties"]
    assert definition.parameters["required"] == ["items", "day"]
    assert definition.parameters["additionalProperties"] is False
    assert properties["items"]["description"] == "What to\nsend."
    assert properties["speed"] == {
        "default": "slow",
        "description": "How it travels.",
        "enum": ["slow", "fast"],
        "type": "string",
    }
    assert properties["copy"]["minimum"] == 1


def test_a_context_parameter_is_not_in_the_schema() -> None:
    assert "ctx" not in place.definition.parameters["properties"]


def test_a_context_parameter_may_have_a_default_for_callers_that_are_no_run() -> None:
    @tool
    def look(city: str, ctx: ToolContext | None = None) -> str:
        return city if ctx is None else ctx.run_id

    assert [*look.definition.parameters["properties"]] == ["city"]
    assert look("Graz") == "Graz"


def test_validated_arguments_have_the_annotated_types_and_the_defaults() -> None:
    expected = {
        "items": [Item(sku="x")],
        "day": date(2026, 12, 1),
        "speed": "slow",
        "copy": 1,
    }
    assert place.validate({"items": [{"sku": "x"}], "day": "2026-12-01"}) == expected
    assert place.validate('{"items": [{"sku": "x"}], "day": "2026-12-01"}') == expected


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"day": "2026-12-01"}, "items: Field required"),
        ({"items": [{"sku": 3}], "day": "2026-12-01"}, "items.0.sku: Input should be a valid"),
        ({"items": [], "day": "soon"}, "day: Input should be a valid date"),
        ({"items": [], "day": "2026-12-01", "ctx": {}}, "ctx: Extra inputs are not permitted"),
        ({"items": [], "day": "2026-12-01", "copy": 0}, "copy: Input should be greater than"),
        ({"items": [], "day": "2026-12-01", "speed": "\ud800"}, "not valid JSON text"),
        ("[1]", "Input should be an object"),
        ('{"items": ', "Invalid JSON"),
    ],
)
def test_arguments_that_do_not_fit_are_named_one_by_one(
    arguments: dict[str, Any] | str, hint: str
) -> None:
    with pytest.raises(ArgumentsInvalid) as raised:
        place.validate(arguments)
    assert hint in raised.value.detail


def test_a_tool_is_still_the_function() -> None:
    @tool
    def double(number: int) -> int:
        """Twice the number."""
        return number * 2

    assert double(21) == 42
    assert (double.name, double.repeatable, double.approval) == ("double", False, "never")
    assert (double.timeout, double.on_unknown) == (300, "continue")


@pytest.mark.parametrize(
    "docstring",
    [
        "Look.\n\nArgs:\n    city: The place.",
        "Look.\n\nParameters\n----------\ncity : str\n    The place.",
        "Look.\n\n:param city: The place.",
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_docstrings_of_every_common_style_describe_parameters(docstring: str) -> None:
    def look(city: str) -> str:
        return city

    look.__doc__ = docstring
    definition = tool(look).definition
    assert definition.description == "Look."
    assert definition.parameters["properties"]["city"]["description"] == "The place."


def test_a_parameter_may_be_given_as_a_pydantic_field() -> None:
    @tool
    def look(city: str = Field(description="The place."), days: int = Field(3, ge=1)) -> str:
        return f"{city} {days}"

    assert look.definition.parameters["required"] == ["city"]
    assert look.definition.parameters["properties"]["city"]["description"] == "The place."
    assert look.validate({"city": "Graz"}) == {"city": "Graz", "days": 3}


def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    @tool
    def now() -> str:
        return ""

    assert now.definition.parameters == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
    assert now.validate({}) == {}


def _star(*cities: str) -> None: ...
def _names(**cities: str) -> None: ...
def _positional(city: str, /) -> None: ...
def _bare(city) -> None: ...  # type: ignore[no-untyped-def] # noqa: ANN001
def _opaque(thing: Callable[[], int]) -> None: ...
def _unknown(thing: Nowhere) -> None: ...  # type: ignore[name-defined] # noqa: F821
def _two(a: ToolContext, b: ToolContext) -> None: ...


def _many() -> Iterator[int]:
    yield 1


class _Engine:
    def drive(self, city: str) -> None: ...


def _engine(thing: _Engine) -> None: ...


@pytest.mark.parametrize(
    ("function", "hint"),
    [
        (_star, "takes any number of values"),
        (_names, "takes any names"),
        (_positional, "is positional-only"),
        (_bare, "'city' has no annotation"),
        (_Engine.drive, "'self' has no annotation"),
        (_opaque, "no JSON Schema"),
        (_engine, "no JSON Schema"),
        (_unknown, "'Nowhere' is not defined"),
        (_two, "two parameters take a ToolContext"),
        (_many, "a generator has no single result"),
    ],
)
def test_a_function_that_no_model_could_call_is_refused_where_it_is_written(
    function: Callable[..., object], hint: str
) -> None:
    with pytest.raises(DefinitionError, match=hint):
        tool(name="t")(function)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"name": "1st"}, "cannot be called '1st'"),
        ({"name": ""}, "cannot be called ''"),
        ({"name": "a" * 65}, "cannot be called"),
        ({"approval": "sometimes"}, "approval is"),
        ({"timeout": 0}, "timeout is"),
        ({"timeout": float("nan")}, "timeout is"),
        ({"on_unknown": "retry"}, "on_unknown is"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], hint: str) -> None:
    with pytest.raises(DefinitionError, match=hint):
        tool(**{"name": "t"} | options)(lambda: None)
