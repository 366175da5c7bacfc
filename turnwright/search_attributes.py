"""By what an operator finds a run in the Temporal UI."""

from typing import Final

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.client import Client
from temporalio.common import SearchAttributeKey
from temporalio.service import RPCError, RPCStatusCode

SESSION: Final = SearchAttributeKey.for_keyword("TurnwrightSession")
RUN: Final = SearchAttributeKey.for_keyword("TurnwrightRun")
ACTOR: Final = SearchAttributeKey.for_keyword("TurnwrightActor")
ROOM: Final = SearchAttributeKey.for_keyword("TurnwrightRoom")
STATUS: Final = SearchAttributeKey.for_keyword("TurnwrightStatus")

ALL: Final = (SESSION, RUN, ACTOR, ROOM, STATUS)

_NOT_OURS_TO_DO = frozenset(
    {
        RPCStatusCode.PERMISSION_DENIED,
        RPCStatusCode.UNAUTHENTICATED,
        RPCStatusCode.UNIMPLEMENTED,  # Temporal Cloud has its own way
        RPCStatusCode.INVALID_ARGUMENT,  # an SQL visibility store takes ten keywords at most
    }
)


class SearchAttributesRefusedError(Exception):
    """This Temporal does not let us register search attributes. The message says what to do."""


async def missing_search_attributes(client: Client) -> tuple[str, ...]:
    """The names that the client's namespace does not know yet."""
    found = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    return tuple(key.name for key in ALL if key.name not in found.custom_attributes)


async def register_search_attributes(client: Client) -> None:
    """Make the client's namespace know all of `ALL`. Repeats are harmless.

    Raises `SearchAttributesRefusedError` where Temporal will not do it for us; runs then work
    all the same, but must be started without them.
    """
    try:
        missing = await missing_search_attributes(client)
        if missing:
            await client.operator_service.add_search_attributes(
                AddSearchAttributesRequest(
                    namespace=client.namespace,
                    search_attributes=dict.fromkeys(
                        missing, IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
                    ),
                )
            )
    except RPCError as error:
        if error.status not in _NOT_OURS_TO_DO:
            raise
        names = ", ".join(key.name for key in ALL)
        raise SearchAttributesRefusedError(
            f"Temporal refused to register search attributes ({error.status.name}): have its"
            f" administrator add {names}, each of type Keyword, to namespace {client.namespace}"
        ) from error
