"""The runs as the activities write them: one transaction a method, each found again by its key."""

from collections.abc import Sequence

from turnwright.domain.events import ToolCalled, ToolReturned
from turnwright.domain.messages import ModelResponse
from turnwright.domain.ports import CallWork, Opened, Owner, RoundWork
from turnwright.domain.run import Failure, Run, RunStatus
from turnwright.domain.turn import Answered, Asked, Ended, Settle
from turnwright.store.calls import begin_call, finish_call, get_call
from turnwright.store.engine import Database
from turnwright.store.opening import open_run
from turnwright.store.questions import ask, resume, settle
from turnwright.store.rounds import begin_round, finish_round
from turnwright.store.run_rows import get_run
from turnwright.store.settlement import failure_of


class RunStore:
    """`turnwright.domain.ports.Runs` over a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, run_id: str) -> Run:
        return await self._database.read(get_run, run_id)

    async def get_call(self, run_id: str, call_id: str) -> ToolCalled:
        return await self._database.read(get_call, run_id, call_id)

    async def open(self, owner: Owner, *, displaces: str | None = None) -> Opened:
        return await self._database.write(open_run, owner, displaces)

    async def begin_round(self, owner: Owner, number: int) -> RoundWork:
        return await self._database.write(begin_round, owner, number)

    async def finish_round(
        self,
        owner: Owner,
        number: int,
        response: ModelResponse,
        *,
        message_id: str,
        allow_empty: bool,
    ) -> Opened:
        return await self._database.write(
            finish_round,
            owner,
            number,
            response,
            message_id=message_id,
            allow_empty=allow_empty,
        )

    async def begin_call(self, owner: Owner, call_id: str, *, repeatable: bool) -> CallWork:
        return await self._database.write(begin_call, owner, call_id, repeatable=repeatable)

    async def finish_call(
        self, owner: Owner, result: ToolReturned, *, whole: str | None = None
    ) -> ToolReturned:
        return await self._database.write(finish_call, owner, result, whole)

    async def ask(
        self, owner: Owner, call_id: str, *, text: str, choices: Sequence[str] | None
    ) -> Asked:
        return await self._database.write(ask, owner, call_id, text, choices)

    async def resume(self, owner: Owner, asked: Asked) -> Answered | None:
        return await self._database.write(resume, owner, asked)

    async def settle(self, owner: Owner, step: Settle) -> Ended:
        return await self._database.write(settle, owner, step.status, failure_of(step))

    async def fail(self, owner: Owner, failure: Failure) -> Ended:
        return await self._database.write(settle, owner, RunStatus.FAILED, failure)
