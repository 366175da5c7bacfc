"""Processes that kill themselves at one exact step, once: `python -m tests.chaos.crashing …`.

The step is real code of ours on real parts; only the moment of death is chosen. A marker file
says that it has happened, so that the process started next lives.
"""

import os
import signal
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from api.app import create_app
from api.serve import api_parts
from turnwright.dispatch import Dispatcher
from turnwright.domain.deciding import Settle
from turnwright.domain.events import ToolReturned
from turnwright.domain.handoff import Handoff
from turnwright.domain.messages import ModelResponse
from turnwright.domain.ports import Owner, Recorded
from turnwright.loading import load_agents
from turnwright.service import listen, run_service, serving, url_of
from turnwright.settings import load_settings
from turnwright.store.runs import RunStore
from turnwright.wiring import wired
from worker import connected, running_worker, worker_parts


def die_once(marker: Path) -> None:
    """Kill this process with SIGKILL, unless the marker says that it was done before."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)


class CrashingRuns(RunStore):
    """A run store whose process dies right around the step that `step` names."""

    step = ""
    marker = Path()

    async def open(
        self, owner: Owner, *, displaces: str | None = None, reopens: bool = False
    ) -> Recorded:
        opened = await super().open(owner, displaces=displaces, reopens=reopens)
        self._at("opened")
        return opened

    async def finish_round(
        self,
        owner: Owner,
        number: int,
        response: ModelResponse,
        *,
        message_id: str,
        allow_empty: bool,
    ) -> Recorded:
        self._at("before-round-recorded")
        done = await super().finish_round(
            owner, number, response, message_id=message_id, allow_empty=allow_empty
        )
        self._at("round-recorded")
        return done

    async def finish_call(
        self, owner: Owner, result: ToolReturned, *, whole: str | None = None
    ) -> ToolReturned:
        self._at("before-result-recorded")
        done = await super().finish_call(owner, result, whole=whole)
        self._at("result-recorded")
        return done

    async def settle(
        self, owner: Owner, step: Settle, *, moment: datetime | None = None, after: int = 0
    ) -> Recorded:
        self._at("before-settled")
        done = await super().settle(owner, step, moment=moment, after=after)
        self._at("settled")
        return done

    def _at(self, step: str) -> None:
        if step == self.step:
            die_once(self.marker)


class CrashingDispatcher(Dispatcher):
    """A dispatcher whose process dies when it is to hand something to Temporal."""

    marker = Path()

    def take(self, handed: Iterable[Handoff]) -> None:
        die_once(self.marker)
        super().take(handed)


@asynccontextmanager
async def crashing_worker(step: str, marker: Path) -> AsyncIterator[None]:
    """A worker like any other, until it reaches the step."""
    settings = load_settings()
    CrashingRuns.step, CrashingRuns.marker = step, marker
    async with wired(settings, load_agents(settings.agents)) as process:
        await connected(process.client)
        parts = replace(worker_parts(process), runs=CrashingRuns(process.database))
        async with running_worker(process.client, parts):
            print("ready: worker", flush=True)
            yield


@asynccontextmanager
async def crashing_api(marker: Path) -> AsyncIterator[None]:
    """An API like any other, until it has accepted something."""
    settings = load_settings()
    CrashingDispatcher.marker = marker
    listening = listen(settings.api_host, settings.api_port)
    async with wired(settings, load_agents(settings.agents)) as process:
        dispatcher = CrashingDispatcher(process.executions)
        process.database.hand_on = dispatcher.take
        app = create_app(replace(api_parts(process), dispatcher=dispatcher))
        async with serving(app, listening, process.hub):
            print(f"ready: {url_of(listening)}", flush=True)
            yield


if __name__ == "__main__":
    kind, *rest = sys.argv[1:]
    if kind == "api":
        run_service(crashing_api(Path(rest[0])))
    else:
        run_service(crashing_worker(rest[0], Path(rest[1])))
