"""A database of each kind, and as many processes' views of it as a test wants."""

from collections.abc import Callable, Iterator

import pytest

from tests.store.building import Bench
from turnwright.settings import sqlalchemy_url
from turnwright.store.engine import Database

OpenDatabase = Callable[[], Database]


@pytest.fixture
def open_database(migrated_database_url: str) -> Iterator[OpenDatabase]:
    """Opens the database once more, as another process would."""
    opened: list[Database] = []

    def connect() -> Database:
        opened.append(Database(sqlalchemy_url(migrated_database_url)))
        return opened[-1]

    yield connect
    for database in opened:
        database.close()


@pytest.fixture
def database(open_database: OpenDatabase) -> Database:
    return open_database()


@pytest.fixture
def bench(database: Database) -> Bench:
    """The store with a hand for driving runs through it."""
    return Bench(database)
