"""What activities need of the outside, each named for its role. Adapters are wired at the roots."""

from collections.abc import Callable
from typing import Protocol

from turnwright.domain.messages import ModelRequest, ModelResponse


class Models(Protocol):
    """The model providers, behind one way of asking."""

    def check(self, model: str) -> None:
        """Raise `Invalid` unless `model` is `provider:name` of a provider that exists."""

    async def respond(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelResponse:
        """One complete round. `on_text` gets each piece of the answer's text as it arrives.

        The pieces joined are the response's `text`. Cancelling the task closes the provider's
        stream. Raises only subclasses of `ModelError`; a stream that was cut short is
        `ModelUnavailable`, never a short answer.
        """
