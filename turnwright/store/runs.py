"""The runs as the activities write them: one transaction a method, each found again by its key."""

from collections.abc import Sequence
from datetime import datetime

from turnwright.domain.deciding import Settle
from turnwright.domain.events import RunWaiting, ToolCalled, ToolReturned
from turnwright.domain.messages import ModelResponse
from turnwright.domain.ports import CallWork, Owner, Recorded, RoundWork
from turnwright.domain.run import Failure, LimitName, Run, RunStatus
from turnwright.store import budgets, calls, rounds, waits
from turnwright.store.engine import Database, Tx
from turnwright.store.event_log import read_events
from turnwright.store.inputs import take
from turnwright.store.opening import open_run
from turnwright.store.run_rows import active_root, get_run, lock_run, recorded, since
from turnwright.store.settlement import failure_of, settle


class RunStore:
    """`turnwright.domain.ports.Runs` over a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, run_id: str) -> Run:
        return await self._database.read(get_run, run_id)

    async def active_root(self, session_id: str) -> Run | None:
        return await self._database.read(active_root, session_id)

    async def get_call(self, run_id: str, call_id: str) -> ToolCalled:
        return await self._database.read(calls.get_call, run_id, call_id)

    async def open(
        self, owner: Owner, *, displaces: str | None = None, reopens: bool = False
    ) -> Recorded:
        return await self._database.write(open_run, owner, displaces=displaces, reopens=reopens)

    async def take(
        self, owner: Owner, *, after: int, kinds: Sequence[str] | None = None
    ) -> Recorded:
        return await self._database.write(_take, owner, kinds, after)

    async def pass_time(
        self, owner: Owner, moment: datetime, *, goes_on: bool, after: int = 0
    ) -> Recorded:
        return await self._database.write(
            waits.pass_time, owner, moment, goes_on=goes_on, after=after
        )

    async def begin_round(
        self, owner: Owner, number: int, *, last: bool = False, after: int = 0
    ) -> RoundWork:
        return await self._database.write(rounds.begin_round, owner, number, last=last, after=after)

    async def finish_round(
        self,
        owner: Owner,
        number: int,
        response: ModelResponse,
        *,
        message_id: str,
        allow_empty: bool,
    ) -> Recorded:
        return await self._database.write(
            rounds.finish_round,
            owner,
            number,
            response,
            message_id=message_id,
            allow_empty=allow_empty,
        )

    async def begin_call(self, owner: Owner, call_id: str, *, repeatable: bool) -> CallWork:
        return await self._database.write(calls.begin_call, owner, call_id, repeatable=repeatable)

    async def finish_call(
        self, owner: Owner, result: ToolReturned, *, whole: str | None = None
    ) -> ToolReturned:
        return await self._database.write(calls.finish_call, owner, result, whole)

    async def ask(
        self,
        owner: Owner,
        call_id: str,
        *,
        text: str,
        choices: Sequence[str] | None,
        within: float | None = None,
    ) -> Recorded:
        return await self._database.write(waits.ask, owner, call_id, text, choices, within)

    async def request_approvals(
        self, owner: Owner, call_ids: Sequence[str], *, within: float | None
    ) -> Recorded:
        return await self._database.write(waits.request_approvals, owner, call_ids, within)

    async def sleep(self, owner: Owner, call_id: str, until: datetime) -> Recorded:
        return await self._database.write(waits.sleep, owner, call_id, until)

    async def await_budget(self, owner: Owner, limit: LimitName, *, after: int = 0) -> Recorded:
        return await self._database.write(budgets.await_budget, owner, limit, after=after)

    async def wrap_up(self, owner: Owner, limit: LimitName, *, after: int = 0) -> Recorded:
        return await self._database.write(budgets.wrap_up, owner, limit, after=after)

    async def reflect(self, owner: Owner) -> Recorded:
        return await self._database.write(budgets.reflect, owner)

    async def settle(
        self, owner: Owner, step: Settle, *, moment: datetime | None = None, after: int = 0
    ) -> Recorded:
        return await self._database.write(
            settle, owner, step, failure_of(step), moment=moment, after=after
        )

    async def fail(self, owner: Owner, failure: Failure) -> Recorded:
        step = Settle(status=RunStatus.FAILED, reason=failure.reason)
        return await self._database.write(settle, owner, step, failure)


def _take(tx: Tx, owner: Owner, kinds: Sequence[str] | None, after: int) -> Recorded:
    locked = lock_run(tx, owner)
    if not locked.run.status.active:
        return Recorded(run=locked.run)
    run, taken = take(tx, locked, locked.owned(), kinds=kinds)
    if after == 0 and (waits := read_events(tx, run_id=run.id, types=(RunWaiting.type,))):
        # Asked by an execution that began under the first version: it can only be waiting.
        return since(tx, run, waits[-1])
    return recorded(tx, locked, run, taken, after=after)
