"""From what was refused or went wrong to problem answers (RFC 9457): one table, one shape.

Refused (turnwright.domain.errors)
├── Unauthenticated
├── Forbidden
├── MethodNotAllowed
├── PayloadTooLarge
└── RateLimited
"""

import json
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from turnwright.domain.errors import Invalid, NotFound, Refused, Unavailable

MEDIA_TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = 1
"""What `Retry-After` says while the database cannot be reached."""
SHOWN: Final = 100
"""Characters of a field's name that a problem answer repeats."""


class Unauthenticated(Refused):
    """A valid API key is needed."""

    code = "UNAUTHENTICATED"


class Forbidden(Refused):
    """The API key does not allow this."""

    code = "FORBIDDEN"


class MethodNotAllowed(Refused):
    """This route does not take that method."""

    code = "METHOD_NOT_ALLOWED"


class PayloadTooLarge(Refused):
    """The request body is over the limit."""

    code = "PAYLOAD_TOO_LARGE"


class RateLimited(Refused):
    """Too many requests."""

    code = "RATE_LIMITED"


PROBLEMS: Final[Mapping[str, tuple[int, str]]] = {
    "NOT_FOUND": (404, "Not found"),
    "METHOD_NOT_ALLOWED": (405, "Method not allowed"),
    "UNAUTHENTICATED": (401, "Not authenticated"),
    "FORBIDDEN": (403, "Not allowed"),
    "VALIDATION_FAILED": (422, "The request is not valid"),
    "PAYLOAD_TOO_LARGE": (413, "The request body is too large"),
    "SESSION_BUSY": (409, "The session has an active run"),
    "SESSION_COMPLETED": (409, "The session is closed"),
    "SESSION_NOT_AWAITING_USER": (409, "The session does not wait for the user"),
    "RUN_NOT_WAITING": (409, "The run does not wait for the user"),
    "QUESTION_MISMATCH": (409, "That is not the open question"),
    "QUESTION_ANSWERED": (409, "The question was answered already"),
    "APPROVAL_RESOLVED": (409, "The approval was decided already, or has expired"),
    "RUN_NOT_RETRYABLE": (409, "The run cannot be retried"),
    "RUN_TERMINAL": (409, "The run has ended"),
    "IDEMPOTENCY_KEY_REUSED": (409, "The idempotency key was used for another request"),
    "RATE_LIMITED": (429, "Too many requests"),
    "INTERNAL": (500, "Internal error"),
    "UNAVAILABLE": (503, "Unavailable"),
}
"""Each code of CONTRACT.md's table that this version gives, its status and its title."""


def problem(
    code: str, detail: str, *, headers: Mapping[str, str] | None = None, **extra: Any
) -> Response:
    """A problem answer. `extra` are its further members; those that are None are left out."""
    status, title = PROBLEMS[code]
    members = {
        "type": f"urn:turnwright:problem:{code.lower().replace('_', '-')}",
        "title": title,
        "status": status,
        "detail": detail,
        "code": code,
        **{name: value for name, value in extra.items() if value is not None},
    }
    return Response(json.dumps(members), status, headers, MEDIA_TYPE)


def invalid(faults: Iterable[Mapping[str, Any]]) -> Invalid:
    """`Invalid` for these faults, each with `loc` and `msg`, and nothing of what was sent.

    The names of fields are the exception: without them nobody finds the fault.
    """
    errors = [
        {"loc": [_shown(part) for part in fault["loc"]], "msg": fault["msg"]} for fault in faults
    ]
    where = ".".join(str(part) for part in errors[0]["loc"])
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return Invalid(f"{where}: {errors[0]['msg']}{more}", errors=errors)


def install(app: FastAPI) -> None:
    """Have every exception answered as a problem."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(Unavailable, _unavailable)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _http)


def refusal(error: Refused) -> Response:
    """The answer to a request that was refused."""
    headers: dict[str, str] = {}
    extra = dict(error.extra)
    if "retry_after" in extra:
        headers["Retry-After"] = str(extra.pop("retry_after"))
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    return problem(error.code, error.detail, headers=headers, **extra)


async def _refused(_request: Request, error: Exception) -> Response:
    if not isinstance(error, Refused):
        raise TypeError from error
    return refusal(error)


async def _unavailable(_request: Request, _error: Exception) -> Response:
    return problem(
        "UNAVAILABLE",
        "The database cannot be reached in time. Repeating the request is safe where it carries"
        " an Idempotency-Key.",
        headers={"Retry-After": str(RETRY_SECONDS)},
    )


async def _not_valid(_request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise TypeError from error
    return refusal(invalid(_readable(fault) for fault in error.errors()))


async def _http(request: Request, error: Exception) -> Response:
    """What the router itself refuses."""
    if not isinstance(error, HTTPException):
        raise TypeError from error
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return refusal(NotFound("There is no such route."))
        case HTTPStatus.METHOD_NOT_ALLOWED:
            headers = {"Allow": _allowed(request)}
            return problem("METHOD_NOT_ALLOWED", MethodNotAllowed().detail, headers=headers)
        case _:
            return refusal(Invalid("The request cannot be read."))


def _allowed(request: Request) -> str:
    """The methods of the path. The router's own list names those of its first route alone."""
    path = getattr(request.scope.get("route"), "path", None)
    # What is not described is the description itself.
    operations = request.app.openapi()["paths"].get(path, {"get": {}})
    return ", ".join(sorted(method.upper() for method in operations))


def _readable(fault: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fault; of a body that is not JSON, with the reason that FastAPI keeps apart."""
    if fault.get("type") != "json_invalid":
        return fault
    return {"loc": ("body",), "msg": fault["ctx"]["error"]}


def _shown(part: object) -> object:
    return part[:SHOWN] if isinstance(part, str) else part
