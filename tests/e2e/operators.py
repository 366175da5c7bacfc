"""What an operator sees of a run in Temporal, without the keys to any payload."""

import asyncio
from collections.abc import Iterator

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload, SearchAttributes
from temporalio.api.history.v1 import HistoryEvent, MarkerRecordedEventAttributes
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import Client, WorkflowExecution, WorkflowHandle

from tests.support.app import PATIENCE, Json
from turnwright import search_attributes as sa

Handle = WorkflowHandle[object, object]


def handle_of(client: Client, run: Json) -> Handle:
    """The execution that the run says is its own."""
    place = run["temporal"]
    return client.get_workflow_handle(place["workflow_id"], run_id=place["execution_id"])


async def listed(client: Client, query: str) -> WorkflowExecution:
    """The one execution that a list query finds, as soon as the listing knows it."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if found := [execution async for execution in client.list_workflows(query)]:
                [only] = found
                return only
            await asyncio.sleep(0.05)


async def shows(handle: Handle, status: str) -> None:
    """Return once the search attribute `TurnwrightStatus` says so; the log says it just before."""
    async with asyncio.timeout(PATIENCE):
        while (await handle.describe()).typed_search_attributes.get(sa.STATUS) != status:
            await asyncio.sleep(0.05)


async def current_details(handle: Handle) -> str:
    """What the Temporal UI shows as the execution's current details."""
    metadata = await handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
    return str(metadata.current_details)


async def history_of(handle: Handle) -> list[HistoryEvent]:
    """The execution's events, as the server has them."""
    return [event async for event in handle.fetch_history_events()]


def payloads(message: Message) -> Iterator[Payload]:
    """Every payload in it, whoever wrote it, but two kinds that no codec gets to see.

    Search attributes, which the server has to read; and the SDK's own note of when a local
    activity ran and under which name.
    """
    if isinstance(message, MarkerRecordedEventAttributes):
        message = _without_the_sdks_note(message)
    for field, value in message.ListFields():
        if field.message_type is None or isinstance(value, SearchAttributes):
            continue
        is_map = field.message_type.GetOptions().map_entry
        if is_map:
            inner = [item for item in value.values() if isinstance(item, Message)]
        elif isinstance(value, Message):
            inner = [value]
        else:
            inner = list(value)
        for item in inner:
            if isinstance(item, Payload):
                yield item
            else:
                yield from payloads(item)


def _without_the_sdks_note(marker: MarkerRecordedEventAttributes) -> MarkerRecordedEventAttributes:
    rest = MarkerRecordedEventAttributes()
    rest.CopyFrom(marker)
    if rest.marker_name == "core_local_activity":
        del rest.details["data"]
    return rest
