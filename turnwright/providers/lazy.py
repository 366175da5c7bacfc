"""The providers over the network, before anything of them is loaded."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from turnwright.domain.messages import ModelRequest, ModelResponse

if TYPE_CHECKING:
    from turnwright.providers.wire import WireModel

WireProvider = Literal["openai", "openai-chat", "anthropic", "google"]


class LazyModel:
    """A provider whose library and client are loaded by its first round.

    Loading takes up to some seconds, so it happens in a thread, where it holds up no other run.
    """

    def __init__(self, provider: WireProvider) -> None:
        self._provider: WireProvider = provider
        self._loading = asyncio.Lock()
        self._model: WireModel | None = None

    def check(self, name: str) -> None:
        """Which models there are only the provider knows; it answers when asked."""

    async def respond(
        self, name: str, request: ModelRequest, on_text: Callable[[str], None]
    ) -> ModelResponse:
        async with self._loading:
            if self._model is None:
                self._model = await asyncio.to_thread(_load, self._provider)
        return await self._model.respond(name, request, on_text)

    async def close(self) -> None:
        if self._model is not None:
            await self._model.close()
            self._model = None


def _load(provider: WireProvider) -> "WireModel":
    from turnwright.providers.wire import WireModel

    return WireModel(provider)
