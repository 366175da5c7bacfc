"""What activities need of the outside, each named for its role. Adapters are wired at the roots."""

from collections.abc import Callable, Sequence
from typing import Protocol

from turnwright.domain.base import Frozen
from turnwright.domain.events import Event, ToolCalled, ToolReturned
from turnwright.domain.messages import Message, ModelRequest, ModelResponse
from turnwright.domain.run import Failure, Run
from turnwright.domain.turn import Answered, Asked, Ended, Settle


class Models(Protocol):
    """The model providers, behind one way of asking."""

    def check(self, model: str) -> None:
        """Raise `Invalid` unless `model` is `provider:name` of a provider that exists."""

    async def respond(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelResponse:
        """One complete round. `on_text` gets each piece of the answer's text as it arrives.

        The pieces joined are the response's `text`. Cancelling the task closes the provider's
        stream. Raises only subclasses of `ModelError`; a stream that was cut short is
        `ModelUnavailable`, never a short answer.
        """


class Owner(Frozen):
    """Who may write a run: the row's owner claims to be execution `execution_id`."""

    run_id: str
    execution_id: str


class Opened(Frozen):
    """A run as an execution finds it when it opens it."""

    run: Run
    log: tuple[Event, ...]


class RoundWork(Frozen):
    """What a model round has to work with. `done` is the run's log if the round is in it."""

    run: Run
    messages: tuple[Message, ...] = ()
    message_id: str = ""
    """The id that the round's text has, in its live deltas already."""
    done: Opened | None = None


class CallWork(Frozen):
    """A call: `attempt` counts its executions from 1; `returned` is its result if it has one."""

    run: Run
    called: ToolCalled
    attempt: int
    returned: ToolReturned | None = None


class Runs(Protocol):
    """The runs in the store, as the activities write them.

    Each method is one transaction. A step that is repeated finds its own record and returns it;
    otherwise, when `owner` no longer owns the run, it raises `Fenced` and writes nothing.
    """

    async def get(self, run_id: str) -> Run:
        """The run as it is. Raises `NotFound`."""

    async def get_call(self, run_id: str, call_id: str) -> ToolCalled:
        """What a call asks for. Raises `NotFound`."""

    async def open(self, owner: Owner, *, displaces: str | None = None) -> Opened:
        """Take the run over from nobody, or from `displaces`; start it if it is `starting`.

        Raises `Held` when another execution is its owner.
        """

    async def begin_round(self, owner: Owner, number: int) -> RoundWork:
        """Log `round.started`, and load what the round is to be asked with."""

    async def finish_round(
        self,
        owner: Owner,
        number: int,
        response: ModelResponse,
        *,
        message_id: str,
        allow_empty: bool,
    ) -> Opened:
        """Log the response. One without calls is the run's output, and ends it."""

    async def begin_call(self, owner: Owner, call_id: str, *, repeatable: bool) -> CallWork:
        """Log `tool.started`, unless the call has its result, or has begun and is not repeatable."""

    async def finish_call(
        self, owner: Owner, result: ToolReturned, *, whole: str | None = None
    ) -> ToolReturned:
        """Log the call's one result; `whole` is kept where the result was shortened."""

    async def ask(
        self, owner: Owner, call_id: str, *, text: str, choices: Sequence[str] | None
    ) -> Asked:
        """Log the question, and that the run waits for its answer."""

    async def resume(self, owner: Owner, asked: Asked) -> Answered | None:
        """Log the accepted answer, if there is one, and that the run goes on."""

    async def settle(self, owner: Owner, step: Settle) -> Ended:
        """End the run, with every open call and question settled before it."""

    async def fail(self, owner: Owner, failure: Failure) -> Ended:
        """End the run as failed, with a message that may quote what must stay out of Temporal."""


class LiveText(Protocol):
    """Text on its way to readers while a round streams. Losing it never loses a turn."""

    def round(self, run: Run, *, number: int, attempt: int, message_id: str) -> "LiveRound":
        """A channel for one attempt at one round."""

    def progress(self, run: Run, tool_call_id: str, name: str, text: str) -> None:
        """Show what a running tool says of its progress."""


class LiveRound(Protocol):
    """The text of one attempt at one round, as it arrives."""

    def write(self, text: str) -> None:
        """Show one more piece."""

    async def close(self) -> None:
        """Show nothing more: the round is in the log, or its attempt has failed."""


class Executions(Protocol):
    """The Temporal executions, as far as the store's owner needs them."""

    async def is_current(self, session_id: str, execution_id: str) -> bool:
        """Whether this is the open execution of the session's workflow id."""
