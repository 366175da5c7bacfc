"""A cancel finds the run in the middle of its work: calls get their results, streams are closed.

What a tool waits for in here is the cancel itself: it does not end before it has seen it.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from temporalio import activity

from activities.interruption import CUT_SHORT, GIVEN_UP, NOT_RUN
from tests.support.app import PATIENCE, SCRIPTED, script
from tests.support.servers import TemporalServer
from tests.workflow.driving import Theatre, theatre
from turnwright import Agent, ToolContext, tool
from turnwright.agents import AnyTool
from turnwright.domain.errors import Unavailable
from turnwright.domain.events import Event, ToolReturned
from turnwright.domain.messages import ModelRequest, ModelResponse
from turnwright.domain.ports import CallWork, Owner
from turnwright.domain.run import Run, RunStatus
from turnwright.store.engine import Database
from turnwright.store.runs import RunStore
from worker import THROTTLE

PAUSE = 0.005


class Stages:
    """Theatres for agents with tools of the test's own."""

    def __init__(self, database_url: str, temporal: TemporalServer) -> None:
        self._database_url, self._temporal = database_url, temporal

    @asynccontextmanager
    async def with_tools(self, *tools: AnyTool) -> AsyncIterator[Theatre]:
        agent = Agent("scripted", instructions="", model="scripted:script", tools=tools)
        async with theatre(self._database_url, self._temporal.client, agent=agent) as stage:
            yield stage


@pytest.fixture
def stages(migrated_database_url: str, temporal_server: TemporalServer) -> Stages:
    return Stages(migrated_database_url, temporal_server)


def calling(*names: str) -> str:
    """A round that calls these tools, and one that must never be asked for."""
    return script({"calls": [{"name": name} for name in names]}, {"text": "Never."})


async def cancelled(stage: Theatre, run: Run, *, once: Callable[[list[Event]], bool]) -> Run:
    """The run after its end, cancelled in Temporal once its log is so."""
    async with asyncio.timeout(PATIENCE):
        with stage.hub.subscribe(run.session_id) as changes:
            while not once(await stage.log(run)):
                await changes.wait(PATIENCE)
                changes.take()
    await stage.handle(run).cancel()
    run = await stage.ended(run)
    assert run.status is RunStatus.CANCELLED
    return run


def started(count: int) -> Callable[[list[Event]], bool]:
    return lambda log: Counter(event.type for event in log)["tool.started"] == count


async def results(stage: Theatre, run: Run) -> dict[str, tuple[str, str]]:
    """Outcome and content by tool, each of them once and before the end; and no step after it."""
    log = await stage.log(run)
    types = [event.type for event in log]
    assert types[-1] == "run.cancelled"
    assert types.count("round.started") == types.count("round.finished") == 1
    returned = [event.data for event in log if event.type == "tool.returned"]
    assert len(returned) == types.count("tool.called")
    return {data["name"]: (data["outcome"], data["content"]) for data in returned}


@tool
async def send(context: ToolContext) -> str:
    """Have an effect that takes until after the cancel."""
    while not context.cancelled:
        await asyncio.sleep(PAUSE)
    return "sent"


@tool
def post(context: ToolContext) -> str:
    """Have such an effect in a thread."""
    while not context.cancelled:
        time.sleep(PAUSE)
    raise ValueError("the letter box is full")


async def test_an_effect_already_sent_is_recorded_and_no_step_follows(stages: Stages) -> None:
    """Behaviour 23."""
    async with stages.with_tools(send, post) as stage, stage.worker():
        run = await stage.say(await stage.session(), calling("send", "post"))
        run = await cancelled(stage, run, once=started(2))
        assert await results(stage, run) == {
            "send": ("ok", "sent"),
            "post": ("error", "ValueError: the letter box is full"),
        }


async def test_a_call_that_may_not_be_repeated_and_outlives_the_grace_is_unknown(
    stages: Stages,
) -> None:
    interrupted = asyncio.Event()

    @tool(on_unknown="fail")
    async def linger() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            interrupted.set()

    async with stages.with_tools(linger) as stage, stage.worker(grace=0.01):
        run = await stage.say(await stage.session(), calling("linger"))
        run = await cancelled(stage, run, once=started(1))
        assert await results(stage, run) == {"linger": ("unknown", GIVEN_UP)}
        assert interrupted.is_set()


async def test_a_repeatable_call_is_interrupted_at_once(stages: Stages) -> None:
    """And has unwound by the time that its result is there; the session's next turn works."""
    interrupted = asyncio.Event()

    @tool(repeatable=True)
    async def look() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            interrupted.set()

    async with stages.with_tools(look) as stage, stage.worker():
        run = await stage.say(await stage.session(), calling("look"))
        run = await cancelled(stage, run, once=started(1))
        assert await results(stage, run) == {"look": ("cancelled", CUT_SHORT)}
        assert interrupted.is_set()
        again = await stage.say(run.session_id, script({"text": "fine"}))
        assert (await stage.ended(again)).status is RunStatus.COMPLETED


async def test_a_tool_that_will_not_be_interrupted_holds_nobody_up(stages: Stages) -> None:
    release = asyncio.Event()

    @tool(repeatable=True)
    async def stubborn() -> str:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "too late"

    async with stages.with_tools(stubborn) as stage, stage.worker():
        run = await stage.say(await stage.session(), calling("stubborn"))
        run = await cancelled(stage, run, once=started(1))
        assert await results(stage, run) == {"stubborn": ("cancelled", CUT_SHORT)}
        release.set()


async def test_a_repeatable_call_in_a_thread_is_not_waited_for_but_sees_it(stages: Stages) -> None:
    seen, release = threading.Event(), threading.Event()

    @tool(repeatable=True)
    def look(context: ToolContext) -> str:
        # From a thread of the tool's own, which has none of our context variables.
        def watch() -> None:
            while not context.cancelled:
                time.sleep(PAUSE)
            seen.set()

        threading.Thread(target=watch, daemon=True).start()
        release.wait(PATIENCE)
        return "too late"

    async with stages.with_tools(look) as stage, stage.worker():
        run = await stage.say(await stage.session(), calling("look"))
        run = await cancelled(stage, run, once=started(1))
        assert await results(stage, run) == {"look": ("cancelled", CUT_SHORT)}
        assert await asyncio.to_thread(seen.wait, PATIENCE)
        release.set()


async def test_a_call_that_was_about_to_be_run_is_not(stages: Stages) -> None:
    ran: list[str] = []

    @tool
    def effect() -> None:
        ran.append("effect")

    async with stages.with_tools(effect) as stage, stage.worker(runs=Hesitant(stage.database)):
        run = await stage.say(await stage.session(), calling("effect"))
        run = await cancelled(stage, run, once=started(1))
        assert await results(stage, run) == {"effect": ("cancelled", NOT_RUN)}
        assert ran == []


class Hesitant(RunStore):
    """A store that has begun a call only when the cancel is there."""

    async def begin_call(self, owner: Owner, call_id: str, *, repeatable: bool) -> CallWork:
        work = await super().begin_call(owner, call_id, repeatable=repeatable)
        while not activity.is_cancelled():
            activity.heartbeat()
            await asyncio.sleep(PAUSE)
        return work


async def test_a_call_that_nobody_runs_yet_does_not_cut_the_others_short(stages: Stages) -> None:
    """It is in the pause before its next attempt, where a cancel ends it at once."""

    @tool
    def other() -> None:
        """Never reached: the store is away for it."""

    @tool
    async def send_slowly(context: ToolContext) -> str:
        """Take longer than a run takes to be settled."""
        sent = await send.function(context)
        await asyncio.sleep(1)
        return sent

    async with stages.with_tools(other, send_slowly) as stage:
        store = AwayForTheFirst(stage.database)
        async with stage.worker(runs=store):
            run = await stage.say(await stage.session(), calling("other", "send_slowly"))
            async with asyncio.timeout(PATIENCE):
                await store.tried.wait()
            run = await cancelled(stage, run, once=started(1))
        outcomes = {name: outcome for name, (outcome, _) in (await results(stage, run)).items()}
        assert outcomes == {"other": "cancelled", "send_slowly": "ok"}


class AwayForTheFirst(RunStore):
    """A store that cannot be reached whenever the round's first call is begun."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.tried = asyncio.Event()

    async def begin_call(self, owner: Owner, call_id: str, *, repeatable: bool) -> CallWork:
        if call_id.endswith("_0"):
            self.tried.set()
            raise Unavailable
        return await super().begin_call(owner, call_id, repeatable=repeatable)


async def test_a_cancel_whose_call_is_lost_ends_the_run_as_cancelled_all_the_same(
    stages: Stages,
) -> None:
    """Temporal does not attempt a cancelled call again; its failure is no fault of the run's."""
    async with (
        stages.with_tools(send) as stage,
        stage.worker(runs=Forgetful(stage.database)),
    ):
        run = await stage.say(await stage.session(), calling("send"))
        run = await cancelled(stage, run, once=started(1))
        assert len(await results(stage, run)) == 1


class Forgetful(RunStore):
    """A store that cannot be reached when a call has its result."""

    async def finish_call(
        self, owner: Owner, result: ToolReturned, *, whole: str | None = None
    ) -> ToolReturned:
        raise Unavailable


async def test_a_worker_that_shuts_down_is_no_cancel(
    stages: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the end of its drain: what may be repeated is, and what may not is unknown, never twice."""
    monkeypatch.setattr("worker.DRAIN", timedelta(milliseconds=10))
    attempts: list[tuple[str, int]] = []

    async def take(name: str, context: ToolContext) -> str:
        attempts.append((name, context.attempt))
        if context.attempt == 1:
            await asyncio.Event().wait()
        return "done"

    @tool
    async def once(context: ToolContext) -> str:
        return await take("once", context)

    @tool
    def once_in_a_thread(context: ToolContext) -> str:
        attempts.append(("once_in_a_thread", context.attempt))
        while not context.cancelled:
            time.sleep(PAUSE)
        return "done"

    @tool(repeatable=True)
    async def again(context: ToolContext) -> str:
        return await take("again", context)

    async with stages.with_tools(once, once_in_a_thread, again) as stage:
        names = ("once", "once_in_a_thread", "again")
        text = script({"calls": [{"name": name} for name in names]}, {"text": "Done"})
        async with stage.worker():
            run = await stage.say(await stage.session(), text)
            async with asyncio.timeout(PATIENCE):
                with stage.hub.subscribe(run.session_id) as changes:
                    while not started(3)(await stage.log(run)):
                        await changes.wait(PATIENCE)
                        changes.take()
        async with stage.worker():
            run = await stage.ended(run)
        assert run.status is RunStatus.COMPLETED
        returned = [event.data for event in await stage.log(run) if event.type == "tool.returned"]
    assert sorted(attempts) == [
        ("again", 1), ("again", 2), ("once", 1), ("once_in_a_thread", 1),
    ]  # fmt: skip
    assert {data["name"]: data["outcome"] for data in returned} == {
        "once": "unknown",
        "once_in_a_thread": "unknown",
        "again": "ok",
    }


class Hanging:
    """The port `Models`: a stream that begins, and then stands still until it is closed."""

    def __init__(self) -> None:
        self.streaming, self.closed = asyncio.Event(), asyncio.Event()

    def check(self, model: str) -> None:
        """Any name will do."""

    async def respond(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelResponse:
        on_text("Once upon")
        self.streaming.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.closed.set()
        raise AssertionError


async def test_a_cancel_in_mid_stream_closes_the_provider_s_stream(stage: Theatre) -> None:
    """Behaviour 24."""
    await _closes(stage)


async def test_it_does_on_a_cluster_that_sends_no_worker_commands_too(
    migrated_database_url: str, plain_temporal_server: TemporalServer
) -> None:
    """There a cancel comes back with a heartbeat, and with nothing else."""
    async with theatre(migrated_database_url, plain_temporal_server.client) as stage:
        await _closes(stage)
    config: Any = stage.worker().config()
    assert config["max_heartbeat_throttle_interval"] == THROTTLE <= timedelta(seconds=1)


async def _closes(stage: Theatre) -> None:
    model = Hanging()
    async with stage.worker(models=model), asyncio.timeout(PATIENCE):
        run = await stage.say(await stage.session(), "Tell me a tale")
        await model.streaming.wait()
        await stage.handle(run).cancel()
        await model.closed.wait()
        assert (await stage.ended(run)).status is RunStatus.CANCELLED
    types = [event.type for event in await stage.log(run)]
    assert types[-3:] == ["round.started", "run.cancel_requested", "run.cancelled"]
    assert SCRIPTED.name == run.actor
