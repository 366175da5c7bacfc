"""Runs driven through the store by hand, as the activities would."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Table, func, insert, select

from turnwright.domain.deciding import Settle
from turnwright.domain.errors import TurnwrightError
from turnwright.domain.events import Event, QuestionAsked, ToolReturned, decode
from turnwright.domain.messages import ModelResponse, Opaque, ToolCall, Usage
from turnwright.domain.ports import Owner, Recorded
from turnwright.domain.run import Limits, Run, RunStatus
from turnwright.domain.sessions import Accepted, AgentChoice, Mode, UserInput
from turnwright.domain.turn import Asked
from turnwright.store.admission import accept_answer, accept_message
from turnwright.store.engine import Database, Tx
from turnwright.store.event_log import read_events
from turnwright.store.run_rows import get_run
from turnwright.store.runs import RunStore
from turnwright.store.sessions import NewSession, create_session
from turnwright.store.tables import metadata

T = TypeVar("T")

TENANT = "acme"
ASK = "conversation.ask_user"


def choose(name: str) -> AgentChoice:
    """An agent of any name."""
    return AgentChoice(actor=name, version="1", model="scripted:echo", limits=Limits())


def response(text: str = "", *calls: tuple[str, str], opaque: bool = False) -> ModelResponse:
    """What a model answered; calls by id and name."""
    return ModelResponse(
        text=text,
        tool_calls=tuple(ToolCall(id=i, name=name, arguments={"of": i}) for i, name in calls),
        finish_reason="tool_calls" if calls else "stop",
        usage=Usage(input_tokens=9, output_tokens=1, cost_usd=0.1),
        opaque=Opaque(provider="p", writer="1", data={"sealed": text}) if opaque else None,
    )


def result(call_id: str, content: str = "seen") -> ToolReturned:
    """What a tool returned."""
    return ToolReturned(
        tool_call_id=call_id, name="look", outcome="ok", content=content, bytes=len(content)
    )


def asked_in(recorded: Recorded) -> Asked:
    """The question that a step put."""
    (data,) = (data for x in recorded.log if isinstance(data := decode(x), QuestionAsked))
    return Asked(call_id=data.tool_call_id, question_id=data.question_id, deadline=data.deadline)


@dataclass
class Bench:
    """A store, and its runs' steps in few words. The execution is `execution-1` unless told."""

    database: Database
    runs: RunStore = field(init=False)

    def __post_init__(self) -> None:
        self.runs = RunStore(self.database)

    async def session(self, mode: Mode = "conversation") -> str:
        new = NewSession(tenant=TENANT, agent="assistant", mode=mode, room="lab")
        return (await self.database.write(create_session, new)).id

    async def say(self, session_id: str, text: str = "Hello") -> Accepted:
        return await self.database.write(
            accept_message, session_id, UserInput(text=text), tenant=TENANT, choose=choose
        )

    async def started(self, session_id: str | None = None, text: str = "Hello") -> Owner:
        """A run that an execution has opened."""
        accepted = await self.say(session_id or await self.session(), text)
        owner = Owner(run_id=accepted.run.id, execution_id="execution-1")
        await self.runs.open(owner)
        return owner

    async def round(
        self, owner: Owner, number: int, answer: ModelResponse, *, allow_empty: bool = False
    ) -> Recorded:
        """A model round, begun and finished."""
        work = await self.runs.begin_round(owner, number)
        return await self.runs.finish_round(
            owner, number, answer, message_id=work.message_id, allow_empty=allow_empty
        )

    async def asked(
        self, choices: Sequence[str] | None = None, session_id: str | None = None
    ) -> tuple[Owner, Asked]:
        """A run that waits for the user."""
        owner = await self.started(session_id)
        await self.round(owner, 1, response("Well", ("c1", ASK)))
        return owner, asked_in(
            await self.runs.ask(owner, "c1", text="Which?", choices=choices, within=None)
        )

    async def answer(
        self,
        owner: Owner,
        text: str | None = None,
        *,
        choice: str | None = None,
        question_id: str | None = None,
        through: Database | None = None,
    ) -> Accepted:
        return await (through or self.database).write(
            accept_answer,
            owner.run_id,
            tenant=TENANT,
            author=None,
            text=text,
            choice=choice,
            question_id=question_id,
        )

    async def settle(self, owner: Owner, status: RunStatus) -> Run:
        return (await self.runs.settle(owner, Settle(status=status))).run

    async def take(self, owner: Owner) -> Recorded:
        """What was accepted for the run, taken into its log."""
        return await self.runs.take(owner, after=(await self.run(owner)).last_sequence)

    async def run(self, owner: Owner) -> Run:
        return await self.database.read(get_run, owner.run_id)

    async def log(self, owner: Owner) -> list[Event]:
        return await self.database.read(read_events, run_id=owner.run_id)

    async def types(self, owner: Owner) -> list[str]:
        return [event.type for event in await self.log(owner)]

    async def everything(self) -> dict[str, list[Any]]:
        """Every row of every table."""
        return await self.database.read(_everything)


def _everything(tx: Tx) -> dict[str, list[Any]]:
    return {
        table.name: sorted(tx.connection.execute(select(table)).all(), key=str)
        for table in metadata.sorted_tables
    }


def count(tx: Tx, table: Table) -> int:
    """How many rows there are."""
    return tx.connection.scalar(select(func.count()).select_from(table)) or 0


def put(tx: Tx, table: Table, /, **values: object) -> None:
    """A row, past every lock and check of ours."""
    tx.connection.execute(insert(table).values(values))


async def outcome(of: Awaitable[T]) -> T | TurnwrightError:
    """What came of it: the value, or the error of ours."""
    try:
        return await of
    except TurnwrightError as error:
        return error
