"""`turnwright demo`: one real conversation, wherever it is started and whatever is set."""

from pathlib import Path

from tests.cli.programs import run

QUESTION = (
    "Which of the two would you like:"
    " shall we resend the walnut desk lamp, or refund you 89.00 EUR?"
)
LINES = [
    "user       Where is my order A-1042?",
    "assistant  Let me look up order A-1042 for you.",
    'tool       orders.lookup {"order_id": "A-1042"}',
    f"question   {QUESTION}  resend / refund",
    "user       refund  (the answer)",
    'tool       orders.resolve {"order_id": "A-1042", "resolution": "refund"}',
]
"""What must be seen, in this order."""


async def test_it_prints_the_conversation_and_touches_nobodys_data(tmp_path: Path) -> None:
    database = tmp_path / "somebodys.db"

    status, demo = await run(
        "demo", cwd=str(tmp_path), database_url=f"sqlite:///{database}", auth="keys"
    )

    assert (status, demo.errors) == (0, [])
    assert [line for line in demo.output if line in LINES] == LINES
    assert any(line.startswith("assistant  Done: a refund it is.") for line in demo.output)
    assert demo.output[-2].startswith("completed: 4 model rounds, 3 tool calls, ")
    assert "/namespaces/default/workflows/session%2Fses_" in demo.output[-1]
    assert list(tmp_path.iterdir()) == []


async def test_a_turn_that_does_not_complete_is_one_line_and_a_failure() -> None:
    status, demo = await run("demo", "--model", "scripted:script")

    assert status == 1
    [line] = [line for line in demo.errors if line.startswith("turnwright: ")]
    assert "the run ended failed" in line
    assert not any("Traceback" in line for line in demo.errors)
