"""What the program says of itself, and to those who misspell it."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import typer

from turnwright.cli import app


def _paths(commands: Mapping[str, Any], *before: str) -> Iterator[tuple[str, ...]]:
    """The names of every command, those of groups before those of their commands."""
    for name, command in commands.items():
        yield (*before, name)
        yield from _paths(getattr(command, "commands", {}), *before, name)


PATHS = [(), *_paths(typer.main.get_command(app).commands)]  # type: ignore[attr-defined]


def _status(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        app(list(arguments))
    return ended.value.code


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_command_explains_itself(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert _status(*path, "--help") == 0

    assert "Usage: " in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ("nosuch",),
        ("keys", "nosuch"),
        ("dev", "--nosuch"),
        ("dev", "--port", "many"),
        ("dev", "--port", "65536"),
        ("migrate", "surplus"),
        ("keys", "create"),
        ("keys", "revoke"),
        (),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_status_2(arguments: tuple[str, ...]) -> None:
    assert _status(*arguments) == 2
