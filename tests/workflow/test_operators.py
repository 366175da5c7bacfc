"""What operators do and see in Temporal: cancel, Failed, the guard."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from tests.support.app import App, ask, running_app, script
from tests.support.servers import TemporalServer
from turnwright import Agent, tool
from turnwright.domain.ids import new_id
from turnwright.executions import Start
from turnwright.store.run_rows import get_run


@tool(repeatable=True)
async def forever() -> str:
    """Take for ever."""
    await asyncio.Event().wait()
    return "never"


AGENT = Agent(
    name="scripted",
    instructions="Play.",
    model="scripted:script",
    tools=[forever],
    can_ask_user=True,
)


@pytest.fixture
async def app(migrated_database_url: str, temporal_server: TemporalServer) -> AsyncIterator[App]:
    """A running application."""
    async with running_app(migrated_database_url, temporal_server, agents=[AGENT]) as running:
        yield running


def _returned(events: list[dict[str, object]]) -> list[object]:
    return [e["data"]["outcome"] for e in events if e["type"] == "tool.returned"]  # type: ignore[index]


async def test_a_cancel_in_the_temporal_ui_settles_a_waiting_run(app: App) -> None:
    """One terminal event, the open question and its call settled before it; the session lives."""
    session_id = await app.session()
    run = await app.asked(session_id, ask("Go on?"))
    handle = app.process.client.get_workflow_handle(f"session/{session_id}")
    await handle.cancel()
    ended = await app.ended(run["id"])
    assert ended["status"] == "cancelled"
    events = await app.events(session_id)
    assert [e["type"] for e in events][-4:] == [
        "run.cancel_requested",
        "question.expired",
        "tool.returned",
        "run.cancelled",
    ]
    assert _returned(events) == ["cancelled"]
    with pytest.raises(WorkflowFailureError):
        await handle.result()
    assert (await handle.describe()).status is WorkflowExecutionStatus.CANCELED
    again = await app.turn(session_id, script({"text": "fine"}))
    assert again["status"] == "completed"


@pytest.mark.parametrize(
    ("playing", "event"),
    [
        ({"text": "one two three", "hang": True}, "round.started"),
        ({"calls": [{"name": "forever", "arguments": {}}]}, "tool.started"),
    ],
)
async def test_a_cancel_in_the_temporal_ui_settles_a_running_run(
    app: App, playing: dict[str, object], event: str
) -> None:
    """In mid-round and in mid-tool: the run ends cancelled, once, and every call has a result."""
    session_id = await app.session()
    accepted = await app.say(session_id, script(playing))
    run_id = accepted["run"]["id"]
    await app.reached(run_id, event)
    await app.process.client.get_workflow_handle(f"session/{session_id}").cancel()
    ended = await app.ended(run_id)
    assert ended["status"] == "cancelled"
    assert _returned(await app.events(session_id)) in ([], ["cancelled"])


async def _reset(app: App, session_id: str) -> str:
    """Reset the session's execution to its last workflow task, as the UI and the CLI do."""
    client = app.process.client
    handle = client.get_workflow_handle(f"session/{session_id}")
    tasks = [
        event.event_id
        async for event in handle.fetch_history_events()
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    ]
    answer = await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=f"session/{session_id}"),
            reason="a test",
            workflow_task_finish_event_id=tasks[-1],
            request_id=uuid4().hex,
        )
    )
    return answer.run_id


async def test_a_waiting_run_that_is_reset_goes_on(app: App) -> None:
    """The reset execution replays an opening that was not its own, and then opens the run."""
    session_id = await app.session()
    run = await app.asked(session_id, ask("Go on?"), {"text": "done"})
    execution_id = await _reset(app, session_id)
    answered = await app.post(f"/v1/runs/{run['id']}/input", {"text": "yes"})
    assert answered.status_code == 202
    ended = await app.ended(run["id"])
    assert ended["status"] == "completed"
    assert ended["temporal"]["execution_id"] == execution_id
    handle = app.process.client.get_workflow_handle(f"session/{session_id}", run_id=execution_id)
    assert await handle.result() == "completed"


async def test_an_ended_run_that_is_reset_stays_as_it_ended(app: App) -> None:
    """Its log is untouched, and the execution ends as the row says."""
    session_id = await app.session()
    await app.turn(session_id, script({"text": "done"}))
    before = await app.events(session_id)
    execution_id = await _reset(app, session_id)
    handle = app.process.client.get_workflow_handle(f"session/{session_id}", run_id=execution_id)
    assert await handle.result() == "completed"
    assert await app.events(session_id) == before


async def test_a_failed_run_shows_as_failed(app: App) -> None:
    """And its failure says why, in a word of the contract."""
    session_id = await app.session()
    run = await app.turn(session_id, script({"error": {"kind": "rejected"}}))
    assert run["failure"]["reason"] == "model_error"
    handle = app.process.client.get_workflow_handle(f"session/{session_id}")
    with pytest.raises(WorkflowFailureError) as failed:
        await handle.result()
    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.type == "model_error"


async def test_temporal_s_id_guards_a_session_with_the_database_s_constraint_out_of_the_way(
    app: App,
) -> None:
    """Behaviour 6: a second run of the session finds the workflow id taken, and stays out."""
    session_id = await app.session()
    run = await app.asked(session_id, ask("Go on?"), {"text": "done"})
    first = await app.database.read(get_run, run["id"])
    second = first.model_copy(update={"id": new_id("run")})
    assert await app.process.executions.start(second) is Start.REFUSED
    assert await app.process.executions.start(first) is Start.RUNNING
    await app.post(f"/v1/runs/{run['id']}/input", {"text": "yes"})
    assert (await app.ended(run["id"]))["status"] == "completed"
