"""Requests that change something: once under each Idempotency-Key, in one transaction."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Request, Response
from pydantic import BaseModel

from api.dependencies import CallerOf, IdempotencyKey, Parts
from api.errors import invalid
from api.parts import ApiParts
from turnwright.domain.errors import NotFound, Refused, SessionBusy, SessionNotAwaitingUser
from turnwright.executions import AWAY
from turnwright.keys import Caller
from turnwright.store import idempotency
from turnwright.store.engine import Tx
from turnwright.store.pending import waiting_handoffs
from turnwright.store.reading import require_session
from turnwright.store.run_rows import get_run

MENDING: Final = 1.0
"""Seconds that a refused request waits for Temporal to say what became of an execution."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a mutation answers.

    `session_id`: the session whose erasure forgets this answer.
    """

    status: int
    body: BaseModel | None = None
    session_id: str | None = None


@dataclass(frozen=True)
class Mutation:
    """One mutating request of one caller."""

    parts: ApiParts
    caller: Caller
    request: Request
    key: str | None

    async def perform(self, act: Callable[[Tx], Done], *, target: bool = True) -> Response:
        """Act, or give the key's first answer again. `act` runs in the writing transaction.

        `target`: what the path names has to exist, whatever the key says. An act that is refused
        because of a run that an operator terminated settles that run, and is tried once more.
        """
        try:
            return await self._perform(act, target=target)
        except (SessionBusy, SessionNotAwaitingUser) as refused:
            if not await self._mended(refused):
                raise
        return await self._perform(act, target=target)

    async def _mended(self, refused: Refused) -> bool:
        """Whether what a request was refused for is no more: the run was terminated."""
        run_id = refused.extra.get("run_id")
        if run_id is None:
            return False
        try:
            run = await self.parts.database.read(get_run, run_id)
            return await self.parts.repair.settle_terminated(run, within=MENDING)
        except (*AWAY, TimeoutError, NotFound):
            return False

    async def _perform(self, act: Callable[[Tx], Done], *, target: bool) -> Response:
        asked = await self._asked()

        def answer(tx: Tx) -> idempotency.Answer:
            done = act(tx)
            body = "" if done.body is None else done.body.model_dump_json()
            return idempotency.Answer(status=done.status, body=body, session_id=done.session_id)

        def work(tx: Tx) -> idempotency.Answer:
            if target and asked.key is not None:
                self._check_target(tx)
            return idempotency.answer_once(tx, asked, answer)

        given = await self.parts.database.write(work)
        if given.replayed:
            await self._remind(given)
        return _response(given)

    async def _asked(self) -> idempotency.Request:
        body = await self.request.json() if await self.request.body() else None
        # The path names route and target, and all that is in it was checked.
        what = json.dumps([self.request.method, self.request.url.path, body], sort_keys=True)
        return idempotency.Request(
            tenant=self.caller.tenant,
            key=self.key,
            fingerprint=hashlib.sha256(what.encode()).hexdigest(),
        )

    def _check_target(self, tx: Tx) -> None:
        """Raise `NotFound` for ids in the path before the key is looked at."""
        path = self.request.path_params
        if "session_id" in path:
            require_session(tx, path["session_id"], tenant=self.caller.tenant)
        if "run_id" in path:
            get_run(tx, path["run_id"], tenant=self.caller.tenant)

    async def _remind(self, given: idempotency.Answer) -> None:
        """Whoever repeats a request may do so because nothing came of the first."""
        if given.session_id is None:
            return
        self.parts.dispatcher.take(
            await self.parts.database.read(waiting_handoffs, given.session_id)
        )


async def mutation(
    request: Request, parts: Parts, caller: CallerOf, idempotency_key: IdempotencyKey = None
) -> Mutation:
    """The mutation that a request asks for. Raises `Invalid` for a repeated key."""
    if len(request.headers.getlist("idempotency-key")) > 1:
        fault = {"loc": ["header", "Idempotency-Key"], "msg": "is given more than once"}
        raise invalid([fault])
    return Mutation(parts, caller, request, idempotency_key)


Mutating = Annotated[Mutation, Depends(mutation)]


def _response(given: idempotency.Answer) -> Response:
    headers = {"Idempotency-Replayed": "true"} if given.replayed else {}
    if not given.body:
        return Response(status_code=given.status, headers=headers)
    return Response(given.body, given.status, headers, "application/json")
