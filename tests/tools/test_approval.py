"""Whether a call needs a person's approval, asked with the arguments that it would run with."""

import functools
from collections.abc import AsyncIterator, Iterator
from datetime import date
from typing import Any

import pytest

from turnwright import ToolContext, tool
from turnwright.tools.approval import Approval
from turnwright.tools.errors import DefinitionError
from turnwright.tools.function import FunctionTool

ORDER: dict[str, Any] = {"order_id": "o-1", "amount": "50", "day": "2026-12-01"}


def refund(approval: Approval) -> FunctionTool[..., object]:
    @tool(approval=approval)
    def refund(order_id: str, amount: float, day: date, ctx: ToolContext, note: str = "-") -> str:
        return f"{order_id} {amount} {day} {note} {ctx.run_id}"

    return refund


@pytest.mark.parametrize(("approval", "needed"), [("never", False), ("always", True)])
def test_approval_is_needed_never_or_always(approval: Approval, *, needed: bool) -> None:
    assert refund(approval).needs_approval(ORDER) is needed


def test_a_predicate_gets_the_validated_arguments_with_their_defaults() -> None:
    seen: list[dict[str, object]] = []

    def dear(**arguments: object) -> bool:
        seen.append(arguments)
        return arguments["amount"] == 50.0

    assert refund(dear).needs_approval(ORDER)
    assert not refund(dear).needs_approval('{"order_id": "o-1", "amount": 9, "day": "2026-12-01"}')
    assert seen[0] == {"order_id": "o-1", "amount": 50.0, "day": date(2026, 12, 1), "note": "-"}


@pytest.mark.parametrize(
    ("answer", "needed"), [(0, False), ([], False), (None, False), ("x", True)]
)
def test_what_a_predicate_returns_is_taken_by_its_truth(answer: object, *, needed: bool) -> None:
    assert refund(lambda **_: answer).needs_approval(ORDER) is needed


class Undecided:
    """Neither true nor false."""

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit("x")])
def test_a_predicate_that_raises_needs_approval(error: BaseException) -> None:
    def fail(**_: object) -> bool:
        raise error

    assert refund(fail).needs_approval(ORDER)
    assert refund(lambda **_: Undecided()).needs_approval(ORDER)


@pytest.mark.parametrize("arguments", [{}, {**ORDER, "amount": "much"}, "not json"])
def test_arguments_that_do_not_validate_need_no_approval(arguments: dict[str, Any] | str) -> None:
    """Nothing runs under them; the call's result is the error."""
    assert not refund("always").needs_approval(arguments)
    assert not refund(lambda **_: True).needs_approval(arguments)


def test_a_predicate_cannot_change_what_the_tool_is_called_with() -> None:
    @tool(approval=lambda names: names.append("root"))
    def invite(names: list[str]) -> str:
        return " ".join(names)

    arguments: dict[str, Any] = {"names": ["ann"]}
    assert not invite.needs_approval(arguments)
    assert invite.validate(arguments) == {"names": ["ann"]}


async def _later(**_: object) -> bool:
    return True


def _many(**_: object) -> Iterator[bool]:
    yield True


async def _many_later(**_: object) -> AsyncIterator[bool]:
    yield True


class _Later:
    async def __call__(self, **_: object) -> bool:
        return True


@pytest.mark.parametrize(
    "approval", [_later, _many, _many_later, _Later(), functools.partial(_later, extra=1)]
)
def test_a_predicate_that_does_not_answer_at_once_is_refused(approval: Approval) -> None:
    with pytest.raises(DefinitionError, match="approval has to answer at once"):
        refund(approval)


def _without(order_id: str, amount: float) -> bool:
    return bool(order_id and amount)


def _demanding(limit: int, **_: object) -> bool:
    return limit > 0


def _positional(order_id: str, amount: float, day: date, note: str, /) -> bool:
    return (order_id, amount, day, note) is None


@pytest.mark.parametrize(
    ("approval", "hint"),
    [
        (_without, "unexpected keyword argument 'day'"),
        (_demanding, "missing a required argument: 'limit'"),
        (_positional, "cannot be called with the tool's parameters"),
        (lambda: True, "unexpected keyword argument 'order_id'"),
    ],
)
def test_a_predicate_that_cannot_take_the_tool_s_parameters_is_refused(
    approval: Approval, hint: str
) -> None:
    with pytest.raises(DefinitionError, match=hint):
        refund(approval)


def test_a_predicate_need_not_take_the_context_and_one_without_a_signature_passes() -> None:
    def dear(order_id: str, amount: float, day: date, note: str) -> bool:
        return f"{order_id} {day} {note}" == "o-1 2026-12-01 -" and amount > 10

    assert refund(dear).needs_approval(ORDER)
    assert refund(dict).needs_approval(ORDER)
