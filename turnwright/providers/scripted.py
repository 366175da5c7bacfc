"""`scripted:`, the built-in model: deterministic, offline, and without any state.

    scripted:echo           says what it was told
    scripted:script         performs the JSON script that is the run's trigger
    scripted:<path>.json    performs the playbook in that file, relative to the working directory
                            or, where it is not found, to the checkout

What it answers follows from the request alone, so a round attempted again answers the same, and
any process can go on with a run. It is used in benchmarks: it imports no model library.
"""

import asyncio
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import assert_never

from pydantic import ValidationError

from turnwright.domain.errors import (
    ContextOverflow,
    Invalid,
    ModelError,
    ModelRefused,
    ModelRejected,
    ModelUnavailable,
)
from turnwright.domain.messages import ModelRequest, ModelResponse, Opaque, ToolCall, Usage
from turnwright.providers.script import Playbook, Round, Script, ScriptedError
from turnwright.providers.situation import Situation, invalid_script, read_situation

PROVIDER = "scripted"
WRITER = "scripted 1"
CHECKOUT = Path(__file__).parents[2]
CHARACTERS_PER_TOKEN = 4
"""The usual rule of thumb for English text; scripts that need other numbers say so."""

_AFTER_THE_END = Round(text="Done.")
_WORD = re.compile(r"\s*\S+|\s+")


class ScriptedModel:
    """Performs scripts. The only effect it has is the journal a script asks for."""

    def check(self, name: str) -> None:
        """Raise `Invalid` unless `name` is a way of scripting. A playbook file is read later."""
        if name not in ("echo", "script") and not name.endswith(".json"):
            raise Invalid(f"scripted:{name} is unknown: echo, script, or the path of a .json file")

    async def respond(
        self, name: str, request: ModelRequest, on_text: Callable[[str], None]
    ) -> ModelResponse:
        situation = read_situation(request)
        plan, groups = _plan(name, situation)
        if plan.journal is not None:
            _note(plan.journal, situation, request.attempt)
        if name != "echo":
            plan = _filled(plan, replace(situation, groups=groups))
        for index, piece in enumerate(_pieces(plan.text, plan.pieces)):
            if index and plan.delay:
                await asyncio.sleep(plan.delay)
            on_text(piece)
        if plan.hang:
            await asyncio.Event().wait()
        if plan.error is not None and plan.error.fails(request.attempt):
            raise _failure(plan.error)
        return _response(plan, situation.round, request)

    async def close(self) -> None:
        """Nothing is held open."""


def _plan(name: str, situation: Situation) -> tuple[Round, Mapping[str, str]]:
    """The round to perform now, and the named groups of the rule that chose it."""
    groups: Mapping[str, str] = {}
    match name:
        case "echo":
            return Round(text=f"You said: {situation.trigger}"), groups
        case "script":
            rounds = _script(situation.trigger).rounds
        case _:
            rounds, groups = _playbook(name).choose(situation.trigger)
    within = situation.round < len(rounds)
    return (rounds[situation.round] if within else _AFTER_THE_END), groups


def _filled(plan: Round, situation: Situation) -> Round:
    calls = tuple(
        call.model_copy(
            update={
                "arguments": situation.fill(call.arguments)
                if isinstance(call.arguments, str)
                else situation.fill_object(call.arguments)
            }
        )
        for call in plan.calls
    )
    return plan.model_copy(update={"text": situation.fill(plan.text), "calls": calls})


def _script(trigger: str) -> Script:
    try:
        return Script.model_validate_json(trigger)
    except ValidationError as error:
        raise invalid_script(f"the trigger is not a valid script: {_first(error)}") from error


def _playbook(path: str) -> Playbook:
    try:
        return Playbook.model_validate_json(_found(Path(path)).read_bytes())
    except OSError as error:
        raise invalid_script(f"cannot read {path}: {error.strerror}") from error
    except ValidationError as error:
        raise invalid_script(f"{path} is not a valid playbook: {_first(error)}") from error


def _found(path: Path) -> Path:
    """The path as it is, or in the checkout: the examples work from wherever one stands."""
    return path if path.exists() else CHECKOUT / path


def _first(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, fault["loc"]))
    return f"{where}: {fault['msg']}" if where else fault["msg"]


def _note(journal: str, situation: Situation, attempt: int) -> None:
    path = Path(journal).resolve()
    # The script may be a caller's: it gets no say over the worker's other files.
    if not path.is_relative_to(Path(tempfile.gettempdir()).resolve()):
        raise invalid_script("a journal lies in the system's folder for temporary files")
    with path.open("a", encoding="utf-8") as lines:
        lines.write(f"{situation.run_id} {situation.round} {attempt}\n")


def _pieces(text: str, count: int | None) -> Iterator[str]:
    if count is None:
        yield from _WORD.findall(text)
    else:
        size = max(1, -(-len(text) // count))
        yield from (text[start : start + size] for start in range(0, len(text), size))


def _failure(error: ScriptedError) -> ModelError:
    detail, wait = f"scripted model: {error.kind}", error.retry_after
    match error.kind:
        case "unavailable":
            return ModelUnavailable(detail, label="scripted: unavailable", retry_after=wait)
        case "rejected":
            return ModelRejected(detail, label="scripted: rejected", retry_after=wait)
        case "refused":
            return ModelRefused(detail, label="scripted: refused", retry_after=wait)
        case "overflow":
            return ContextOverflow(detail, label="scripted: context overflow", retry_after=wait)
        case kind:
            assert_never(kind)


def _response(plan: Round, round_index: int, request: ModelRequest) -> ModelResponse:
    calls = tuple(
        ToolCall(
            id=call.id or f"call_{round_index}_{index}", name=call.name, arguments=call.arguments
        )
        for index, call in enumerate(plan.calls)
    )
    return ModelResponse(
        text=plan.text,
        tool_calls=calls,
        finish_reason="tool_calls" if calls else plan.finish_reason,
        usage=_usage(plan, calls, request),
        opaque=_opaque(plan),
    )


def _opaque(plan: Round) -> Opaque | None:
    if plan.reasoning is None:
        return None
    return Opaque(provider=PROVIDER, writer=WRITER, data={"reasoning": plan.reasoning})


def _usage(plan: Round, calls: tuple[ToolCall, ...], request: ModelRequest) -> Usage:
    if plan.usage is not None:
        return Usage(**plan.usage.model_dump())
    asked = len(request.instructions) + sum(
        len(message.text) + _size(message.tool_calls) for message in request.messages
    )
    asked += sum(
        len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters))
        for tool in request.tools
    )
    return Usage(
        input_tokens=asked // CHARACTERS_PER_TOKEN,
        output_tokens=(len(plan.text) + _size(calls)) // CHARACTERS_PER_TOKEN,
    )


def _size(calls: tuple[ToolCall, ...]) -> int:
    return sum(len(call.name) + len(json.dumps(call.arguments)) for call in calls)
