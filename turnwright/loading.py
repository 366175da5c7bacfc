"""Loading the modules in which authors define their agents (`TURNWRIGHT_AGENTS`)."""

import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from turnwright.agents import Agent, unsupported
from turnwright.domain.errors import TurnwrightError


class AgentsError(TurnwrightError):
    """The agents cannot be loaded. The text is one line that says where and why."""


class AgentUnavailable(TurnwrightError):
    """No loaded agent can carry the run on."""


class Agents:
    """The agents that are loaded, by name."""

    def __init__(self, agents: Iterable[Agent] = ()) -> None:
        self._agents: Mapping[str, Agent] = {agent.name: agent for agent in agents}

    def names(self) -> tuple[str, ...]:
        """In the order of their definition."""
        return tuple(self._agents)

    def get(self, name: str) -> Agent | None:
        """The agent of this name, if it is loaded."""
        return self._agents.get(name)

    def resolve(self, name: str, version: str) -> Agent:
        """The agent that a run started on `version` goes on with, or `AgentUnavailable`."""
        agent = self._agents.get(name)
        if agent is None:
            raise AgentUnavailable(f"The agent {name!r} is not loaded.")
        if not agent.carries_on(version):
            raise AgentUnavailable(
                f"The run started on version {version!r} of {name!r}; loaded is {agent.version!r}, "
                "which does not say that it is compatible."
            )
        return agent

    def describe(self, name: str) -> dict[str, Any] | None:
        """The agent as `GET /v1/agents` shows it, ready for JSON."""
        agent = self._agents.get(name)
        return None if agent is None else _description(agent)


def load_agents(sources: str | Sequence[str]) -> Agents:
    """Import every source and collect its `agents`, or raise `AgentsError`.

    A source is a file (`path/to/agents.py`) or a module (`package.module`); a string may name
    several, with commas. A file finds the modules beside it, a module is looked for in the working
    directory too; both only after all that is installed, so that no author's `api.py` or
    `queue.py` takes the place of the server's own.
    """
    if isinstance(sources, str):
        sources = sources.split(",")
    sources = [source.strip() for source in sources if source.strip()]
    if not sources:
        raise AgentsError("no agents: name a file or a module that defines them")
    origins: dict[str, str] = {}
    agents: list[Agent] = []
    for source in sources:
        for agent in _agents_of(_import(source), source):
            if agent.name in origins:
                both = {origins[agent.name], source}
                raise AgentsError(f"{' and '.join(sorted(both))}: two agents named {agent.name!r}")
            origins[agent.name] = source
            agents.append(agent)
    return Agents(agents)


def _agents_of(module: ModuleType, source: str) -> Iterator[Agent]:
    listed = getattr(module, "agents", None)
    if not isinstance(listed, list | tuple):
        raise AgentsError(f"{source}: it must hold a list `agents`, as in agents = [Agent(…)]")
    if not listed:
        raise AgentsError(f"{source}: its list `agents` is empty")
    for agent in listed:
        if not isinstance(agent, Agent):
            raise AgentsError(f"{source}: `agents` holds {agent!r}, which is no Agent")
        if lines := unsupported(agent):
            raise AgentsError(f"{source}: agent {agent.name!r}: {'; '.join(lines)}")
        yield agent


def _import(source: str) -> ModuleType:
    is_file = source.endswith(".py") or "/" in source or "\\" in source
    path = Path(source).resolve()
    if is_file and not path.is_file():
        raise AgentsError(f"{source}: there is no such file")
    _also_look_in(path.parent if is_file else Path.cwd())
    try:
        return _run_file(path) if is_file else importlib.import_module(source)
    except (Exception, SystemExit) as error:
        raise AgentsError(f"{source}: {_where(error, path.parent)}") from error


def _also_look_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    importlib.invalidate_caches()


def _run_file(path: Path) -> ModuleType:
    # The name is the path's own: two files may both be called agents.py.
    name = f"turnwright_agents_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _where(error: BaseException, folder: Path) -> str:
    """The error, after the author's line that led to it."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    if isinstance(error, SyntaxError):
        return text
    here = Path(__file__).parent
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if (file := Path(frame.filename)).is_relative_to(folder)
        and not file.is_relative_to(here)
        and "site-packages" not in file.parts  # an environment inside the author's folder
    ]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}: {text}" if own else text


def _description(agent: Agent) -> dict[str, Any]:
    return {
        "name": agent.name,
        "version": agent.version,
        "description": agent.description,
        "model": agent.models[0],
        "tools": [
            {
                "name": tool.name,
                "description": tool.definition.description,
                "parameters": tool.definition.parameters,
                "repeatable": tool.repeatable,
                "approval": tool.approval if isinstance(tool.approval, str) else "conditional",
            }
            for tool in agent.functions
        ],
        "can_ask_user": agent.can_ask_user,
        "can_sleep": agent.can_sleep,
        "delegates_to": list(agent.delegates_to),
        "limits": agent.limits.model_dump(mode="json"),
    }
