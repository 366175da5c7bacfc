"""What a model reads of a return value."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from turnwright.tools.errors import Unrenderable
from turnwright.tools.results import render, shorten


class City(BaseModel):
    name: str


@dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("", ""),
        (None, "null"),
        (True, "true"),
        ([1, "zwölf"], '[1,"zwölf"]'),
        ({"city": City(name="Graz"), "at": Point(x=3)}, '{"city":{"name":"Graz"},"at":{"x":3}}'),
        (datetime(2026, 12, 1, tzinfo=UTC), '"2026-12-01T00:00:00Z"'),
        (Decimal("1.50"), '"1.50"'),
        (float("nan"), '"NaN"'),
        ("nul \0, surrogate \ud800", "nul \ufffd, surrogate \ufffd"),
        ({"a": "b\ud800", "c": float("inf")}, '{"a":"b\ufffd","c":"Infinity"}'),
    ],
)
def test_a_string_is_shown_as_it_is_and_all_else_as_json(value: object, text: str) -> None:
    assert render(value) == text


def test_what_json_cannot_hold_is_refused() -> None:
    circle: list[object] = []
    circle.append(circle)
    for value in (object(), b"\xff", circle):
        with pytest.raises(Unrenderable):
            render(value)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(min_value=60, max_value=200))
def test_a_shortened_text_fits_keeps_both_ends_and_says_what_is_missing(
    text: str, limit: int
) -> None:
    short, truncated, size = shorten(text, limit)
    assert size == len(text.encode())
    assert truncated == (size > limit)
    assert len(short.encode()) <= limit or not truncated
    if not truncated:
        assert short == text
        return
    head, note = short.split("\n\n[… ", 1)
    note, tail = note.rsplit(" bytes left out here …]\n\n", 1)
    assert text.startswith(head)
    assert text.endswith(tail)
    left_out = size - len(head.encode()) - len(tail.encode())
    assert note == f"{left_out} of {size}"
