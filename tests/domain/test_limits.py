"""When a limit keeps a run from going on."""

from datetime import timedelta

import pytest

from tests.domain import building as b
from turnwright.domain.evolve import fold
from turnwright.domain.limits import deadline_of, reached
from turnwright.domain.run import LIMITS, LimitName, Limits, RunUsage


@pytest.mark.parametrize(
    ("limit", "usage", "over"),
    [
        ("rounds", RunUsage(rounds=1), False),
        ("rounds", RunUsage(rounds=2), True),
        ("tool_calls", RunUsage(tool_calls=2), False),
        ("tool_calls", RunUsage(tool_calls=3), True),
        ("total_tokens", RunUsage(input_tokens=1), False),
        ("total_tokens", RunUsage(input_tokens=1, output_tokens=1), True),
        ("seconds", RunUsage(rounds=9), False),
    ],
)
def test_a_round_needs_some_left_and_a_batch_of_calls_must_fit(
    limit: LimitName, usage: RunUsage, *, over: bool
) -> None:
    limits = Limits(rounds=2, tool_calls=2, total_tokens=2, seconds=1)
    assert reached(limits, usage, limit) is over


@pytest.mark.parametrize("limit", LIMITS)
def test_what_is_unlimited_is_never_reached(limit: LimitName) -> None:
    limits = Limits(rounds=None, tool_calls=None, total_tokens=None, seconds=None)
    usage = RunUsage(rounds=10**9, tool_calls=10**9, input_tokens=10**12)
    assert not reached(limits, usage, limit)


def test_a_deadline_counts_from_the_start_of_the_run() -> None:
    started = b.started(limits=Limits(seconds=90))
    run = fold(b.Log().add("run_a", started))
    assert run.started_at is not None
    assert deadline_of(run) == run.started_at + timedelta(seconds=90)
    assert deadline_of(run.model_copy(update={"started_at": None})) is None
    assert deadline_of(run.model_copy(update={"limits": Limits()})) is None
