"""Every way a provider can fail, sorted into what a run can do about it.

Labels name a class of error and a status code, nothing else: they go to Temporal. Details are
for people, and may quote the provider.
"""

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UserError,
)

from turnwright.domain.errors import (
    ContextOverflow,
    ModelError,
    ModelRefused,
    ModelRejected,
    ModelUnavailable,
)

_DETAIL_LIMIT = 2000
"""Characters of a provider's answer worth keeping; some quote the whole request."""

_OVERFLOW_TYPES = {"exceed_context_size_error"}
"""Overflows that the library takes for rejected requests: llama.cpp's."""

_REFUSAL_CODES = {"content_filter", "content_policy_violation", "moderation_blocked"}
"""Rejections that are a filter's verdict on the content."""

_TRANSIENT_STATUSES = {408, 409, 425}
"""Client errors that are about the moment, not about the request."""

_CLASSES: tuple[tuple[type[Exception], type[ModelError], str], ...] = (
    (UserError, ModelRejected, "setting not supported"),
    (ContentFilterError, ModelRefused, "content filter"),
    (ModelRateLimitError, ModelUnavailable, "rate limited"),
    (ModelOverloadedError, ModelUnavailable, "overloaded"),
    (ModelUnavailableError, ModelUnavailable, "unavailable"),
    (ModelServerError, ModelUnavailable, "server error"),
    (ModelTimeoutError, ModelUnavailable, "timed out"),
    (ModelRequestTimeout, ModelUnavailable, "timed out"),
    (ModelConnectionError, ModelUnavailable, "connection failed"),
    (ModelContextWindowExceededError, ContextOverflow, "context overflow"),
    (ModelAuthenticationError, ModelRejected, "not authorised"),
    (ModelNotFoundError, ModelRejected, "model not found"),
    (ModelQuotaExceededError, ModelRejected, "quota exhausted"),
    (ModelRequestRejectedError, ModelRejected, "request rejected"),
)
"""The first match decides, so a class comes before its bases."""


def classify(error: Exception) -> ModelError:
    """The `ModelError` that `error` amounts to.

    What is none of the library's kinds is a response that could not be read, such as a chunk of
    a stream that is not JSON: the next attempt may bring a better one.
    """
    kind, label = _kind(error)
    if isinstance(error, ModelHTTPError):
        label = f"{label} (HTTP {error.status_code})"
    retry_after = error.retry_after if isinstance(error, ModelAPIError) else None
    detail = str(error)[:_DETAIL_LIMIT] or type(error).__name__
    return kind(detail, label=label, retry_after=retry_after)


def _kind(error: Exception) -> tuple[type[ModelError], str]:
    if isinstance(error, ModelAPIError):
        if error.provider_error_type in _OVERFLOW_TYPES:
            return ContextOverflow, "context overflow"
        if error.provider_error_code in _REFUSAL_CODES:
            return ModelRefused, "content filter"
    for cause, kind, label in _CLASSES:
        if isinstance(error, cause):
            return kind, label
    if isinstance(error, ModelHTTPError) and error.status_code not in _TRANSIENT_STATUSES:
        return ModelRejected, "request rejected"
    return ModelUnavailable, "broken response"
