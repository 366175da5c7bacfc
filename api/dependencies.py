"""What endpoints ask for: the app's parts, the caller, paging, ids of paths."""

from typing import Annotated, Final, TypeVar

from fastapi import Depends, Header, Path, Query, Request
from pydantic import AfterValidator

from api.errors import invalid
from api.parts import ApiParts, parts_of
from api.schemas import EVENT_TYPES
from turnwright.domain.ids import id_pattern
from turnwright.domain.run import RunStatus
from turnwright.keys import Caller

MAX_SEQUENCE: Final = 2**63 - 1
MAX_KEY: Final = 255

T = TypeVar("T")


async def caller_of(request: Request) -> Caller:
    """Who sent the request; `CheckedRoute` has found out."""
    caller = request.state.caller
    if not isinstance(caller, Caller):
        raise TypeError("the route does not check who calls")
    return caller


def _comma_list(name: str, text: str | None, known: frozenset[str]) -> tuple[str, ...]:
    if text is None:
        return ()
    given = tuple(text.split(","))
    if unknown := [value for value in given if value not in known]:
        message = f"{unknown[0][:50]!r} is none of: {', '.join(sorted(known))}"
        raise invalid([{"loc": ["query", name], "msg": message}])
    return given


async def run_statuses(status: Annotated[str | None, Query()] = None) -> tuple[str, ...]:
    """The comma list `status` of runs. Raises `Invalid`."""
    return _comma_list("status", status, frozenset(RunStatus))


async def session_statuses(status: Annotated[str | None, Query()] = None) -> tuple[str, ...]:
    """The comma list `status` of sessions. Raises `Invalid`."""
    return _comma_list("status", status, frozenset({"open", "closed"}))


async def event_types(type: Annotated[str | None, Query()] = None) -> tuple[str, ...]:
    """The comma list `type` of events. Raises `Invalid`."""
    return _comma_list("type", type, EVENT_TYPES)


async def stream_start(
    after: Annotated[int, Query(ge=0, le=MAX_SEQUENCE)] = 0,
    last_event_id: Annotated[str | None, Header(description="Wins over `after`.")] = None,
) -> int:
    """The sequence that a stream goes on after. Raises `Invalid`."""
    if last_event_id is None:
        return after
    digits = last_event_id.isascii() and last_event_id.isdigit()
    if not digits or len(last_event_id) > len(str(MAX_SEQUENCE)):
        raise invalid([{"loc": ["header", "Last-Event-ID"], "msg": "is not a sequence"}])
    return min(int(last_event_id), MAX_SEQUENCE)


def _printable(key: str) -> str:
    if not key.isprintable():
        raise ValueError("may hold printable characters only")
    return key


Parts = Annotated[ApiParts, Depends(parts_of)]
CallerOf = Annotated[Caller, Depends(caller_of)]
SessionId = Annotated[str, Path(pattern=id_pattern("ses"))]
RunId = Annotated[str, Path(pattern=id_pattern("run"))]
MessageId = Annotated[str, Path(pattern=id_pattern("msg"))]
ApprovalId = Annotated[str, Path(pattern=id_pattern("apr"))]
SomeSessionId = Annotated[str | None, Query(pattern=id_pattern("ses"))]
SomeRunId = Annotated[str | None, Query(pattern=id_pattern("run"))]
Limit = Annotated[int, Query(ge=1, le=200)]
Cursor = Annotated[str | None, Query(max_length=200)]
After = Annotated[int, Query(ge=0, le=MAX_SEQUENCE)]
RunStatuses = Annotated[tuple[str, ...], Depends(run_statuses)]
SessionStatuses = Annotated[tuple[str, ...], Depends(session_statuses)]
EventTypes = Annotated[tuple[str, ...], Depends(event_types)]
StreamStart = Annotated[int, Depends(stream_start)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_KEY,
        description="The same key, route and body again is given the first answer again.",
    ),
    AfterValidator(lambda key: key if key is None else _printable(key)),
]
