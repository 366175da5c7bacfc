"""Record histories of the present workflow code into tests/histories/, for the replay test.

    python -m scripts.record_histories

To be run when the workflow code has changed on purpose, before a release: the histories that are
there stay, since runs of earlier releases may still be under way.
"""

import asyncio
import re
import tempfile
from pathlib import Path

from temporalio.client import WorkflowHistory

from tests.support.app import App, ask, running_app, script
from tests.support.servers import dev_server
from turnwright import Agent, tool
from turnwright.store.migrate import migrate

FOLDER = Path("tests/histories")


@tool(repeatable=True)
def look(at: str) -> str:
    """Look at something."""
    return f"{at} is there"


AGENT = Agent(
    name="scripted",
    instructions="Play.",
    model="scripted:script",
    tools=[look],
    can_ask_user=True,
)
LOOK = {"calls": [{"name": "look", "arguments": {"at": name}} for name in ("one", "two")]}


async def plain(app: App, session_id: str) -> None:
    """One round."""
    await app.turn(session_id, script({"text": "done"}))


async def tools_and_question(app: App, session_id: str) -> None:
    """Parallel tools, a question, its answer, and the output."""
    run = await app.asked(session_id, LOOK, ask("Go on?", "yes", "no"), {"text": "done"})
    await app.post(f"/v1/runs/{run['id']}/input", {"choice": "yes"})
    await app.ended(run["id"])


async def failed(app: App, session_id: str) -> None:
    """A provider that refuses for good, after one that could not answer at first."""
    await app.turn(
        session_id,
        script(
            LOOK | {"error": {"kind": "unavailable", "until_attempt": 2}},
            {"error": {"kind": "rejected"}},
        ),
    )


async def over_the_limit(app: App, session_id: str) -> None:
    """Settled by the workflow's own decision."""
    await app.turn(session_id, script(*[LOOK] * 3), limits={"rounds": 2})


async def cancelled(app: App, session_id: str) -> None:
    """Cancelled while it waits."""
    run = await app.asked(session_id, ask("Go on?"))
    await app.process.client.get_workflow_handle(f"session/{session_id}").cancel()
    await app.ended(run["id"])


CASES = (plain, tools_and_question, failed, over_the_limit, cancelled)


async def closed(app: App, session_id: str) -> WorkflowHistory:
    """The history of the session's execution, once it is closed."""
    handle = app.process.client.get_workflow_handle(f"session/{session_id}")
    async for _ in handle.fetch_history_events(wait_new_event=True):
        pass
    return await handle.fetch_history()


def _anonymous(history: str) -> str:
    """The history without what says where it was recorded."""
    text = re.sub(r'"stackTrace": "(?:[^"\\]|\\.)*"', '"stackTrace": ""', history)
    return re.sub(r'"identity": "\d+@[^"]*"', '"identity": "1@recorded"', text)


async def main() -> None:
    """Play every case and write its history down."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/turnwright.db"
        migrate(url)
        async with dev_server() as temporal, running_app(url, temporal, agents=[AGENT]) as app:
            for case in CASES:
                session_id = await app.session()
                await case(app, session_id)
                path = FOLDER / f"0.1-{case.__name__}.json"
                path.write_text(_anonymous((await closed(app, session_id)).to_json()) + "\n")
                print(path)


if __name__ == "__main__":
    asyncio.run(main())
