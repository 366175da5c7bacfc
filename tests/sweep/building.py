"""Runs whose executions are gone, as operators and outages leave them."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

from tests.support.app import PATIENCE, App, Json
from turnwright.domain.run import Limits, Run
from turnwright.domain.sessions import AgentChoice, UserInput
from turnwright.executions import Executions, Holder
from turnwright.repair import Repair
from turnwright.store.admission import accept_message
from turnwright.store.engine import Tx
from turnwright.store.run_rows import get_run

NOW = timedelta()


def repair_of(app: App) -> Repair:
    """A repair to which everything is long past."""
    return Repair(app.database, app.process.executions, long_ended=NOW, meant=NOW, again=NOW)


def without_worker(app: App) -> Executions:
    """Starts executions that nobody works on."""
    return replace(app.process.executions, task_queue=f"nobody-{uuid4().hex}")


async def row(app: App, run_id: str) -> Run:
    """The run as the store has it."""
    return await app.database.read(get_run, run_id)


async def terminate(app: App, session_id: str) -> None:
    """What an operator does in the Temporal UI."""
    await app.process.client.get_workflow_handle(f"session/{session_id}").terminate()


async def holder(app: App, run: Json, *, open: bool) -> Holder:
    """The execution of the run, as soon as it is there and open, or closed."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await app.process.executions.holder(run["session_id"])
            if found is not None and found.run_id == run["id"] and found.open is open:
                return found
            await asyncio.sleep(0.02)


async def accepted(app: App, session_id: str, text: str) -> Run:
    """A run as an API leaves it that dies before it could hand it to Temporal."""
    return await app.database.write(_accept, session_id, UserInput(text=text))


def _accept(tx: Tx, session_id: str, words: UserInput) -> Run:
    taken = accept_message(tx, session_id, words, tenant="default", choose=_choose)
    tx.handed.clear()
    return taken.run


def _choose(name: str) -> AgentChoice:
    return AgentChoice(actor=name, version="1", model="scripted:script", limits=Limits())
