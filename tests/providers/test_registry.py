"""Which models exist, and what naming one costs."""

import subprocess
import sys

import pytest

from tests.providers.building import WIRE_MODELS, asking, ignore, say, user
from turnwright.domain.errors import Invalid, ModelRejected
from turnwright.providers import Providers

OWNERS = ("OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI")


@pytest.mark.parametrize(
    "model", [*WIRE_MODELS, "scripted:echo", "scripted:script", "scripted:demo/book.json"]
)
def test_a_model_of_a_known_provider_is_accepted(model: str) -> None:
    Providers().check(model)


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ("gpt-5", "not of the form provider:name"),
        ("openai:", "not of the form provider:name"),
        (":gpt-5", "not a model provider; there are: openai, openai-chat"),
        ("mistral:large", "'mistral' is not a model provider"),
        ("scripted:ecco", "scripted:ecco is unknown"),
    ],
)
def test_anything_else_is_invalid_and_says_why(model: str, fault: str) -> None:
    with pytest.raises(Invalid, match=fault):
        Providers().check(model)


async def test_an_unknown_model_is_rejected_when_asked(models: Providers) -> None:
    with pytest.raises(ModelRejected, match="not a model provider"):
        await models.respond(asking("mistral:large", user("hello")), ignore)


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai:gpt-5", "OPENAI"),
        ("openai-chat:gpt-4o", "OPENAI"),
        ("anthropic:claude-sonnet-5", "ANTHROPIC"),
        ("google:gemini-2.5-flash", "GOOGLE"),
    ],
)
async def test_a_missing_key_is_a_rejection_that_names_the_variable(
    models: Providers, monkeypatch: pytest.MonkeyPatch, model: str, variable: str
) -> None:
    for name in ("OPENAI_BASE_URL", "GEMINI_API_KEY", f"{variable}_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(ModelRejected, match=f"{variable}_API_KEY") as failure:
        await models.respond(asking(model, user("hello")), ignore)

    assert failure.value.label == "no API key"


@pytest.mark.parametrize("model", WIRE_MODELS)
async def test_a_blank_variable_is_as_good_as_none(
    models: Providers, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """Deployments pass variables on that nobody has filled in."""
    for name in (f"{owner}_{what}" for owner in OWNERS for what in ("API_KEY", "BASE_URL")):
        monkeypatch.setenv(name, "")

    with pytest.raises(ModelRejected, match="_API_KEY is not set"):
        await models.respond(asking(model, user("hello")), ignore)


async def test_a_compatible_server_needs_no_key(
    models: Providers, mock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mock
    monkeypatch.setenv("OPENAI_API_KEY", "")

    response, _ = await say(models, asking("openai-chat:local", user("hello")))

    assert response.text


async def test_a_key_that_is_set_later_is_found(
    models: Providers, mock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mock
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    request = asking("anthropic:claude-sonnet-5", user("hello"))
    with pytest.raises(ModelRejected):
        await models.respond(request, ignore)

    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")

    response, _ = await say(models, request)
    assert response.text


def test_naming_and_scripting_models_loads_no_model_library() -> None:
    """API processes check names, and benchmarks script: neither pays for what it does not use."""
    program = """
import asyncio, sys
from turnwright.domain.messages import Message, ModelRequest
from turnwright.providers import Providers
models = Providers()
models.check("openai:gpt-5")
trigger = Message(role="user", text="hello", run_id="run_1", sequence=1)
request = ModelRequest(model="scripted:echo", instructions="", messages=(trigger,))
asyncio.run(models.respond(request, lambda piece: None))
print({"pydantic_ai", "openai", "anthropic", "google.genai", "httpx2"} & set(sys.modules))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ran.stdout == "set()\n"
