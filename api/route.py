"""Every route under `/v1`: requests are refused in the order that CONTRACT.md, "Errors", gives."""

import json
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, ClassVar, Final

from fastapi import Request, Response, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from api.errors import Forbidden, RateLimited, Unauthenticated, invalid
from api.parts import ApiParts, parts_of
from api.text import UnreadableError, read_json
from turnwright.domain.errors import Invalid, NotFound
from turnwright.domain.ids import Prefix, is_id
from turnwright.keys import ANYBODY, Caller, Scope
from turnwright.store.keys import find_caller
from turnwright.store.queue import require_queued
from turnwright.store.reading import require_session
from turnwright.store.run_rows import get_run

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

PREFIXES: Final[Mapping[str, Prefix]] = {
    "session_id": "ses",
    "run_id": "run",
    "message_id": "msg",
    "approval_id": "apr",
}
"""The kinds of identifier that paths hold."""


class JsonRequest(Request):
    """A request whose body is read as `read_json` reads it."""

    async def json(self) -> Any:  # noqa: ANN401  (starlette's signature)
        if not hasattr(self, "_value"):
            try:
                self._value = read_json(await self.body())
            except UnreadableError as error:
                # The one exception that FastAPI answers as a fault of the body.
                raise json.JSONDecodeError(str(error), "", 0) from None
        return self._value


class CheckedRoute(APIRoute):
    """Checks size, key, scope and ids before FastAPI looks at body and parameters."""

    changes: ClassVar[Scope] = Scope.WRITE
    """What a key needs for whatever is no GET."""

    def get_route_handler(self) -> Handler:
        inner = super().get_route_handler()
        parameters = {
            field.alias
            for field in get_flat_params(self.dependant)
            if isinstance(field.field_info, params.Query)
        }

        async def handle(plain: Request) -> Response:
            request = JsonRequest(plain.scope, plain.receive)
            await request.body()
            parts = await parts_of(request)
            caller = await _authenticate(parts, request)
            request.state.caller = caller
            _authorize(caller, Scope.READ if request.method == "GET" else self.changes)
            _limit(request, caller)
            _check_ids(request.path_params)
            try:
                _check_query(request, parameters)
                await _check_type(request)
                return await inner(request)
            except (RequestValidationError, Invalid):
                # An id that names nothing goes before a fault of the body, but is looked up only
                # where it matters: a valid request finds out in its own transaction.
                await _check_existence(parts, caller, request.path_params)
                raise

        return handle


class OperatorRoute(CheckedRoute):
    """A route for operators: approvals, budget, whole rooms."""

    changes = Scope.OPERATE


async def _authenticate(parts: ApiParts, request: Request) -> Caller:
    if parts.settings.auth == "none":
        return ANYBODY
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    caller = None
    if scheme.lower() == "bearer" and key:
        caller = await parts.database.read(find_caller, key.strip())
    if caller is None:
        raise Unauthenticated
    return caller


def _authorize(caller: Caller, needed: Scope) -> None:
    if needed not in caller.scopes:
        raise Forbidden(f"This needs a key with the scope `{needed}`.")


def _limit(request: Request, caller: Caller) -> None:
    wait = request.app.state.rates.take(caller.key_id)
    if wait > 0:
        raise RateLimited(retry_after=wait)


def _check_ids(path: Mapping[str, str]) -> None:
    for name, prefix in PREFIXES.items():
        if name in path and not is_id(prefix, path[name]):
            raise NotFound(f"That is no {name.removesuffix('_id')}.")


async def _check_existence(parts: ApiParts, caller: Caller, path: Mapping[str, str]) -> None:
    if "session_id" in path:
        await parts.database.read(require_session, path["session_id"], tenant=caller.tenant)
    if "run_id" in path:
        await parts.database.read(get_run, path["run_id"], tenant=caller.tenant)
    if "message_id" in path:
        await parts.database.read(require_queued, path["session_id"], path["message_id"])
    if "name" in path:
        parts.choose(path["name"])


def _check_query(request: Request, parameters: set[str]) -> None:
    faults = list(_query_faults(request, parameters))
    if faults:
        raise RequestValidationError(faults)


async def _check_type(request: Request) -> None:
    """Only JSON that says so: a page of another origin cannot send it without being allowed to."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if await request.body() and not re.fullmatch(r"application/([^/]+\+)?json", kind):
        raise invalid([{"loc": ("header", "Content-Type"), "msg": "must be application/json"}])


def _query_faults(request: Request, parameters: set[str]) -> Iterator[dict[str, Any]]:
    given = request.query_params.multi_items()
    for name, times in Counter(name for name, _ in given).items():
        if name not in parameters:
            yield {"loc": ("query", name), "msg": "there is no such parameter"}
        elif times > 1:
            yield {"loc": ("query", name), "msg": "is given more than once"}
    for name, value in given:
        if "\0" in value:
            yield {"loc": ("query", name), "msg": "text may not hold NUL"}
