"""Loading authors' modules: what is found, and how every fault is told."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwright.loading import AgentsError, AgentUnavailable, load_agents

AGENT = "Agent({name!r}, instructions='', model='scripted:echo'{more})"


def module(*names: str, more: str = "") -> str:
    agents = ", ".join(AGENT.format(name=name, more=more) for name in names)
    return f"from turnwright import Agent\nagents = [{agents}]\n"


@pytest.fixture(autouse=True)
def imports_as_before() -> Iterator[None]:
    """What a test imports is no longer imported in the next."""
    path, modules = [*sys.path], {*sys.modules}
    yield
    sys.path[:] = path
    for name in {*sys.modules} - modules:
        del sys.modules[name]


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def test_agents_come_from_files_and_from_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "team_package"
    package.mkdir()
    write(package, __init__="", helpers=module("nora"))
    write(tmp_path, agents=module("ada", "bo"))
    monkeypatch.chdir(tmp_path)
    loaded = load_agents("agents.py, team_package.helpers")
    assert loaded.names() == ("ada", "bo", "nora")
    assert load_agents(["agents.py"]).names() == ("ada", "bo")
    assert loaded.get("nobody") is None
    assert loaded.describe("nobody") is None


def test_a_file_may_import_what_lies_beside_it_but_cannot_replace_what_is_installed(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        agents="from colorsys import rgb_to_hsv\nfrom beside_it import agents\n",
        beside_it=module("ada"),
        colorsys="",
    )
    assert load_agents(str(tmp_path / "agents.py")).names() == ("ada",)


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, agents=module(name))
    sources = [str(tmp_path / name / "agents.py") for name in ("one", "two")]
    assert load_agents(sources).names() == ("one", "two")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it must hold a list `agents`"),
        ("agents = []", "its list `agents` is empty"),
        ("agents = ['ada']", "`agents` holds 'ada', which is no Agent"),
        (module("ada", "ada"), "two agents named 'ada'"),
        ("import nothing_of_this_name", "agents.py:1: ModuleNotFoundError: No module named"),
        ("agents = [\n", "SyntaxError: '[' was never closed (agents.py, line 1)"),
        ("\n\n1 / 0", "agents.py:3: ZeroDivisionError: division by zero"),
        ("def f():\n    raise SystemExit('no')\nf()", "agents.py:2: SystemExit: no"),
        (
            "from turnwright import Limits\nLimits(rounds=0)",
            "agents.py:2: ValidationError: 1 valid",
        ),
        (module("ADA"), "agents.py:2: DefinitionError: agent 'ADA': name: String should match"),
        (module("ada", more=", context_tokens=9"), "agent 'ada': context_tokens is not supported"),
    ],
)
def test_a_fault_is_one_line_that_says_where_and_why(text: str, fault: str, tmp_path: Path) -> None:
    write(tmp_path, agents=text)
    source = str(tmp_path / "agents.py")
    with pytest.raises(AgentsError) as raised:
        load_agents(source)
    assert raised.value.detail.startswith(f"{source}: ")
    assert fault in raised.value.detail
    assert "\n" not in raised.value.detail


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(AgentsError, match="there is no such file"):
        load_agents(str(tmp_path / "agents.py"))
    with pytest.raises(AgentsError, match="No module named 'no_such_package'"):
        load_agents("no_such_package.agents")
    with pytest.raises(AgentsError, match="no agents: name a file or a module"):
        load_agents(" , ")


def test_a_name_doubled_over_two_sources_names_both(tmp_path: Path) -> None:
    write(tmp_path, one=module("ada"), two=module("ada"))
    sources = [str(tmp_path / "one.py"), str(tmp_path / "two.py")]
    with pytest.raises(AgentsError, match=r"one\.py and .*two\.py: two agents named 'ada'"):
        load_agents(sources)


def test_a_run_goes_on_with_its_version_or_with_one_that_says_it_is_compatible(
    tmp_path: Path,
) -> None:
    write(tmp_path, agents=module("ada", more=", version='3', compatible_with=['2']"))
    loaded = load_agents(str(tmp_path / "agents.py"))
    assert loaded.resolve("ada", "3") is loaded.resolve("ada", "2") is loaded.get("ada")
    with pytest.raises(AgentUnavailable, match="version '1' of 'ada'; loaded is '3'"):
        loaded.resolve("ada", "1")
    with pytest.raises(AgentUnavailable, match="'bo' is not loaded"):
        loaded.resolve("bo", "1")
