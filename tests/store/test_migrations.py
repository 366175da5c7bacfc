"""A database is at this version's schema, or it is refused."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine, inspect, text

from tests.support.databases import Databases
from turnwright.settings import sqlalchemy_url
from turnwright.store.migrate import MigrationError, check, current, head, migrate
from turnwright.store.tables import metadata


def indexes(connection: Connection) -> set[str]:
    """Every index with its columns and its condition, which Alembic does not compare."""
    if connection.dialect.name == "sqlite":
        found = connection.scalars(
            text("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        )
    else:
        found = connection.scalars(
            text(
                "SELECT indexdef FROM pg_indexes"
                " WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
            )
        )
    return {" ".join(statement.split()) for statement in found}


def test_the_migrations_lead_to_the_tables_that_the_code_uses(databases: Databases) -> None:
    with databases.empty() as migrated, databases.empty() as created:
        migrate(sqlalchemy_url(migrated))
        here = create_engine(sqlalchemy_url(migrated))
        there = create_engine(sqlalchemy_url(created))
        metadata.create_all(there)
        with here.connect() as ours, there.connect() as theirs:
            options = {"compare_type": True, "compare_server_default": True}
            context = MigrationContext.configure(ours, opts=options)
            assert compare_metadata(context, metadata) == []
            assert indexes(ours) == indexes(theirs)
        here.dispose()
        there.dispose()


def test_live_text_is_written_without_a_log_on_postgresql(postgres_databases: Databases) -> None:
    with postgres_databases.empty() as url:
        migrate(sqlalchemy_url(url))
        engine = create_engine(sqlalchemy_url(url))
        with engine.connect() as connection:
            unlogged = connection.scalars(
                text("SELECT relname FROM pg_class WHERE relpersistence = 'u' AND relkind = 'r'")
            ).all()
        engine.dispose()
    assert unlogged == ["live_texts"]


def test_a_new_database_is_refused_until_it_is_migrated(database_url: str) -> None:
    url = sqlalchemy_url(database_url)
    assert current(url) is None
    with pytest.raises(MigrationError, match="run `turnwright migrate`"):
        check(url)
    assert migrate(url) == current(url) == head()
    check(url)


def test_asking_creates_no_file(tmp_path: Path) -> None:
    assert current(f"sqlite:///{tmp_path / 'none.db'}") is None
    assert list(tmp_path.iterdir()) == []


def test_migrating_again_changes_nothing(database_url: str) -> None:
    url = sqlalchemy_url(database_url)
    assert migrate(url) == migrate(url) == head()


def test_a_newer_database_is_refused_and_left_alone(database_url: str) -> None:
    url = sqlalchemy_url(database_url)
    migrate(url)
    execute(url, "UPDATE alembic_version SET version_num = '9999'")
    for attempt in (migrate, check):
        with pytest.raises(MigrationError, match=r"revision 9999, which is newer .* upgrade"):
            attempt(url)
    assert current(url) == "9999"


def test_an_older_database_is_told_to_be_migrated(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = sqlalchemy_url(database_url)
    migrate(url)
    now = head()
    monkeypatch.setattr("turnwright.store.migrate.head", lambda: "later")
    with pytest.raises(MigrationError, match=f"is at revision {now} and this version needs later"):
        check(url)


def test_somebody_elses_database_is_refused_and_left_alone(database_url: str) -> None:
    url = sqlalchemy_url(database_url)
    execute(url, "CREATE TABLE sessions (id INTEGER)")
    with pytest.raises(MigrationError, match="a database of its own"):
        migrate(url)
    assert tables(url) == ["sessions"]


def test_a_migration_that_fails_leaves_nothing_behind(database_url: str) -> None:
    url = sqlalchemy_url(database_url)
    execute(url, "CREATE TABLE inbox (id INTEGER)")
    with pytest.raises(MigrationError, match="already exists"):
        migrate(url)
    assert tables(url) == ["inbox"]


def test_two_processes_may_migrate_at_once(database_url: str) -> None:
    url = sqlalchemy_url(database_url)
    with ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(migrate, [url] * 4))
    assert outcomes == [head()] * 4


def test_a_database_that_is_not_there_is_one_line() -> None:
    nobody = "postgresql+psycopg://nobody@/nothing?host=/nonexistent"
    for attempt in (migrate, check):
        with pytest.raises(MigrationError, match="the database cannot be used") as raised:
            attempt(nobody)
        assert "\n" not in str(raised.value)


def test_a_file_that_is_no_database_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are no tables, however long one looks at them")
    with pytest.raises(MigrationError, match="not a database"):
        check(f"sqlite:///{path}")


def execute(url: str, statement: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def tables(url: str) -> list[str]:
    engine = create_engine(url)
    found = inspect(engine).get_table_names()
    engine.dispose()
    return found
