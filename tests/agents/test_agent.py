"""An agent's definition is checked where it is written."""

import subprocess
import sys
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

import turnwright
from turnwright import Agent, Limits, MCPServer, tool
from turnwright.agents import unsupported
from turnwright.tools.errors import DefinitionError


@tool
def look(city: str) -> str:
    """See what a city is like."""
    return city


def agent(**fields: Any) -> Agent:
    return Agent(**{"name": "guide", "instructions": "", "model": "scripted:echo"} | fields)


def test_an_agent_needs_a_name_instructions_and_a_model() -> None:
    guide = Agent("guide", instructions="Guide.", model="scripted:echo", tools=[look])
    assert (guide.version, guide.limits, guide.on_limit) == ("1", Limits(), "fail")
    assert (guide.models, guide.tools, guide.functions) == (("scripted:echo",), (look,), (look,))
    with pytest.raises(FrozenInstanceError):
        guide.name = "other"  # type: ignore[misc]


def test_several_models_are_a_fallback_chain() -> None:
    assert agent(model=["openai:gpt-5", "scripted:echo"]).models == (
        "openai:gpt-5",
        "scripted:echo",
    )


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"name": "Guide"}, "name: String should match pattern"),
        ({"name": "g" * 65}, "name: String should match pattern"),
        ({"name": "guide\n"}, "name: String should match pattern"),
        ({"instructions": None}, "instructions: Input should be a valid string"),
        ({"model": "gpt-5"}, "model: String should match pattern"),
        ({"model": []}, "model: Value should have at least 1 item"),
        ({"model": ["openai:gpt-5", 3]}, "model: Input should be a valid string, not 3"),
        ({"version": 3}, "version: Input should be a valid string"),
        ({"version": ""}, "version: String should have at least 1 character"),
        ({"can_ask_user": 1}, "can_ask_user: Input should be a valid boolean"),
        ({"limits": {"rounds": 3}}, "limits: Input should be .*instance of Limits"),
        ({"on_limit": "stop"}, "on_limit: Input should be 'fail', 'wait' or 'wrap_up'"),
        ({"ask_timeout": 0}, "ask_timeout: Input should be greater than 0"),
        ({"context_tokens": -1}, "context_tokens: Input should be greater than or equal to 1"),
        ({"compatible_with": "12"}, "compatible_with: 'str' instances are not allowed"),
        ({"delegates_to": ["Not A Name"]}, "delegates_to: String should match pattern"),
        ({"tools": look}, "tools: a list, not"),
        ({"tools": [print]}, "tools: print is a plain function; put @tool on it"),
        ({"tools": ["look"]}, "tools: 'look' is no tool"),
        ({"tools": [look, look]}, "tools: models cannot tell 'look' from 'look'"),
        (
            {"tools": [tool(name="a.b")(look.function), tool(name="a_b")(look.function)]},
            "tools: models cannot tell 'a_b' from 'a.b'",
        ),
        (
            {"tools": [tool(name="conversation_ask_user")(look.function)]},
            "tools: models cannot tell 'conversation_ask_user' from 'conversation.ask_user'",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(fields: dict[str, Any], hint: str) -> None:
    with pytest.raises(DefinitionError, match=hint):
        agent(**fields)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(DefinitionError, match=r"name: .*; ask_timeout: .*; tools: "):
        agent(name="X", ask_timeout=-1, tools=[3])


def test_limits_are_at_least_one_or_none() -> None:
    assert Limits(rounds=None, seconds=1.5).rounds is None
    with pytest.raises(ValueError, match="rounds"):
        Limits(rounds=0)


def test_an_mcp_server_is_a_command_or_a_url_and_hides_its_secrets() -> None:
    server = MCPServer("serve", args=["-v"], env={"TOKEN": "s3cret"})
    assert "s3cret" not in repr(server)
    with pytest.raises(DefinitionError, match="either a command or a url"):
        MCPServer()
    with pytest.raises(DefinitionError, match="either a command or a url"):
        MCPServer("serve", url="http://127.0.0.1/mcp")
    with pytest.raises(DefinitionError, match="args is a list"):
        MCPServer("serve", args="-v")


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"tools": [MCPServer("serve")]}, "MCP tool sources are not supported by this version"),
        ({"delegates_to": ["other"]}, "delegates_to"),
        ({"model": ["openai:gpt-5", "scripted:echo"]}, "a chain of models"),
        ({"context_tokens": 8000}, "context_tokens"),
    ],
)
def test_what_this_version_cannot_do_yet_is_said(fields: dict[str, Any], hint: str) -> None:
    (line,) = unsupported(agent(**fields))
    assert line.startswith(hint)


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [look], "can_ask_user": True},
        {"tools": [tool(approval="always")(look.function)], "approval_timeout": 60},
        {"can_sleep": True},
        {"on_limit": "wait"},
        {"on_limit": "wrap_up"},
        {"ask_timeout": 60, "on_ask_timeout": "continue"},
        {"limits": Limits(seconds=60)},
    ],
)
def test_what_this_version_can_do_is_supported(fields: dict[str, Any]) -> None:
    assert unsupported(agent(**fields)) == []


def test_authors_import_everything_from_the_top_and_nothing_heavy_comes_with_it() -> None:
    assert dir(turnwright) == turnwright.__all__
    program = (
        "import sys\n"
        "from turnwright import Agent, Limits, MCPServer, ToolContext, ToolError, tool\n"
        "heavy = {'sqlalchemy', 'temporalio', 'fastapi', 'httpx', 'pydantic_ai'} & {*sys.modules}\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Workflow'"):
        _ = turnwright.Workflow
