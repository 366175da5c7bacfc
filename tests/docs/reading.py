"""Documents as tests read them: their links, what they name in code spans, and their blocks.

A block to be tested has a comment above it, which no reader sees: `<!-- test: NAME -->`.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
OWN = (README, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))
"""Every document of ours that is not beside the code it describes."""

_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def blocks(document: Path, name: str) -> list[str]:
    """The document's blocks to be tested under this name, in order."""
    marked = re.compile(
        rf"^<!-- test: {re.escape(name)} -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL
    )
    return marked.findall(document.read_text())


def prose(document: Path) -> str:
    """The document without its blocks."""
    return _BLOCK.sub("", document.read_text())


def spans(document: Path) -> list[str]:
    """What stands in code spans outside of blocks."""
    return _SPAN.findall(prose(document))


def links(document: Path) -> list[str]:
    """Where links and pictures lead that stay in the repository."""
    return [link for link in _LINK.findall(prose(document)) if "://" not in link]


def anchors(document: Path) -> set[str]:
    """The anchors that headings have where the document is rendered."""
    found = _HEADING.findall(prose(document))
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in found}


def table(document: Path, heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, without the head."""
    _, _, after = document.read_text().partition(f"\n## {heading}\n")
    rows = [line for line in after.partition("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows[2:]]
