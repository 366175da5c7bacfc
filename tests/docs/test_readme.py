"""README.md, tried as it is written: its commands on a real server, its output compared."""

import asyncio
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import httpx

from tests.chaos.processes import until_run
from tests.cli.programs import PATIENCE, Program, run, started
from tests.docs.reading import README, blocks
from turnwright.leash import leashed

ADDRESS = "127.0.0.1:8000"
"""Where a reader's server answers."""
UNTIL_IT_WAITS = """
until curl -s "$api/runs/$run" | grep -q '"status":"waiting_for_user"'; do sleep 0.05; done
"""
"""A reader takes longer than the run to get to the stream. This does not."""
CHANGES = (
    (r"(ses|run)_[0-9a-z]{26}", r"\1_…"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:…"),
    (r"CS-[0-9a-f]{8}", "CS-…"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "…"),
)
"""What differs from one run to the next."""


def without_changes(text: str) -> str:
    for pattern, same in CHANGES:
        text = re.sub(pattern, same, text)
    return text.strip()


async def bash(script: str, server: Program) -> str:
    """What the script prints, on this server instead of the reader's. Every step must succeed."""
    script = script.replace(f"http://{ADDRESS}", server.url)
    process = await asyncio.create_subprocess_exec(
        *leashed(["/bin/bash", "-euo", "pipefail", "-c", script]),
        env={"PATH": os.environ["PATH"]},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        output, errors = await process.communicate()
    assert (process.returncode, errors.decode()) == (0, "")
    return output.decode()


def frames(output: str) -> list[tuple[str, dict[str, Any]]]:
    """The frames of the streams in what was printed."""
    found = re.findall(r"^event: (\S+)\ndata: (.+)$", output, re.MULTILINE)
    return [(event, json.loads(data)) for event, data in found]


async def test_the_transcript_is_what_the_demo_prints() -> None:
    [transcript] = blocks(README, "demo")

    status, demo = await run("demo")

    assert status == 0
    assert without_changes(transcript) == without_changes("\n".join(["$ make demo", *demo.output]))


async def test_the_walk_leads_through_a_turn_with_a_question(tmp_path: Path) -> None:
    steps = blocks(README, "walk")
    [streaming] = [index for index, step in enumerate(steps) if "--max-time" in step]
    claimed = _lines_shown_after(steps[streaming])
    steps.insert(streaming, UNTIL_IT_WAITS)
    async with started(*_dev(tmp_path)) as server:
        output = await bash("".join(steps), server)
        assert await server.stopped(signal.SIGTERM) == 0

    shown = frames(output)
    persisted = [data["sequence"] for _, data in shown if "sequence" in data]
    events = [event for event, data in shown if "sequence" in data]
    history = json.loads(output[output.index("{\n    ") :])
    first, replayed, *_ = output.splitlines()
    assert first == "starting"
    assert replayed.strip() == "idempotency-replayed: true"
    assert persisted == list(range(2, history["last_sequence"] + 1))
    assert events[events.index("run.waiting") + 1] == "message.user"
    assert events[-1] == "run.completed"
    assert set(claimed) <= set(output.splitlines())
    assert [message["text"] for message in history["messages"] if message["role"] == "user"] == [
        "Where is my order A-1042?"
    ]
    assert history["messages"][-1]["text"].startswith("Done: a refund it is.")


async def test_the_agent_of_ones_own_loads_and_can_be_tried_without_a_key(tmp_path: Path) -> None:
    [definition] = blocks(README, "agent")
    [trial] = blocks(README, "try")
    (tmp_path / "my_agents.py").write_text(definition)
    assert "TURNWRIGHT_AGENTS=my_agents.py make run" in README.read_text()
    agents = str(tmp_path / "my_agents.py")
    async with (
        started(*_dev(tmp_path), agents=agents) as server,
        httpx.AsyncClient(base_url=f"{server.url}/v1") as client,
    ):
        [agent] = (await client.get("/agents")).json()["data"]
        accepted = json.loads(await bash(trial, server))["run"]
        path = f"/sessions/{accepted['session_id']}"
        waits = await until_run(client, accepted["id"], lambda run: run["waiting"] is not None)
        sent = await client.post(f"{path}/send", json={"text": "terrace"})
        ended = await until_run(client, accepted["id"], lambda run: run["ended_at"] is not None)

    assert (agent["name"], agent["can_ask_user"]) == ("host", True)
    assert [tool["repeatable"] for tool in agent["tools"]] == [True, False]
    assert "call" not in agent["tools"][1]["parameters"]["properties"]
    assert waits["waiting"]["question"]["choices"] == ["terrace", "hall"]
    assert sent.json()["routed"] == "input"
    assert ended["output"]["text"] == "The table 'terrace' is booked for 14 February 2027."


def _lines_shown_after(step: str) -> list[str]:
    """The persisted events that README says this step prints. Live text is there or it is past."""
    output = README.read_text().partition(step)[2].partition("```text\n")[2].partition("```")[0]
    shown = [line for line in output.splitlines() if line.startswith(("event: ", "id: "))]
    assert shown
    return [line for line in shown if line != "event: message.delta"]


def _dev(folder: Path) -> tuple[str, ...]:
    ports = ("--port", "0", "--temporal-port", "0", "--ui-port", "0")
    return ("dev", *ports, "--data-dir", str(folder / "data"))


async def test_what_else_a_person_can_do_is_done(tmp_path: Path) -> None:
    """Steered, queued behind, cancelled with what waits, and asked again by a retry."""
    walk, control = blocks(README, "walk"), blocks(README, "control")
    steps = [walk[0], control[0], UNTIL_IT_WAITS, *control[1:]]
    # What was cancelled is retried once it has ended: the stream before ends with it.
    steps.append(
        "curl -s \"$api/runs?session_id=$session&status=cancelled\" | field \"['data'][0]['id']\"\n"
    )
    async with started(*_dev(tmp_path)) as server:
        output = await bash("".join(steps), server)
        assert await server.stopped(signal.SIGTERM) == 0
    lines = output.splitlines()
    assert lines[:3] == ["Be brief.", "1", "And A-1043?"]
    run = lines[3]
    assert lines[4:] == ["event: run.cancel_requested", "event: run.cancelled", "2", run]
