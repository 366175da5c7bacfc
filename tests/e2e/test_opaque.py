"""Guarantee 5 and behaviour 34: what only one provider understands ends with its run."""

import itertools

import pytest
from sqlalchemy import create_engine, inspect, text

from tests.e2e.conftest import point_at
from tests.e2e.gateway import gateway
from tests.e2e.weather import data_of, reporter
from tests.providers.reasoning import REASONED, TEXT, Reasoned
from tests.support.app import running_app
from tests.support.model_servers import script
from tests.support.servers import TemporalServer
from turnwright.settings import sqlalchemy_url


def _contents(database_url: str) -> str:
    """Everything in the database."""
    engine = create_engine(sqlalchemy_url(database_url))
    with engine.connect() as connection:
        tables = inspect(connection).get_table_names()
        rows = [connection.execute(text(f"SELECT * FROM {name}")).all() for name in tables]  # noqa: S608
    engine.dispose()
    return str(rows)


@pytest.mark.parametrize(
    ("first", "second"),
    list(itertools.permutations(REASONED, 2)),
    ids=lambda answer: answer.provider,
)
async def test_reasoning_of_one_run_never_reaches_the_next_on_another_provider(
    first: Reasoned,
    second: Reasoned,
    llmock: str,
    monkeypatch: pytest.MonkeyPatch,
    temporal_server: TemporalServer,
    sqlite_url: str,
) -> None:
    """Inside its run it is sent back; afterwards it is nowhere, and nothing is refused."""
    script(llmock, {"type": "reply", "text": "Run one."}, {"type": "reply", "text": "Run two."})
    async with gateway(llmock, recorded=[first.stream]) as door:
        point_at(door.url, monkeypatch)
        agent = reporter(first.model)
        async with running_app(sqlite_url, temporal_server, agents=[agent]) as app:
            session = await app.session("reporter")
            one = await app.turn(session, "How is Paris?")
            after = _contents(sqlite_url)
            two = await app.turn(session, "And now?", model=second.model)
            events = await app.events(session)
        _, within, beyond = door.bodies

    assert [run["output"]["text"] for run in (one, two)] == ["Run one.", "Run two."]
    assert first.secret in within
    for elsewhere in (beyond, after, str(events)):
        assert first.secret not in elsewhere
        assert first.thought not in elsewhere
    [returned] = data_of(events, "tool.returned")
    for said in (TEXT, returned["tool_call_id"], "How is Paris?", "Run one.", "And now?"):
        assert said in beyond
