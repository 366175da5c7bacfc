"""How each provider's failures are sorted, against a server that fails like the real ones."""

import asyncio

import httpx
import pytest
from pydantic_ai.exceptions import UserError

from tests.providers.building import WEATHER, WIRE_MODELS, asking, ignore, user
from tests.support.model_servers import llmock_environment, llmock_server, script
from turnwright.domain.errors import (
    ContextOverflow,
    ModelError,
    ModelRefused,
    ModelRejected,
    ModelUnavailable,
)
from turnwright.domain.messages import ModelRequest, ModelResponse
from turnwright.providers import Providers
from turnwright.providers.failures import classify

every_model = pytest.mark.parametrize("model", WIRE_MODELS)


async def _failure(models: Providers, request: ModelRequest) -> ModelError:
    with pytest.raises(ModelError) as failure:
        await models.respond(request, ignore)
    return failure.value


@every_model
@pytest.mark.parametrize(
    ("status", "error", "label"),
    [
        (429, ModelUnavailable, "rate limited (HTTP 429)"),
        (500, ModelUnavailable, "server error (HTTP 500)"),
        (503, ModelUnavailable, "(HTTP 503)"),
        (529, ModelUnavailable, "(HTTP 529)"),
        (408, ModelUnavailable, "(HTTP 408)"),
        (400, ModelRejected, "request rejected (HTTP 400)"),
        (401, ModelRejected, "not authorised (HTTP 401)"),
        (403, ModelRejected, "not authorised (HTTP 403)"),
        (404, ModelRejected, "model not found (HTTP 404)"),
        (422, ModelRejected, "request rejected (HTTP 422)"),
    ],
)
async def test_a_status_decides_whether_to_try_again(
    models: Providers, mock: str, model: str, status: int, error: type[ModelError], label: str
) -> None:
    """One request is one attempt: the libraries' own retries are off."""
    script(mock, {"type": "fail", "status": status, "message": "about the secret plan"})

    failure = await _failure(models, asking(model, user("the secret plan")))

    assert type(failure) is error
    assert label in failure.label
    assert "secret" not in failure.label
    assert len(httpx.get(f"{mock}/_llmock/requests").json()["requests"]) == 1


@every_model
async def test_the_wait_a_provider_asks_for_is_passed_on(
    models: Providers, mock: str, model: str
) -> None:
    script(mock, {"type": "fail", "status": 429, "retry_after": 7})

    failure = await _failure(models, asking(model, user("hello")))

    assert failure.retry_after == 7


@every_model
@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed"])
async def test_a_stream_that_breaks_is_never_a_short_answer(
    models: Providers, mock: str, model: str, kind: str
) -> None:
    """After one chunk, which is where every provider has said something and not yet ended."""
    script(
        mock,
        {"type": "reply", "text": "one two three four five six"},
        {"type": "stream_fault", "kind": kind, "after_chunks": 1},
    )

    failure = await _failure(models, asking(model, user("hello")))

    assert type(failure) is ModelUnavailable


@every_model
async def test_a_prompt_that_is_too_long_is_a_context_overflow(
    models: Providers, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    with llmock_server("--context-window", "100") as base_url:
        for name, value in llmock_environment(base_url).items():
            monkeypatch.setenv(name, value)

        failure = await _failure(models, asking(model, user("word " * 1000)))

    assert type(failure) is ContextOverflow


@pytest.mark.parametrize("model", WIRE_MODELS[1:])
async def test_a_content_filter_is_a_refusal(models: Providers, mock: str, model: str) -> None:
    script(mock, {"type": "reply", "text": "I can", "finish_reason": "content_filter"})

    failure = await _failure(models, asking(model, user("hello")))

    assert type(failure) is ModelRefused


async def test_a_server_that_is_not_there_is_worth_another_try(
    models: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    failure = await _failure(models, asking("openai-chat:any", user("hello")))

    assert (type(failure), failure.label) == (ModelUnavailable, "connection failed")


def test_a_setting_that_a_model_does_not_take_is_never_tried_again() -> None:
    assert type(classify(UserError("no such setting"))) is ModelRejected


def test_details_keep_only_the_beginning_of_long_answers() -> None:
    assert len(classify(ValueError("x" * 100_000)).detail) == 2000


async def _persist(models: Providers, request: ModelRequest) -> ModelResponse | None:
    """What a run makes of failures: again after the wait asked for, or not at all."""
    while True:
        try:
            return await models.respond(request, ignore)
        except ModelUnavailable as failure:
            await asyncio.sleep(failure.retry_after or 0)
        except ModelError:
            return None


@every_model
async def test_llmocks_verdict_on_a_client_that_heeds_these_errors_is_clean(
    models: Providers, mock: str, model: str
) -> None:
    script(
        mock,
        {"type": "fail", "status": 429, "retry_after": 0.2},
        {"type": "stream_fault", "kind": "truncate", "after_chunks": 1},
        {"type": "stream_fault", "kind": "disconnect", "after_chunks": 1},
    )
    assert await _persist(models, asking(model, user("hello"), tools=(WEATHER,)))
    httpx.post(
        f"{mock}/_llmock/scenario", json={"behaviors": [{"type": "fail", "status": 401}]}
    ).raise_for_status()
    assert await _persist(models, asking(model, user("something else"))) is None

    verdict = httpx.get(f"{mock}/_llmock/verdict").json()

    findings = [f for f in verdict["findings"] if f["severity"] == "error"]
    assert findings == []
