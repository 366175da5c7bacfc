"""A client that costs next to nothing: what is measured shares two cores with it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any


class Caller:
    """One kept-alive connection to the API."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """The body of a 2xx answer. Raises RuntimeError for any other."""
        payload = b"" if body is None else json.dumps(body).encode()
        self._writer.write(_head(method, path, len(payload)) + payload)
        status, headers = await _head_of(self._reader)
        answer = await self._reader.readexactly(int(headers[b"content-length"]))
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {answer.decode()}")
        parsed: dict[str, Any] = json.loads(answer)
        return parsed

    async def events(self, path: str) -> AsyncIterator[bytes]:
        """The types of a stream's frames, as they come. The connection is used up by it."""
        self._writer.write(_head("GET", path, 0))
        await _head_of(self._reader)
        while line := await self._reader.readline():
            if line.startswith(b"event: "):
                yield line[7:].strip()


@asynccontextmanager
async def caller(url: str) -> AsyncIterator[Caller]:
    """A connection to the API at `url`."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Caller(reader, writer)
    finally:
        writer.close()


def _head(method: str, path: str, length: int) -> bytes:
    return (
        f"{method} {path} HTTP/1.1\r\nHost: bench\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


async def _head_of(reader: asyncio.StreamReader) -> tuple[int, dict[bytes, bytes]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
    headers = dict(line.lower().split(b": ", 1) for line in lines[1:] if line)
    return int(lines[0].split()[1]), headers
