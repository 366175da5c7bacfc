"""Recorded histories replay under the present workflow code: runs that are under way go on."""

from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer
from temporalio.workflow import NondeterminismError

from worker import SANDBOX
from workflows.run import RunWorkflow

RECORDED = sorted((Path(__file__).parents[1] / "histories").glob("*.json"))


def replayer() -> Replayer:
    """The worker's workflow, in the sandbox."""
    return Replayer(
        workflows=[RunWorkflow], data_converter=pydantic_data_converter, workflow_runner=SANDBOX
    )


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
async def test_replays(path: Path) -> None:
    """No history may be broken by a change: patch it, or version it."""
    history = WorkflowHistory.from_json("session/recorded", path.read_text())
    await replayer().replay_workflow(history)


async def test_a_history_that_differs_does_not_replay() -> None:
    """The test above can fail."""
    text = next(path for path in RECORDED if "plain" in path.stem).read_text()
    broken = text.replace("model_round", "another_step")
    assert broken != text
    with pytest.raises(NondeterminismError):
        await replayer().replay_workflow(WorkflowHistory.from_json("session/recorded", broken))


def test_histories_are_recorded() -> None:
    """An empty folder would prove nothing."""
    assert len(RECORDED) >= 5
