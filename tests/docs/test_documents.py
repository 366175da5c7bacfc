"""Documents say what is so: their links lead somewhere, what they name exists, tables are complete."""

import importlib
import re
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from scripts.settings_table import DOCUMENT, rewritten
from tests.docs.reading import DOCS, OWN, README, ROOT, anchors, links, spans, table
from turnwright.cli import app
from turnwright.domain.events import EVENT_TYPES
from turnwright.settings import PREFIX, Settings

OPERATIONS = DOCS / "operations.md"
API_NOTES = DOCS / "api-notes.md"
GLOSSARY = DOCS / "glossary.md"
DECISIONS = sorted((DOCS / "decisions").glob("[0-9]*.md"))
FOLDERS = (
    *("activities", "api", "benchmarks", "docs", "examples", "migrations", "scripts", "tests"),
    *("turnwright", "workflows"),
)
PATH = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w./-]*|[\w.-]+\.(?:py|toml|yml|md)|\.ci/\w+")
EVENT = re.compile(r"(?:session|message|run|round|tool|question|approval|child)\.[a-z_]+")
NO_EVENTS = {"message.delta", "run.sleep_until"}
"""Spelt like a type of event: a frame of live text, and a control tool."""
OF_AUTHORS = {"my_agents.py", "agents.py", "path/to/agents.py"}
VOCABULARY = {
    *("session", "run", "trigger", "actor", "agent", "room", "model round", "tool call"),
    *("tool result", "control tool", "child run", "event", "projection", "live delta"),
}
"""The words of the contract."""

each_document = pytest.mark.parametrize(
    "document", OWN, ids=lambda path: str(path.relative_to(ROOT))
)


@each_document
def test_links_lead_somewhere(document: Path) -> None:
    for link in links(document):
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.is_relative_to(ROOT), link
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@each_document
def test_paths_that_are_named_exist(document: Path) -> None:
    named = {span for span in spans(document) if PATH.fullmatch(span)} - OF_AUTHORS
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


@each_document
def test_events_that_are_named_exist(document: Path) -> None:
    named = {span for span in spans(document) if EVENT.fullmatch(span)}
    assert named - NO_EVENTS <= EVENT_TYPES.keys()


@each_document
def test_settings_that_are_named_exist(document: Path) -> None:
    named = set(re.findall(rf"{PREFIX}([A-Z_]*[A-Z])", document.read_text()))
    known = {name.upper() for name in Settings.model_fields} | {"AGENTS_DIR"}
    assert named <= known


@each_document
def test_commands_that_are_named_exist(document: Path) -> None:
    text = document.read_text()
    program = typer.main.get_command(app)
    assert isinstance(program, TyperGroup)
    assert set(re.findall(r"(?<!from )\bturnwright ([a-z]+)", text)) <= program.commands.keys()
    targets = re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:^(?:\$ )?|`)make ([a-z]+)", text, re.MULTILINE)) <= set(targets)


def test_every_path_of_the_map_exists_and_no_folder_is_missing_from_it() -> None:
    mapped = [cells[0].strip("`") for cells in table(README, "Where things are")]
    assert [path for path in mapped if not (ROOT / path).exists()] == []
    assert {f"{folder}/" for folder in FOLDERS} <= set(mapped)


def test_the_table_of_settings_is_that_of_the_code() -> None:
    assert rewritten(DOCUMENT.read_text()) == DOCUMENT.read_text(), (
        "write it anew: python -m scripts.settings_table"
    )


def test_every_type_of_event_is_described_and_no_other() -> None:
    described = [cells[0].strip("`") for cells in table(API_NOTES, "Events of this version")]
    assert sorted(described) == sorted(EVENT_TYPES)


def test_the_glossary_has_the_words_of_the_contract_and_each_is_found_in_the_code() -> None:
    public = table(GLOSSARY, "What callers see")
    rows = [*public, *table(GLOSSARY, "What the code adds")]
    assert {cells[0] for cells in public} >= VOCABULARY
    assert len({cells[0] for cells in rows}) == len(rows)
    for _, meaning, where in rows:
        module, _, name = where.strip("`").rpartition(".")
        assert meaning
        assert hasattr(importlib.import_module(module), name), where


def test_decisions_are_numbered_without_gaps_and_listed() -> None:
    numbers = [int(path.name[:4]) for path in DECISIONS]
    assert numbers == list(range(1, len(DECISIONS) + 1))
    assert links(DOCS / "decisions" / "README.md") == [path.name for path in DECISIONS]


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_is_short_and_has_its_three_parts(decision: Path) -> None:
    lines = decision.read_text().splitlines()
    assert lines[0].startswith(f"# {decision.name[:4]}: ")
    assert [line for line in lines if line.startswith("## ")] == [
        "## Context",
        "## Decision",
        "## Consequences",
    ]
    assert 10 <= len(lines) <= 25


def test_pictures_are_small_enough_to_be_loaded_with_the_page() -> None:
    pictures = list((DOCS / "images").glob("*.png"))
    assert pictures
    assert [path.name for path in pictures if path.stat().st_size > 300_000] == []
