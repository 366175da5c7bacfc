"""What activities need of the outside, each named for its role. Adapters are wired at the roots."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from turnwright.domain.base import Frozen
from turnwright.domain.deciding import Settle
from turnwright.domain.events import Event, ToolCalled, ToolReturned
from turnwright.domain.messages import Message, ModelRequest, ModelResponse
from turnwright.domain.run import Failure, LimitName, Run


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


class Recorded(Frozen):
    """What a step put into the log, or had put there before, and the run as it then is."""

    run: Run
    log: tuple[Event, ...] = ()


class RoundWork(Frozen):
    """What a model round has to work with."""

    run: Run
    messages: tuple[Message, ...] = ()
    message_id: str = ""
    """The id that the round's text has, in its live deltas already."""
    instead: Recorded | None = None
    """Nothing is to be asked: the round is in the log, a limit is reached by failed attempts, or
    the run is to end."""


class CallWork(Frozen):
    """A call: `attempt` counts its executions from 1; `returned` is its result if it has one."""

    run: Run
    called: ToolCalled
    attempt: int
    returned: ToolReturned | None = None


class Runs(Protocol):
    """The runs in the store, as the activities write them.

    Each method is one transaction. A step that is repeated finds its own record and returns it;
    otherwise, when `owner` no longer owns the run, it raises `Fenced` and writes nothing. `after`
    is the sequence up to which the caller knows the log: what a lost attempt appended after it is
    returned too (0: unknown).
    """

    async def get(self, run_id: str) -> Run:
        """The run as it is. Raises `NotFound`."""

    async def get_call(self, run_id: str, call_id: str) -> ToolCalled:
        """What a call asks for. Raises `NotFound`."""

    async def open(
        self, owner: Owner, *, displaces: str | None = None, reopens: bool = False
    ) -> Recorded:
        """Take the run over from nobody, or from `displaces`; start it if it is `starting`.

        `reopens`: a failed run goes on, if it is its session's newest. All of the run's log.
        Raises `Held` when another execution is its owner.
        """

    async def active_root(self, session_id: str) -> Run | None:
        """The session's one active root run, if there is one."""

    async def take(
        self, owner: Owner, *, after: int, kinds: Sequence[str] | None = None
    ) -> Recorded:
        """Log what was accepted for the run: answers, decisions, steering, budget, cancel.

        While a round is streaming only budget: the rest is for what comes after it.
        """

    async def pass_time(
        self, owner: Owner, moment: datetime, *, goes_on: bool, after: int = 0
    ) -> Recorded:
        """Log what `moment` brings: a sleep that is over, a question or approval that expires.

        `goes_on`: a run whose question nobody answered goes on; else it is timed out.
        """

    async def begin_round(
        self, owner: Owner, number: int, *, last: bool = False, after: int = 0
    ) -> RoundWork:
        """Log `round.started`, and load what the round is to be asked with.

        The `last` one is asked beyond the limit of rounds.
        """

    async def finish_round(
        self,
        owner: Owner,
        number: int,
        response: ModelResponse,
        *,
        message_id: str,
        allow_empty: bool,
    ) -> Recorded:
        """Log the response. One without calls is the run's output, and ends it.

        Unless text was accepted meanwhile: that gets another round.
        """

    async def begin_call(self, owner: Owner, call_id: str, *, repeatable: bool) -> CallWork:
        """Log `tool.started`, unless the call has its result, or has begun and is not repeatable."""

    async def finish_call(
        self, owner: Owner, result: ToolReturned, *, whole: str | None = None
    ) -> ToolReturned:
        """Log the call's one result; `whole` is kept where the result was shortened."""

    async def ask(
        self,
        owner: Owner,
        call_id: str,
        *,
        text: str,
        choices: Sequence[str] | None,
        within: float | None,
    ) -> Recorded:
        """Log the question, and that the run waits for its answer, `within` seconds at most."""

    async def request_approvals(
        self, owner: Owner, call_ids: Sequence[str], *, within: float | None
    ) -> Recorded:
        """Log that these calls need a person's decision, and that the run waits for it."""

    async def sleep(self, owner: Owner, call_id: str, until: datetime) -> Recorded:
        """Log that the run sleeps."""

    async def await_budget(self, owner: Owner, limit: LimitName, *, after: int = 0) -> Recorded:
        """Log that the run waits for more of this limit, unless it was given more meanwhile."""

    async def wrap_up(self, owner: Owner, limit: LimitName, *, after: int = 0) -> Recorded:
        """Log that the model is told to come to an end, and results for the calls it asked for."""

    async def reflect(self, owner: Owner) -> Recorded:
        """Log that the model is told that it repeats itself."""

    async def settle(
        self, owner: Owner, step: Settle, *, moment: datetime | None = None, after: int = 0
    ) -> Recorded:
        """End the run, with every open call, question and approval settled before it.

        Not if what was accepted meanwhile lets it go on: more of the limit it ends for, or a
        deadline that is later than `moment`.
        """

    async def fail(self, owner: Owner, failure: Failure) -> Recorded:
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
