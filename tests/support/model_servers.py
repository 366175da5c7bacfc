"""Real model servers to test against, each a child process on a free loopback port.

    with llmock_server() as base_url: ...        OpenAI, Anthropic and Gemini formats, with faults
    with small_model_server() as base_url: ...   SmolLM2-135M behind llama.cpp's OpenAI routes

`environment(base_url, …)` gives the providers' own variables that point at a server. A child is
killed with the process that started it, however that dies.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from turnwright.leash import leashed

SMALL_MODEL = "smollm2"
"""The name that the small model answers to, as in `openai-chat:smollm2`."""

_START_SECONDS = 60
_POLL_SECONDS = 0.05


@contextmanager
def llmock_server(*options: str) -> Iterator[str]:
    """The program `llmock serve` with these options; faults are ordered by `script`."""
    port = free_port()
    program = Path(sys.executable).with_name("llmock")
    command = [str(program), "serve", "--port", str(port), "--log-level", "error", *options]
    base_url = f"http://127.0.0.1:{port}"
    with _running(command, f"{base_url}/health"):
        yield base_url


@contextmanager
def small_model_server() -> Iterator[str]:
    """The small model, on one thread. It talks nonsense: assert structure, never content."""
    port = free_port()
    command = [sys.executable, str(Path(__file__).with_name("small_model.py")), str(port)]
    base_url = f"http://127.0.0.1:{port}"
    with _running(command, f"{base_url}/health"):
        yield base_url


def llmock_environment(base_url: str) -> dict[str, str]:
    """The variables with which all four providers over the network talk to llmock."""
    return {
        "OPENAI_API_KEY": "test",
        "OPENAI_BASE_URL": f"{base_url}/v1",
        "ANTHROPIC_API_KEY": "test",
        "ANTHROPIC_BASE_URL": f"{base_url}/anthropic",
        "GOOGLE_API_KEY": "test",
        "GOOGLE_GEMINI_BASE_URL": f"{base_url}/gemini",
    }


def script(base_url: str, *behaviours: Mapping[str, object]) -> None:
    """Make llmock forget everything, then behave so, in this order, for the next requests."""
    httpx.post(f"{base_url}/_llmock/reset").raise_for_status()
    if behaviours:
        orders = {"behaviors": list(behaviours)}
        httpx.post(f"{base_url}/_llmock/scenario", json=orders).raise_for_status()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


@contextmanager
def _running(command: Sequence[str], health: str) -> Iterator[None]:
    environment = {**os.environ, "LLMOCK_HOST": "127.0.0.1"}
    with subprocess.Popen(
        leashed(command),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
    ) as server:
        try:
            _wait_until_healthy(server, health)
            yield
        finally:
            server.kill()


def _wait_until_healthy(server: subprocess.Popen[bytes], health: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            assert server.stderr is not None
            raise RuntimeError(f"the server ended at once: {server.stderr.read().decode()}")
        try:
            if httpx.get(health).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(_POLL_SECONDS)
    raise TimeoutError(f"no answer at {health}")
