"""The commands that do one thing to the database and end."""

import pytest
from sqlalchemy import create_engine, text

from tests.chaos.processes import client_of
from tests.cli.conversation import ended, new_session, say
from tests.cli.programs import refusal, run, started
from tests.support.app import script
from turnwright.settings import sqlalchemy_url
from turnwright.store.migrate import head


def _execute(database_url: str, statement: str) -> None:
    engine = create_engine(sqlalchemy_url(database_url))
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


async def test_migrating_twice_is_fine_and_a_newer_database_is_refused(
    empty_deployment: dict[str, str],
) -> None:
    said = [
        f"database: at revision {head()}",
        "Temporal: search attributes registered in default",
    ]
    for _ in range(2):
        status, migrated = await run("migrate", **empty_deployment)
        assert (status, migrated.output, migrated.errors) == (0, said, [])

    _execute(empty_deployment["database_url"], "UPDATE alembic_version SET version_num = '9999'")
    for command in ("migrate", "api"):
        status, line = await refusal(command, **empty_deployment)
        assert status == 1
        assert "revision 9999, which is newer than this version" in line


async def test_migrating_without_temporal_is_a_warning(empty_deployment: dict[str, str]) -> None:
    away = {**empty_deployment, "temporal_address": "127.0.0.1:9"}

    status, migrated = await run("migrate", **away)

    assert (status, migrated.output) == (0, [f"database: at revision {head()}"])
    [warning] = migrated.errors
    assert "search_attributes_not_registered" in warning


async def test_rebuild_says_equal_or_mends_and_says_so(sqlite_deployment: dict[str, str]) -> None:
    """Exit status 0 when nothing differed, 1 when something did, 0 again after that."""
    async with (
        started("api", **sqlite_deployment) as api,
        started("worker", **sqlite_deployment),
        client_of(api.url) as client,
    ):
        session = await new_session(client)
        first = await say(client, session, script({"text": "One."}))
        before = await ended(client, first["id"])
        second = await say(client, session, script({"text": "Two."}))
        await ended(client, second["id"])
        equal = [(0, ["1 sessions and 2 runs: all equal to the log"])]
        assert [await _rebuilt(sqlite_deployment)] == equal

        _execute(sqlite_deployment["database_url"], "DELETE FROM runs")
        status, output = await _rebuilt(sqlite_deployment)
        assert (status, output[-1]) == (1, "1 sessions and 2 runs: 2 differed, mended")
        assert len(output) == 3

        assert [await _rebuilt(sqlite_deployment)] == equal
        assert (await client.get(f"/runs/{first['id']}")).json() == before


async def _rebuilt(sqlite_deployment: dict[str, str]) -> tuple[int, list[str]]:
    status, program = await run("rebuild", **sqlite_deployment)
    assert program.errors == []
    return status, program.output


async def test_a_key_is_printed_once_works_and_is_refused_after_its_revocation(
    sqlite_deployment: dict[str, str],
) -> None:
    status, created = await run(
        "keys",
        "create",
        "--tenant",
        "acme",
        "--scopes",
        "read,write",
        "--name",
        "ann",
        **sqlite_deployment,
    )
    assert status == 0
    key = created.output[-1]
    assert key.strip() == key
    assert " " not in key

    status, listed = await run("keys", "list", **sqlite_deployment)
    [row] = [line for line in listed.output if "ann" in line]
    key_id = row.split()[1]
    assert (status, key in "".join(listed.output)) == (0, False)
    assert {"acme", "read,write", "valid"} <= set(row.split())

    async with (
        started("api", **sqlite_deployment, auth="keys") as api,
        client_of(api.url) as client,
    ):
        assert (await client.get("/agents")).status_code == 401
        client.headers["Authorization"] = f"Bearer {key}"
        assert (await client.get("/agents")).status_code == 200
        await new_session(client)
        assert (await run("keys", "revoke", key_id, **sqlite_deployment))[0] == 0
        assert (await client.get("/agents")).status_code == 401
    _, listed = await run("keys", "list", **sqlite_deployment)
    assert any("revoked" in line for line in listed.output)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("create", "--tenant", "t", "--scopes", "all"), 2, "Scopes are read, write, operate"),
        (("create", "--tenant", "", "--scopes", "read"), 2, "A key belongs to a tenant"),
        (("revoke", "key_nosuch"), 1, "There is no key key_nosuch."),
    ],
)
async def test_a_key_that_cannot_be_is_one_line(
    sqlite_deployment: dict[str, str], arguments: tuple[str, ...], status: int, said: str
) -> None:
    refused, line = await refusal("keys", *arguments, **sqlite_deployment)

    assert (refused, said in line) == (status, True)
