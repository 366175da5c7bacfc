"""Take the pictures in docs/images/: one real run in the Temporal UI, waiting and answered.

    apt-get install chromium
    python -m scripts.screenshots

It starts Turnwright on free ports and throw-away data, plays the support example, and looks at
it with a real browser, over the WebSocket library that google-genai brings. The browser is for
this program alone: no test needs it.
"""

import asyncio
import base64
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect

from turnwright.dev import DevOptions, dev_server
from turnwright.leash import leashed
from turnwright.loading import load_agents
from turnwright.settings import Settings

IMAGES = Path("docs/images")
WIDTH = 1520
PATIENCE = 60.0
"""Seconds for a page or a run to be as it should be."""
LOOK = 0.1
"""Seconds between looks."""
STILL = 3.0
"""Seconds for what a page loads last, in frames of its own, and for animations."""
LISTENING = "DevTools listening on "
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--hide-scrollbars"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--remote-debugging-port=0"),
)


@dataclass
class Page:
    """A tab of a browser, spoken to in the DevTools protocol."""

    connection: ClientConnection
    session: str | None = None
    _last: int = 0

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command. Raises `RuntimeError` for a refused one."""
        number = self._last = self._last + 1
        command = {"id": number, "method": method, "params": params}
        if self.session is not None:
            command["sessionId"] = self.session
        await self.connection.send(json.dumps(command))
        async for message in self.connection:
            answer: dict[str, Any] = json.loads(message)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
        raise RuntimeError("the browser has gone")

    async def picture(self, url: str, *, shows: str, height: int) -> bytes:
        """A PNG of the page at `url`, once this text is in it."""
        size = {"width": WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        await self.call("Page.navigate", url=url)
        there = f"document.body?.textContent.includes({json.dumps(shows)}) ?? false"
        async with asyncio.timeout(PATIENCE):
            while not (await self.call("Runtime.evaluate", expression=there))["result"]["value"]:  # noqa: ASYNC110
                await asyncio.sleep(LOOK)  # the page is another program's: it has no event of ours
        await asyncio.sleep(STILL)
        return base64.b64decode((await self.call("Page.captureScreenshot"))["data"])


@asynccontextmanager
async def browser(folder: str) -> AsyncIterator[Page]:
    """An empty page of a browser of our own, until the context is left."""
    chromium = shutil.which("chromium") or sys.exit("chromium is not installed")
    process = await asyncio.create_subprocess_exec(
        *leashed([chromium, *FLAGS, f"--user-data-dir={folder}/browser", "about:blank"]),
        stderr=asyncio.subprocess.PIPE,
    )
    if process.stderr is None:
        raise RuntimeError("the browser has no standard error")
    try:
        line = ""
        while not line.startswith(LISTENING):
            line = (await process.stderr.readuntil()).decode()
        async with connect(line.removeprefix(LISTENING).strip(), max_size=None) as connection:
            whole = Page(connection)
            target = await whole.call("Target.createTarget", url="about:blank")
            attached = await whole.call("Target.attachToTarget", flatten=True, **target)
            yield Page(connection, attached["sessionId"])
    finally:
        process.terminate()
        await process.wait()


async def until(client: httpx.AsyncClient, run_id: str, done: Callable[[str], bool]) -> str:
    """Where the Temporal UI shows the run, once its status is as it should be."""
    async with asyncio.timeout(PATIENCE):
        while True:
            run = (await client.get(f"/runs/{run_id}")).raise_for_status().json()
            if done(run["status"]):
                return str(run["temporal"]["url"])
            await asyncio.sleep(LOOK)


async def main() -> None:
    """Play the run, and take its pictures on the way."""
    agents = load_agents("examples/agents.py")
    with tempfile.TemporaryDirectory(prefix="turnwright-pictures-") as folder:
        options = DevOptions(port=0, temporal_port=0, ui_port=0, data_dir=Path(folder, "data"))
        async with (
            dev_server(Settings.model_construct(), agents, options) as running,
            httpx.AsyncClient(base_url=f"{running.url}/v1") as client,
            browser(folder) as page,
        ):
            created = await client.post("/sessions", json={"agent": "support", "room": "shop"})
            path = f"/sessions/{created.raise_for_status().json()['id']}/messages"
            accepted = await client.post(path, json={"text": "Where is my order A-1042?"})
            run_id = accepted.raise_for_status().json()["run"]["id"]

            url = await until(client, run_id, lambda status: status == "waiting_for_user")
            waiting = f"{url}/user-metadata"
            png = await page.picture(waiting, shows="Current Details", height=720)
            (IMAGES / "temporal-waiting.png").write_bytes(png)

            answer = await client.post(f"/runs/{run_id}/input", json={"choice": "refund"})
            answer.raise_for_status()
            url = await until(client, run_id, lambda status: status == "completed")
            png = await page.picture(f"{url}/timeline", shows="Show idle time", height=1000)
            (IMAGES / "temporal-run.png").write_bytes(png)


if __name__ == "__main__":
    asyncio.run(main())
