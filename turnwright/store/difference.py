"""What a rebuild found: a row that was not what the log says."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A row that was not what the log says. `fields` is empty for one that was not there."""

    id: str
    fields: tuple[str, ...] = ()
    surplus: bool = False
    """The log knows nothing of the row; it is gone now."""

    def __str__(self) -> str:
        if self.surplus:
            return f"{self.id}: was not in the log"
        return f"{self.id}: {', '.join(self.fields) or 'was missing'}"


def differing(said: dict[str, Any], row: Row[Any]) -> tuple[str, ...]:
    """The fields in which the row is not what the log says."""
    return tuple(name for name, value in said.items() if getattr(row, name) != value)
