"""What an agent is: a frozen definition, checked where it is written."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, ValidationError, create_model

from turnwright.domain.run import Limits
from turnwright.tools.errors import DefinitionError
from turnwright.tools.function import FunctionTool
from turnwright.tools.names import CONTROL_TOOLS, wire_name

AgentName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
ModelName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*:\S+$")]
"""`provider:name`."""
Text = Annotated[str, Field(min_length=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
OnLimit = Literal["fail", "wait", "wrap_up"]
OnAskTimeout = Literal["fail", "continue"]


@dataclass(frozen=True)
class MCPServer:
    """A Model Context Protocol server whose tools an agent may use.

    Either a `command` to start (with `args` and `env`), or the `url` of one that runs (with
    `headers`). `name` becomes the first part of its tools' names.
    """

    command: str | None = None
    _: KW_ONLY
    args: Sequence[str] = ()
    env: dict[str, str] | None = field(default=None, repr=False)
    url: str | None = None
    headers: dict[str, str] | None = field(default=None, repr=False)
    name: str | None = None

    def __post_init__(self) -> None:
        if (self.command is None) == (self.url is None):
            raise DefinitionError("MCPServer takes either a command or a url")
        if isinstance(self.args, str):
            raise DefinitionError("MCPServer: args is a list of strings, not one string")


AnyTool = FunctionTool[..., object]
ToolSource = AnyTool | MCPServer


@dataclass(frozen=True)
class Agent:
    """A named, versioned definition: instructions, model, tools, policies, limits.

    Lists become tuples. Raises `DefinitionError` naming everything that is wrong at once.
    """

    name: AgentName
    _: KW_ONLY
    instructions: str
    model: str | Sequence[str]
    """`provider:name`, or a list of them: a fallback chain."""
    version: Text = "1"
    description: str | None = None
    tools: Sequence[ToolSource] = ()
    can_ask_user: bool = False
    can_sleep: bool = False
    delegates_to: Sequence[AgentName] = ()
    limits: Limits = field(default_factory=Limits)
    on_limit: OnLimit = "fail"
    context_tokens: Annotated[int, Field(ge=1)] | None = None
    ask_timeout: Seconds | None = None
    """Seconds a question stays open; None is for ever."""
    on_ask_timeout: OnAskTimeout = "fail"
    approval_timeout: Seconds | None = None
    allow_empty: bool = False
    """Whether a turn may end without a text."""
    compatible_with: Sequence[Text] = ()
    """Older versions whose unfinished runs this one may carry on."""

    def __post_init__(self) -> None:
        problems = [*_wrong_fields(self), *_wrong_tools(self.tools)]
        if problems:
            raise DefinitionError(f"agent {self.name!r}: " + "; ".join(problems))
        for name in ("tools", "delegates_to", "compatible_with"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not isinstance(self.model, str):
            object.__setattr__(self, "model", tuple(self.model))

    @property
    def models(self) -> tuple[str, ...]:
        """The fallback chain, the model of choice first."""
        return (self.model,) if isinstance(self.model, str) else tuple(self.model)

    @property
    def functions(self) -> tuple[AnyTool, ...]:
        """The tools that are Python functions."""
        return tuple(tool for tool in self.tools if isinstance(tool, FunctionTool))

    def carries_on(self, version: str) -> bool:
        """Whether a run that started on `version` may go on with this definition."""
        return version == self.version or version in self.compatible_with


def unsupported(agent: Agent) -> list[str]:
    """What the agent asks for and this version cannot do yet, a line each.

    An agent for which there is any must not be started: it would behave otherwise than it says.
    """
    asked_for = [
        ("MCP tool sources are", any(isinstance(source, MCPServer) for source in agent.tools)),
        ("a chain of models is", len(agent.models) > 1),
        ("delegates_to is", bool(agent.delegates_to)),
        ("context_tokens is", agent.context_tokens is not None),
    ]
    return [f"{what} not supported by this version" for what, asked in asked_for if asked]


def _checks() -> type[BaseModel]:
    fields: dict[str, Any] = {
        name: (hint, ...)
        for name, hint in get_type_hints(Agent, include_extras=True).items()
        if name not in ("_", "tools")
    }
    fields["model"] = (Annotated[Sequence[ModelName], Field(min_length=1)], ...)
    fields["limits"] = (InstanceOf[Limits], ...)
    return create_model("Agent", __config__=ConfigDict(strict=True), **fields)


_CHECKS = _checks()
"""The types above, checked."""


def _wrong_fields(agent: Agent) -> list[str]:
    values = {name: getattr(agent, name) for name in _CHECKS.model_fields}
    if isinstance(agent.model, str):
        values["model"] = [agent.model]
    try:
        _CHECKS.model_validate(values)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False)
        return [f"{fault['loc'][0]}: {fault['msg']}, not {fault['input']!r}" for fault in faults]
    return []


def _wrong_tools(tools: object) -> list[str]:
    if not isinstance(tools, list | tuple):
        return [f"tools: a list, not {tools!r}"]
    problems: list[str] = []
    owners = {wire_name(name): name for name in CONTROL_TOOLS}
    for source in tools:
        match source:
            case MCPServer():
                continue
            case FunctionTool(name=name):
                if (owner := owners.get(wire_name(name))) is not None:
                    problems.append(f"tools: models cannot tell {name!r} from {owner!r}")
                owners[wire_name(name)] = name
            case _ if callable(source):
                name = getattr(source, "__name__", repr(source))
                problems.append(f"tools: {name} is a plain function; put @tool on it")
            case _:
                problems.append(f"tools: {source!r} is no tool")
    return problems
