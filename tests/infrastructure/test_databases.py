"""What the database fixtures promise to the tests that use them."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, create_engine, inspect, text

from tests.support.databases import Databases
from turnwright.settings import sqlalchemy_url


def engine(url: str) -> Engine:
    return create_engine(sqlalchemy_url(url))


@pytest.fixture
def urls(databases: Databases) -> Iterator[tuple[str, str]]:
    with databases.empty() as one, databases.empty() as other:
        yield one, other


def test_a_new_database_is_empty_and_nobody_elses(urls: tuple[str, str]) -> None:
    one, other = map(engine, urls)
    with one.begin() as connection:
        connection.execute(text("CREATE TABLE mine (id INTEGER)"))
    assert inspect(one).get_table_names() == ["mine"]
    assert inspect(other).get_table_names() == []
    one.dispose()
    other.dispose()


def test_a_migrated_database_has_tables_and_never_a_row(databases: Databases) -> None:
    for first in (True, False):
        with databases.migrated() as url:
            opened = engine(url)
            assert "sessions" in inspect(opened).get_table_names()
            with opened.begin() as connection:
                connection.execute(text("CREATE TABLE IF NOT EXISTS extra (id INTEGER)"))
                assert connection.execute(text("SELECT count(*) FROM extra")).scalar_one() == 0
                connection.execute(text("INSERT INTO extra VALUES (1)"))
            if not first:
                with opened.begin() as connection:
                    connection.execute(text("DROP TABLE extra"))
            opened.dispose()


def test_a_transaction_left_open_does_not_hold_up_the_next_test(databases: Databases) -> None:
    with databases.migrated() as url:
        opened = engine(url)
        connection = opened.connect()
        connection.execute(text("SELECT count(*) FROM sessions"))
    connection.invalidate()
    connection.close()
    opened.dispose()
    with databases.migrated():
        pass
