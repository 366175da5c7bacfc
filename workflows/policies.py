"""Every timeout and retry of a run, by name, and why that number."""

from datetime import timedelta

from temporalio.common import RetryPolicy

TASK_TIMEOUT = timedelta(seconds=2)
"""A workflow task takes milliseconds. After a worker's death, and for a local activity that died
with it, this is how long recovery takes (the default is ten seconds)."""

STORE_TIMEOUT = timedelta(seconds=15)
"""One transaction, with the wait for its lock."""

STORE_RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=100), maximum_interval=timedelta(seconds=30)
)
"""The database comes back some time; the activities themselves end what is a fault of ours. Each
late attempt costs some six events of history: three days' worth fit."""

LOCAL_RETRY_THRESHOLD = timedelta(seconds=1)
"""Longer pauses between local attempts go through a timer: it survives the worker, and only in
such a pause can a worker be stopped that waits for the database."""

HEARTBEAT_TIMEOUT = timedelta(seconds=5)
"""How soon a worker's death in mid-round or mid-tool is noticed."""

ROUND_TIMEOUT = timedelta(minutes=30)
"""The longest a model may stream; the heartbeat notices death long before."""

ROUND_RETRY = RetryPolicy(
    initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=60)
)
"""For a provider that cannot answer now. `Retry-After` replaces the pause; the activity knows
when it was the last attempt (`activities.model_rounds.ATTEMPTS`)."""

TOOL_MARGIN = timedelta(seconds=30)
"""What a tool's activity gets beyond the tool's own timeout, to record the result."""

TOOL_DEFAULT_TIMEOUT = timedelta(seconds=300)
"""For a call whose tool is not known; it is refused within milliseconds."""

TOOL_RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=10)
)
"""After a worker's death. Whether the tool itself runs again is decided from the log."""

CANCEL_ARRIVES = timedelta(seconds=1)
"""How long an execution whose run was cancelled through the inbox waits for Temporal's cancel."""
