"""Playbooks: a file of rules that decides what the scripted model performs."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.providers.building import asking, assistant, call, ignore, result, say, user
from turnwright.domain.errors import ModelRejected
from turnwright.providers import Providers

BOOK: dict[str, JsonValue] = {
    "rules": [
        {
            "when": r"deploy (?P<service>\w+)",
            "rounds": [
                {"calls": [{"name": "deploy", "arguments": {"service": "{service}", "dry": True}}]},
                {"text": "{service} is {result:deploy.state}."},
            ],
        },
        {"when": "deploy", "rounds": [{"text": "Deploy what?"}]},
    ],
    "otherwise": [{"text": "I only deploy."}],
}


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "book.json"
    path.write_text(json.dumps(BOOK))
    return path


@pytest.mark.usefixtures("book")
async def test_groups_of_the_rule_fill_texts_and_arguments(models: Providers) -> None:
    trigger = user("please deploy billing now")

    first, _ = await say(models, asking("scripted:book.json", trigger))
    second, _ = await say(
        models,
        asking(
            "scripted:book.json",
            trigger,
            assistant("", call("deploy")),
            result('{"state": "green"}'),
        ),
    )

    assert first.tool_calls[0].arguments == {"service": "billing", "dry": True}
    assert second.text == "billing is green."


@pytest.mark.usefixtures("book")
@pytest.mark.parametrize(
    ("trigger", "text"), [("deploy!", "Deploy what?"), ("hello", "I only deploy.")]
)
async def test_the_first_rule_that_matches_decides(
    models: Providers, trigger: str, text: str
) -> None:
    response, _ = await say(models, asking("scripted:book.json", user(trigger)))

    assert response.text == text


async def test_a_missing_file_is_a_clear_rejection(models: Providers) -> None:
    with pytest.raises(ModelRejected, match=r"cannot read nowhere\.json: No such file"):
        await models.respond(asking("scripted:nowhere.json", user("hello")), ignore)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "not a valid playbook"),
        ('{"rules": [{"when": "(", "rounds": []}]}', "not a regular expression"),
        ('{"rule": []}', "rule: Extra inputs are not permitted"),
    ],
)
async def test_an_invalid_file_is_a_clear_rejection(
    models: Providers, book: Path, text: str, fault: str
) -> None:
    book.write_text(text)

    with pytest.raises(ModelRejected, match=fault):
        await models.respond(asking("scripted:book.json", user("hello")), ignore)
