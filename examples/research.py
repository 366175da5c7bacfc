"""A research assistant: it searches a folder of notes, reads what fits, and says what they hold."""

import os
from pathlib import Path

from turnwright import Agent, ToolError, tool

NOTES = Path(os.environ.get("RESEARCH_NOTES", Path(__file__).parent / "notes")).resolve()
"""The folder of `.md` files. Nothing outside it can be read."""


@tool(name="notes.list", repeatable=True)
def list_notes() -> list[str]:
    """List the names of all notes."""
    return [path.name for path in sorted(NOTES.glob("*.md"))]


@tool(name="notes.search", repeatable=True)
def search(query: str, limit: int = 10) -> list[str]:
    """Find the lines that hold all the words of a query, in any note.

    Args:
        query: One or more words; upper and lower case are alike.
        limit: How many lines to give back at most.
    """
    words = query.lower().split()
    found = [
        f"{note}:{number}: {line.strip()}"
        for note in list_notes()
        for number, line in enumerate(read(note).splitlines(), start=1)
        if words and all(word in line.lower() for word in words)
    ]
    return found[: max(limit, 1)]


@tool(name="notes.read", repeatable=True)
def read(note: str) -> str:
    """Read one note.

    Args:
        note: Its name, as the list and the search give it.
    """
    path = (NOTES / note).resolve()
    # Looked at after resolve(): neither `..` nor a link leads out of the folder.
    if path.parent != NOTES or path.suffix != ".md" or not path.is_file():
        raise ToolError(f"There is no note {note!r}. notes_list gives the names there are.")
    return path.read_text(encoding="utf-8")


research = Agent(
    name="research",
    description="Answers questions from a folder of notes, and names its sources.",
    model="scripted:examples/research.json",
    instructions=(
        "You answer questions from the user's notes and from nothing else. Search first, read the "
        "notes that fit (several at once), then answer in a few sentences and name the notes each "
        "statement comes from. If the notes do not say, say so."
    ),
    tools=[list_notes, search, read],
)
