"""`turnwright demo`: one real conversation, from an empty folder to its end, printed as it happens."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.markup import escape

from turnwright.dev import DevOptions, Running, dev_server
from turnwright.loading import load_agents
from turnwright.settings import Settings

QUESTION = "Where is my order A-1042?"
ANSWER = "refund"
TIMEOUT = httpx.Timeout(30, read=None)
"""A stream may be silent for as long as a model thinks."""

console = Console(highlight=False, soft_wrap=True)


class DemoError(Exception):
    """The demo's run did not complete."""


def run_demo(examples: Path, model: str | None) -> None:
    """Play it, with what the folder `examples` holds. Raises `DemoError` unless it completes."""
    asyncio.run(_demo(examples, model))


async def _demo(examples: Path, model: str | None) -> None:
    # Nobody's settings: a demo neither writes into a database that somebody uses, nor needs a key.
    settings = Settings.model_construct()
    agents = load_agents(str(examples / "agents.py"))
    with tempfile.TemporaryDirectory(prefix="turnwright-demo-") as folder:
        options = DevOptions(port=0, temporal_port=0, ui_port=0, data_dir=Path(folder))
        async with (
            dev_server(settings, agents, options) as running,
            httpx.AsyncClient(base_url=f"{running.url}/v1", timeout=TIMEOUT) as client,
        ):
            await _play(client, running, model)


async def _play(client: httpx.AsyncClient, running: Running, model: str | None) -> None:
    _say("dim", f"API {running.url}, Temporal UI {running.ui_url}")
    session = await _post(client, "/sessions", {"agent": "support", "title": "Demo"})
    path = f"/sessions/{session['id']}"
    _say("dim", f"POST /v1/sessions → {session['id']}")
    said = {"text": QUESTION} | ({"model": model} if model else {})
    accepted = await _post(client, f"{path}/messages", said)
    run = accepted["run"]
    _say("dim", f"POST /v1{path}/messages → {run['id']}, {run['status']}")
    async for event, data in _events(client, f"/runs/{run['id']}/stream?after={accepted['after']}"):
        _show(event, data)
        if event == "run.waiting":
            question = data["data"]["question"]
            choice = _choice(question)
            await _post(client, f"/runs/{run['id']}/input", choice)
            _say("dim", f"POST /v1/runs/{run['id']}/input {json.dumps(choice)}")
    ended = (await client.get(f"/runs/{run['id']}")).raise_for_status().json()
    usage = ended["usage"]
    _say(
        "dim",
        f"{ended['status']}: {usage['rounds']} model rounds, {usage['tool_calls']} tool calls, "
        f"{usage['input_tokens']} + {usage['output_tokens']} tokens",
    )
    _say("dim", f"in the Temporal UI (until the demo ends): {ended['temporal']['url']}")
    if ended["status"] != "completed":
        raise DemoError(f"the run ended {ended['status']}: {ended['failure']}")


def _choice(question: dict[str, Any]) -> dict[str, str]:
    choices = question["choices"]
    if choices is None:
        return {"text": ANSWER}
    return {"choice": ANSWER if ANSWER in choices else choices[0]}


def _show(event: str, data: dict[str, Any]) -> None:
    told = data["data"]
    match event:
        case "message.user" if told["in_reply_to"] is None:
            _say("bold cyan", f"user       {told['text']}")
        case "message.user":
            _say("bold cyan", f"user       {told['text']}  (the answer)")
        case "message.assistant":
            _say("bold green", f"assistant  {told['text']}")
        case "tool.called":
            _say("yellow", f"tool       {told['name']} {json.dumps(told['arguments'])}")
        case "tool.returned":
            _say("yellow", f"           {told['name']} → {told['outcome']}: {told['content']}")
        case "question.asked":
            choices = " / ".join(told["choices"] or ())
            _say("bold magenta", f"question   {told['text']}  {choices}")
        case _:
            _say("dim", f"{data['sequence']:>3}        {event}")


def _say(style: str, text: str) -> None:
    console.print(f"[{style}]{escape(text)}[/]")


async def _post(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    response = await client.post(path, json=body)
    if response.is_error:
        raise DemoError(f"POST {path}: {_detail(response)}")
    answer: dict[str, Any] = response.json()
    return answer


def _detail(response: httpx.Response) -> str:
    """What the problem says, in its own words."""
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"status {response.status_code}"


async def _events(
    client: httpx.AsyncClient, path: str
) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """The persisted events of a stream, each with its type."""
    async with client.stream("GET", path) as response:
        event = ""
        async for line in response.aiter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "data" and not event.startswith(("message.delta", "tool.progress")):
                yield event, json.loads(value)
