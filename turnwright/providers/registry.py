"""Which providers there are, and the one object that the composition roots wire in."""

from collections.abc import Callable
from typing import Protocol, get_args

from turnwright.domain.errors import Invalid, ModelRejected
from turnwright.domain.messages import ModelRequest, ModelResponse
from turnwright.providers.lazy import LazyModel, WireProvider
from turnwright.providers.scripted import ScriptedModel


class Adapter(Protocol):
    """One provider: everything in front of the colon of `provider:name`."""

    def check(self, name: str) -> None:
        """Raise `Invalid` for a name that this provider can never have."""

    async def respond(
        self, name: str, request: ModelRequest, on_text: Callable[[str], None]
    ) -> ModelResponse:
        """As `domain.ports.Models.respond`, for the model `name`."""

    async def close(self) -> None:
        """Close the clients this adapter has opened."""


class Providers:
    """The port `Models`. Adapters and their clients are built when first used, and kept."""

    def __init__(self) -> None:
        self._adapters: dict[str, Adapter] = {
            **{provider: LazyModel(provider) for provider in get_args(WireProvider)},
            "scripted": ScriptedModel(),
        }

    def check(self, model: str) -> None:
        """Raise `Invalid` unless `model` is `provider:name` of a provider that exists."""
        self._find(model)

    async def respond(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelResponse:
        """One complete round, as `domain.ports.Models` describes it."""
        try:
            adapter, name = self._find(request.model)
        except Invalid as error:
            raise ModelRejected(error.detail, label="unknown model") from error
        return await adapter.respond(name, request, on_text)

    async def close(self) -> None:
        """Close every client. The object may be used again, and then opens new ones."""
        for adapter in self._adapters.values():
            await adapter.close()

    def _find(self, model: str) -> tuple[Adapter, str]:
        provider, colon, name = model.partition(":")
        if not colon or not name:
            raise Invalid(f"{model!r} is not of the form provider:name")
        adapter = self._adapters.get(provider)
        if adapter is None:
            known = ", ".join(self._adapters)
            raise Invalid(f"{provider!r} is not a model provider; there are: {known}")
        adapter.check(name)
        return adapter, name
