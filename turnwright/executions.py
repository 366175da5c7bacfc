"""Temporal as Turnwright uses it: connecting, starting runs, waking them, looking at them."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

import structlog
from temporalio.client import Client, TLSConfig, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import (
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDConflictPolicy,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode, ServiceClient

from activities.inputs import InputRef, RunInput
from turnwright import search_attributes as sa
from turnwright.domain.ids import workflow_id
from turnwright.domain.run import Run, RunStatus
from turnwright.encryption import data_converter
from turnwright.settings import Settings
from workflows.policies import TASK_TIMEOUT
from workflows.run import RunWorkflow
from workflows.visibility import RUN_MEMO

log = structlog.get_logger()

RPC_TIMEOUT: Final = timedelta(seconds=5)
AWAY: Final = (RPCError, RuntimeError)
"""What a call raises while Temporal cannot be reached: a client that was never connected yet
raises the SDK's `RuntimeError`."""


class Start(StrEnum):
    """What came of starting a run's execution."""

    STARTED = "started"
    RUNNING = "running"
    """It was started already."""
    REFUSED = "refused"
    """The execution of another run holds the session's workflow id."""


@dataclass(frozen=True)
class Holder:
    """The latest execution under a session's workflow id."""

    execution_id: str
    run_id: str | None
    open: bool
    terminated_at: datetime | None = None
    """When somebody terminated it, if somebody did."""
    failed_at: datetime | None = None
    """When it failed, if it did."""


async def connect(settings: Settings, *, lazy: bool = False) -> Client:
    """A client of the Temporal that the settings name. Lazy: it need not be there yet."""
    tls: bool | TLSConfig = settings.uses_tls
    if settings.temporal_tls_ca or settings.temporal_tls_cert or settings.temporal_tls_server_name:
        ca, cert, key = (
            path.read_bytes() if path else None
            for path in (
                settings.temporal_tls_ca,
                settings.temporal_tls_cert,
                settings.temporal_tls_key,
            )
        )
        tls = TLSConfig(
            server_root_ca_cert=ca,
            domain=settings.temporal_tls_server_name,
            client_cert=cert,
            client_private_key=key,
        )
    key_setting = settings.temporal_api_key
    return await Client.connect(
        settings.temporal_address,
        namespace=settings.temporal_namespace,
        api_key=key_setting.get_secret_value() if key_setting else None,
        tls=tls,
        data_converter=data_converter(settings.payload_keys),
        lazy=lazy,
    )


async def eager(client: Client) -> Client:
    """The same client, connected: workers refuse one that was made lazily. Raises `RuntimeError`."""
    service = client.service_client
    if not service.config.lazy:
        return client
    config = client.config()
    config["service_client"] = await ServiceClient.connect(replace(service.config, lazy=False))
    return Client(**config)


@dataclass
class Executions:
    """The executions of runs. `turnwright.domain.ports.Executions`, and what the API needs."""

    client: Client
    task_queue: str
    public_url: str | None = None
    """Where people find the API, for links in the Temporal UI."""
    searchable: bool = True
    """Whether to start runs with search attributes; off once Temporal has said it has none."""

    async def start(self, run: Run) -> Start:
        """Start the run's execution, unless it has one. Raises `RPCError`."""
        try:
            return await self._start(run)
        except RPCError as error:
            if not (self.searchable and error.status is RPCStatusCode.INVALID_ARGUMENT):
                raise
            log.warning(
                "search_attributes_missing",
                mend="run `turnwright migrate`, then restart API and workers",
            )
            self.searchable = False
            return await self._start(run)

    async def _start(self, run: Run) -> Start:
        link = f"{self.public_url}/v1/runs/{run.id}" if self.public_url else None
        try:
            await self.client.start_workflow(
                RunWorkflow.run,
                RunInput(
                    run_id=run.id,
                    session_id=run.session_id,
                    actor=run.actor,
                    link=link,
                    searchable=self.searchable,
                ),
                id=workflow_id(run.session_id),
                task_queue=self.task_queue,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                task_timeout=TASK_TIMEOUT,
                memo={RUN_MEMO: run.id},
                search_attributes=_attributes(run) if self.searchable else None,
                static_summary=f"{run.actor}: {run.id}",
                rpc_timeout=RPC_TIMEOUT,
            )
        except WorkflowAlreadyStartedError:
            holder = await self.holder(run.session_id)
            same = holder is not None and holder.run_id == run.id
            return Start.RUNNING if same else Start.REFUSED
        return Start.STARTED

    async def wake(self, session_id: str, message_id: str) -> bool:
        """Signal that an answer is in the inbox. False if there is nobody to tell."""
        handle = self.client.get_workflow_handle(workflow_id(session_id))
        try:
            await handle.signal(
                RunWorkflow.deliver, InputRef(message_id=message_id), rpc_timeout=RPC_TIMEOUT
            )
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            raise
        return True

    async def cancel(self, run: Run) -> bool:
        """Ask the run's open execution, and no other, to cancel. False if it has none.

        Asking twice is harmless. Raises `RPCError`.
        """
        holder = await self.holder(run.session_id)
        if holder is None or not holder.open or holder.run_id != run.id:
            return False
        try:
            await self._execution(run.session_id, holder).cancel(rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            raise
        return True

    async def holder(self, session_id: str) -> Holder | None:
        """The latest execution under the session's workflow id; None if there is none."""
        handle = self.client.get_workflow_handle(workflow_id(session_id))
        try:
            description = await handle.describe(rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise
        status, closed = description.status, description.close_time
        return Holder(
            execution_id=description.run_id,
            run_id=await description.memo_value(RUN_MEMO, None, type_hint=str),
            open=status is WorkflowExecutionStatus.RUNNING,
            terminated_at=closed if status is WorkflowExecutionStatus.TERMINATED else None,
            failed_at=closed if status is WorkflowExecutionStatus.FAILED else None,
        )

    async def is_current(self, session_id: str, execution_id: str) -> bool:
        """Whether this is the open execution under the session's workflow id."""
        holder = await self.holder(session_id)
        return holder is not None and holder.open and holder.execution_id == execution_id

    async def dismiss(self, session_id: str, holder: Holder) -> None:
        """Terminate an execution whose run has ended without it."""
        await self._execution(session_id, holder).terminate(
            reason="its run has ended", rpc_timeout=RPC_TIMEOUT
        )

    def _execution(self, session_id: str, holder: Holder) -> WorkflowHandle[Any, Any]:
        """That execution: not whichever is the latest under the session's workflow id."""
        return self.client.get_workflow_handle(workflow_id(session_id), run_id=holder.execution_id)


def _attributes(run: Run) -> TypedSearchAttributes:
    pairs = [
        SearchAttributePair(sa.SESSION, run.session_id),
        SearchAttributePair(sa.RUN, run.id),
        SearchAttributePair(sa.ACTOR, run.actor),
        SearchAttributePair(sa.STATUS, RunStatus.RUNNING.value),
    ]
    if run.room is not None:
        pairs.append(SearchAttributePair(sa.ROOM, run.room))
    return TypedSearchAttributes(pairs)
