"""Weeks pass in a moment, on both of the servers that can do it."""

from datetime import timedelta
from uuid import uuid4

from temporalio import workflow
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.support.servers import TemporalServer


@workflow.defn
class Sleeper:
    """Sleeps a month and returns how long it took on its own clock, in days."""

    @workflow.run
    async def run(self) -> int:
        started = workflow.now()
        await workflow.sleep(timedelta(days=30))
        return (workflow.now() - started).days


async def sleep_a_month(client: Client) -> int:
    queue = uuid4().hex
    async with Worker(
        client,
        task_queue=queue,
        workflows=[Sleeper],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        return await client.execute_workflow(Sleeper.run, id=queue, task_queue=queue)


async def test_the_test_server_skips_time(time_skipping: WorkflowEnvironment) -> None:
    assert await sleep_a_month(time_skipping.client) == 30


async def test_the_full_server_skips_time_for_workflows_of_the_skipper(
    temporal_server: TemporalServer,
) -> None:
    assert await sleep_a_month(temporal_server.time_skipper().client) == 30
