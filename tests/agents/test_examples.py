"""The examples, played through: real playbooks, tools and validation, without a server."""

import json
from pathlib import Path

import pytest

from tests.tools.building import context
from turnwright.agents import Agent
from turnwright.domain.messages import Message, ModelRequest, ToolCall
from turnwright.loading import Agents, load_agents
from turnwright.providers.scripted import ScriptedModel
from turnwright.tools.call import call_function_tool
from turnwright.tools.control import ask_user_arguments
from turnwright.tools.names import ASK_USER
from turnwright.tools.toolset import toolset

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agents:
    """The example agents, as loaded by a server that was started in the checkout."""
    monkeypatch.chdir(CHECKOUT)
    monkeypatch.setenv("SUPPORT_CASES", str(tmp_path / "cases.jsonl"))
    return load_agents("examples/agents.py")


async def converse(agent: Agent, text: str, answer: str = "") -> list[Message]:
    """One turn, to its end. The agent's question, if it has one, gets `answer`."""
    tools, model = toolset(agent), ScriptedModel()
    messages = [Message(role="user", text=text, run_id="run_1", sequence=1)]
    while True:
        request = ModelRequest(
            model=agent.models[0],
            instructions=agent.instructions,
            messages=tuple(messages),
            tools=tools.definitions,
        )
        name = request.model.partition(":")[2]
        response = await model.respond(name, request, lambda _: None)
        messages.append(
            Message(
                role="assistant",
                text=response.text,
                tool_calls=response.tool_calls,
                run_id="run_1",
                sequence=len(messages) + 1,
            )
        )
        if not response.tool_calls:
            return messages
        for call in response.tool_calls:
            result = await _answer(agent, call, answer)
            messages.append(
                Message(
                    role="tool",
                    text=result,
                    tool_call_id=call.id,
                    name=call.name,
                    run_id="run_1",
                    sequence=len(messages) + 1,
                )
            )


async def _answer(agent: Agent, call: ToolCall, answer: str) -> str:
    tools = toolset(agent)
    name = tools.contract_name(call.name)
    if name == ASK_USER:
        assert agent.can_ask_user
        assert answer in (ask_user_arguments(call.arguments).choices or [answer])
        return answer
    tool = tools.get(name)
    assert tool is not None
    return (await call_function_tool(tool, call.arguments, context())).content


def calls(messages: list[Message]) -> list[str]:
    return [call.name for message in messages for call in message.tool_calls]


@pytest.mark.parametrize(
    ("choice", "promise"),
    [("resend", "leaves our warehouse tomorrow"), ("refund", "You get 89.00 EUR back")],
)
async def test_the_support_desk_looks_up_asks_and_does_what_was_chosen(
    choice: str, promise: str, examples: Agents
) -> None:
    support = examples.resolve("support", "1")
    messages = await converse(support, "Where is my order A-1042?", choice)
    assert calls(messages) == ["orders_lookup", "conversation_ask_user", "orders_resolve"]
    assert messages[-1].text.startswith(f"Done: a {choice} it is.")
    assert promise in messages[-1].text
    assert "{" not in messages[-1].text


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("Where is A-1043?", "Your linen armchair is in transit."),
        ("And Z-9?", "I could not find that order. There is no order Z-9."),
        ("Hello!", "What is its number?"),
    ],
)
async def test_the_support_desk_has_an_answer_to_other_questions(
    text: str, reply: str, examples: Agents
) -> None:
    messages = await converse(examples.resolve("support", "1"), text)
    assert reply in messages[-1].text


async def test_research_searches_reads_two_notes_at_once_and_answers(examples: Agents) -> None:
    research = examples.resolve("research", "1")
    messages = await converse(research, "What do the notes say about shade?")
    assert calls(messages) == ["notes_search", "notes_read", "notes_read"]
    found = json.loads(messages[2].text)
    assert {line.partition(":")[0] for line in found} == {"street-trees.md", "interviews.md"}
    assert "11 degrees cooler" in messages[-1].text


@pytest.mark.parametrize("text", ["What do the notes say about parking?", "Hello!"])
async def test_research_answers_other_questions_from_its_notes(text: str, examples: Agents) -> None:
    messages = await converse(examples.resolve("research", "1"), text)
    assert "interviews.md" in messages[-1].text


@pytest.mark.parametrize(
    "note", ["../research.py", "../data/orders.json", "/etc/hostname", ".", "", "no.md", "a\0.md"]
)
async def test_research_reads_nothing_outside_its_folder(note: str, examples: Agents) -> None:
    read = toolset(examples.resolve("research", "1")).get("notes.read")
    assert read is not None
    result = await call_function_tool(read, {"note": note}, context())
    assert result.outcome == "error"
