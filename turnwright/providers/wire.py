"""One round with a provider over the network: request, stream, response, errors."""

from collections.abc import AsyncIterable, AsyncIterator, Callable

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)

from turnwright.domain import messages as neutral
from turnwright.providers.answer import to_neutral
from turnwright.providers.clients import open_client
from turnwright.providers.connections import closing_responses
from turnwright.providers.conversation import parameters, to_wire
from turnwright.providers.failures import classify
from turnwright.providers.lazy import WireProvider
from turnwright.providers.storable import storable_text


class WireModel:
    """A provider's client. Every request is one attempt; every failure is a `ModelError`."""

    def __init__(self, provider: WireProvider) -> None:
        """Raises `ModelRejected` when the provider's key is not in the environment."""
        self._provider = provider
        self._client = open_client(provider)

    async def respond(
        self, name: str, request: neutral.ModelRequest, on_text: Callable[[str], None]
    ) -> neutral.ModelResponse:
        pieces: list[str] = []
        try:
            response = await self._ask(name, request, pieces, on_text)
        except Exception as error:
            raise classify(error) from error
        return to_neutral(self._provider, request, response, "".join(pieces))

    async def close(self) -> None:
        await self._client.http.aclose()

    async def _ask(
        self,
        name: str,
        request: neutral.ModelRequest,
        pieces: list[str],
        on_text: Callable[[str], None],
    ) -> ModelResponse:
        """The complete response; its stream is closed in any case, also when cancelled."""
        async with (
            closing_responses(),
            model_request_stream(
                self._client.model(name),
                to_wire(self._provider, request),
                model_settings=self._client.settings,
                model_request_parameters=parameters(request),
            ) as stream,
        ):
            async for text in _texts(stream):
                piece = storable_text(text)
                pieces.append(piece)
                on_text(piece)
            return stream.get()


async def _texts(events: AsyncIterable[ModelResponseStreamEvent]) -> AsyncIterator[str]:
    """The answer's text as it comes. Thinking is no text."""
    async for event in events:
        match event:
            case PartStartEvent(part=TextPart(content=text)) if text:
                yield text
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                yield text
            case _:
                pass
