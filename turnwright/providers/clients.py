"""How each provider's models are built, from the environment variables that are its own.

A library is imported by the builder that needs it, one provider at a time: all together take
seconds.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from turnwright.domain.errors import ModelRejected
from turnwright.providers.connections import http_client
from turnwright.providers.lazy import WireProvider

if TYPE_CHECKING:
    from pydantic_ai.providers.openai import OpenAIProvider

_ONE_ATTEMPT = 0
"""Retries are Temporal's: it waits as long as the provider asked, and holds no slot meanwhile."""


@dataclass(frozen=True)
class Client:
    """One provider's connection pool, and how to build a model on it."""

    http: httpx2.AsyncClient
    model: Callable[[str], Model]
    settings: ModelSettings


def open_client(provider: WireProvider) -> Client:
    """A client of `provider`. Raises `ModelRejected` when its key is not in the environment."""
    match provider:
        case "openai":
            return _openai()
        case "openai-chat":
            return _openai_chat()
        case "anthropic":
            return _anthropic()
        case "google":
            return _google()
        case _:
            assert_never(provider)


def _openai() -> Client:
    _require_openai_key()
    from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings

    http = http_client()
    provider = _openai_provider(http)
    return Client(
        http,
        lambda name: OpenAIResponsesModel(name, provider=provider),
        # Nothing is kept at OpenAI, so reasoning comes back encrypted for us to replay.
        OpenAIResponsesModelSettings(max_retries=_ONE_ATTEMPT, openai_store=False),
    )


def _openai_chat() -> Client:
    _require_openai_key()
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile

    http = http_client()
    provider = _openai_provider(http)
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    return Client(
        http,
        lambda name: OpenAIChatModel(name, provider=provider, profile=profile),
        ModelSettings(max_retries=_ONE_ATTEMPT),
    )


def _anthropic() -> Client:
    _require("ANTHROPIC_API_KEY")
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    http = http_client()
    base_url = os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
    provider = AnthropicProvider(base_url=base_url, http_client=http)
    return Client(
        http,
        lambda name: AnthropicModel(name, provider=provider),
        ModelSettings(max_retries=_ONE_ATTEMPT),
    )


def _google() -> Client:
    _require("GOOGLE_API_KEY", "GEMINI_API_KEY")
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    http = http_client()
    provider = GoogleProvider(http_client=http)
    return Client(
        http,
        lambda name: GoogleModel(name, provider=provider),
        ModelSettings(max_retries=_ONE_ATTEMPT),
    )


def _openai_provider(http: httpx2.AsyncClient) -> "OpenAIProvider":
    """The library takes a variable that is set but blank at its word; deployments leave blanks."""
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIProvider(
        base_url=os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1",
        api_key=os.environ.get("OPENAI_API_KEY") or "none",
        http_client=http,
    )


def _require_openai_key() -> None:
    """Compatible servers of one's own often need no key, so naming one is enough."""
    if not os.environ.get("OPENAI_BASE_URL"):
        _require("OPENAI_API_KEY")


def _require(*names: str) -> None:
    if not any(os.environ.get(name) for name in names):
        wanted = " or ".join(names)
        raise ModelRejected(
            f"{wanted} is not set in the environment of the worker", label="no API key"
        )
