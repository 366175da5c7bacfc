"""What a scripted model knows: the part of a request that belongs to the run being performed."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from turnwright.domain.errors import ModelRejected
from turnwright.domain.messages import Message, ModelRequest

ASK_USER = "conversation_ask_user"
_PLACEHOLDER = re.compile(r"\{(answer|result:[^{}]+|[A-Za-z_]\w*)\}")


def invalid_script(detail: str) -> ModelRejected:
    """The error for a script, or a situation it does not fit, that `detail` describes."""
    return ModelRejected(f"scripted model: {detail}", label="invalid script")


@dataclass(frozen=True)
class Situation:
    """Everything a script may depend on. It follows from the request alone."""

    run_id: str
    round: int
    """The index of the round to perform, from 0."""
    trigger: str
    results: Mapping[str, str]
    """The latest result of each tool in this run, by the tool's name."""
    groups: Mapping[str, str]
    """The named groups of the playbook rule that was chosen."""

    def fill(self, text: str) -> str:
        """`text` with its placeholders replaced; braces that are no placeholder stay."""
        return _PLACEHOLDER.sub(lambda match: _as_text(self._value(match)), text)

    def fill_value(self, value: JsonValue) -> JsonValue:
        """`fill` inside JSON. A string that is one placeholder becomes its value, type included."""
        match value:
            case str():
                whole = _PLACEHOLDER.fullmatch(value)
                return self._value(whole) if whole else self.fill(value)
            case list():
                return [self.fill_value(item) for item in value]
            case dict():
                return self.fill_object(value)
            case _:
                return value

    def fill_object(self, value: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        return {key: self.fill_value(item) for key, item in value.items()}

    def _value(self, placeholder: re.Match[str]) -> JsonValue:
        name = placeholder.group(1)
        if name == "answer":
            return self._result(ASK_USER)
        if name.startswith("result:"):
            return self._result(name.removeprefix("result:"))
        return self.groups.get(name, placeholder.group())

    def _result(self, path: str) -> JsonValue:
        if path in self.results:
            return self.results[path]
        tool, _, fields = path.partition(".")
        if tool not in self.results:
            raise invalid_script(f"this run has no result of {tool!r} yet")
        try:
            value: JsonValue = json.loads(self.results[tool])
        except ValueError:
            raise invalid_script(f"the result of {tool!r} is not JSON") from None
        for field in fields.split("."):
            if not isinstance(value, dict) or field not in value:
                raise invalid_script(f"the result of {tool!r} has no field {fields!r}")
            value = value[field]
        return value


def read_situation(request: ModelRequest) -> Situation:
    """The situation in `request`, before any rule is chosen.

    The run is the last message's. Its trigger is its first user message, since injected ones come
    later; a run that was started on an older message has none of its own, and takes the last one
    before it.
    """
    if not request.messages:
        raise invalid_script("the conversation is empty")
    run_id = request.messages[-1].run_id
    own = [message for message in request.messages if message.run_id == run_id]
    return Situation(
        run_id=run_id,
        round=sum(message.role == "assistant" for message in own),
        trigger=_trigger(own, request.messages),
        results=_results(own),
        groups={},
    )


def _trigger(own: Sequence[Message], conversation: Sequence[Message]) -> str:
    for message in own:
        if message.role == "user":
            return message.text
    for message in reversed(conversation[: conversation.index(own[0])]):
        if message.role == "user":
            return message.text
    raise invalid_script("the conversation has no user message")


def _results(own: Sequence[Message]) -> dict[str, str]:
    names = {call.id: call.name for message in own for call in message.tool_calls}
    return {
        names.get(message.tool_call_id or "", message.name or ""): message.text
        for message in own
        if message.role == "tool"
    }


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
