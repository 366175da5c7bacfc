"""What every value of the domain has in common."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """An immutable value that refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")
