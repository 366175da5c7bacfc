"""The API of a server somewhere, as the operator's commands call it."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NoReturn, Self
from urllib.parse import quote

import httpx

from turnwright.command import complain
from turnwright.domain.errors import Invalid
from turnwright.settings import PREFIX, Settings, SettingsError

Json = dict[str, Any]

MAX_PAGE: Final = 200
TIMEOUT: Final = httpx.Timeout(30, connect=5)
STREAM_TIMEOUT: Final = httpx.Timeout(45, connect=5)
"""A stream that is alive says so every 15 seconds."""
PAUSES: Final = (0.2, 1.0, 2.0, 5.0)
"""Seconds before each try to get a stream back; the last is repeated."""

_HINTS: Final = {
    401: f"; set {PREFIX}API_KEY to a key (`turnwright keys create` makes one)",
    403: f"; the key in {PREFIX}API_KEY needs another scope (`turnwright keys list`)",
}


class RemoteError(Exception):
    """The API said no, or cannot be reached. The message is one line with what to do."""


@dataclass(frozen=True)
class Frame:
    """One frame of a stream."""

    event: str
    id: str | None
    data: Json


class Remote:
    """The API that the settings name. A context: it holds connections.

    Raises `RemoteError`, and `Invalid` where the request itself was off.
    """

    def __init__(self, settings: Settings) -> None:
        self._url = settings.api_url.rstrip("/")
        if not self._url.startswith(("http://", "https://")):
            raise SettingsError(f"{PREFIX}API_URL: must be http://host:port or https://…")
        key = settings.api_key
        headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}
        self._client = httpx.Client(base_url=f"{self._url}/v1", headers=headers, timeout=TIMEOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, *path: str, **query: object) -> Json:
        """The JSON of a GET. What is None is not asked for."""
        return self._ask("GET", path, params=_given(query))

    def post(self, *path: str, **body: object) -> Json:
        """The JSON of a POST. What is None is left out."""
        return self._ask("POST", path, json=_given(body))

    def items(self, *path: str, limit: int, **query: object) -> Iterator[Json]:
        """The entries of a list, its pages one after the other, `limit` at most."""
        cursor = None
        while limit > 0:
            page = self.get(*path, limit=min(limit, MAX_PAGE), cursor=cursor, **query)
            yield from page["data"]
            limit -= len(page["data"])
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def stream(
        self, *path: str, after: int | None = None, query: Mapping[str, object] | None = None
    ) -> Iterator[Frame]:
        """The frames of a stream, for as long as the caller wants them.

        A stream that breaks or ends is taken up again after the last frame that has an id,
        however long that takes. Raises `RemoteError` when it cannot be had in the first place.
        """
        last, tries = None if after is None else str(after), 0
        had = told = False
        while True:
            try:
                for frame in self._frames(path, last, query or {}):
                    last, tries = frame.id or last, 0
                    had, told = True, False
                    yield frame
            except _LostError as lost:
                if not had:
                    raise RemoteError(str(lost)) from None
                if not told:
                    complain(f"{lost}; trying again")
                    told = True
            time.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1

    def _frames(
        self, path: tuple[str, ...], last: str | None, query: Mapping[str, object]
    ) -> Iterator[Frame]:
        headers = {} if last is None else {"Last-Event-ID": last}
        asking = self._client.stream(
            "GET", _path(path), params=_given(query), headers=headers, timeout=STREAM_TIMEOUT
        )
        with self._reachable(), asking as response:
            if response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
                raise _LostError(f"{self._url} answers {response.status_code}")
            if response.status_code != httpx.codes.OK:
                response.read()
                self._refuse(response)
            yield from _parsed(_lines(response))

    def _ask(self, method: str, path: tuple[str, ...], **request: Any) -> Json:
        try:
            with self._reachable():
                response = self._client.request(method, _path(path), **request)
        except _LostError as lost:
            raise RemoteError(str(lost)) from None
        if not response.is_success:
            self._refuse(response)
        answer: Json = self._json(response)
        return answer

    def _refuse(self, response: httpx.Response) -> NoReturn:
        """Raise what the API said, in its own words."""
        problem = self._json(response)
        detail, code = problem.get("detail"), problem.get("code")
        said = f"{detail} ({code}){_HINTS.get(response.status_code, '')}"
        if response.status_code == httpx.codes.UNPROCESSABLE_ENTITY:
            raise Invalid(said)
        raise RemoteError(said)

    def _json(self, response: httpx.Response) -> Json:
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise RemoteError(
                f"what answers at {self._url} ({response.status_code}) is no Turnwright API:"
                f" check {PREFIX}API_URL"
            )
        return answer

    @contextmanager
    def _reachable(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError as error:
            raise _LostError(
                f"the API cannot be reached at {self._url} ({PREFIX}API_URL):"
                f" {str(error) or type(error).__name__}"
            ) from None


class _LostError(Exception):
    """There is no connection, or no longer."""


def _path(parts: tuple[str, ...]) -> str:
    return "/" + "/".join(quote(part, safe="") for part in parts)


def _given(values: Mapping[str, object]) -> dict[str, Any]:
    return {name.rstrip("_"): value for name, value in values.items() if value is not None}


def _lines(response: httpx.Response) -> Iterator[str]:
    # Not httpx's own: to that, what people say may hold ends of lines that are none here.
    rest = b""
    for chunk in response.iter_bytes():
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.rstrip(b"\r").decode() for line in lines)


def _parsed(lines: Iterator[str]) -> Iterator[Frame]:
    event, data, identifier = "message", "", None
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "event":
            event = value
        elif name == "data":
            data += value
        elif name == "id":
            identifier = value
        elif not line and data:
            yield Frame(event, identifier, json.loads(data))
            event, data, identifier = "message", "", None
