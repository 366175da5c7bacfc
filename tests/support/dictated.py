"""A model that says what a test dictates, piece by piece, and when."""

import asyncio
from collections.abc import Callable

from turnwright.domain.errors import ModelUnavailable
from turnwright.domain.messages import ModelRequest, ModelResponse, Usage


class DictatedModel:
    """The port `Models` for one run at a time.

    Each attempt at a round takes pieces of text until `end` (the round is complete) or `fail`
    (the attempt is to be repeated).
    """

    def __init__(self) -> None:
        self._pieces: asyncio.Queue[str | ModelUnavailable | None] = asyncio.Queue()

    def say(self, text: str) -> None:
        """Stream this piece."""
        self._pieces.put_nowait(text)

    def end(self) -> None:
        """Complete the round with what was said in it."""
        self._pieces.put_nowait(None)

    def fail(self) -> None:
        """Break the attempt off; the next one comes at once."""
        self._pieces.put_nowait(ModelUnavailable("cut", label="dictated: cut", retry_after=0))

    def check(self, model: str) -> None:
        """Any name will do."""

    async def respond(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelResponse:
        said: list[str] = []
        while (piece := await self._pieces.get()) is not None:
            if isinstance(piece, ModelUnavailable):
                raise piece
            said.append(piece)
            on_text(piece)
        return ModelResponse(text="".join(said), finish_reason="stop", usage=Usage())
