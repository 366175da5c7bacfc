"""The commands that do one thing to the database and end."""

import asyncio
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import structlog
from rich.table import Column, Table
from temporalio.service import RPCError

from turnwright.executions import connect
from turnwright.runs_view import console
from turnwright.search_attributes import (
    SearchAttributesRefusedError,
    register_search_attributes,
)
from turnwright.settings import Settings
from turnwright.store import keys as stored
from turnwright.store.engine import Database, Tx
from turnwright.store.migrate import check, migrate
from turnwright.store.rebuild import rebuild

P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger()


def run_migrate(settings: Settings) -> None:
    """`turnwright migrate`. A Temporal that is away or refuses is a warning: runs work without."""
    print(f"database: at revision {migrate(settings.sqlalchemy_url)}")
    try:
        asyncio.run(_register(settings))
    except (SearchAttributesRefusedError, RPCError, RuntimeError) as error:
        log.warning("search_attributes_not_registered", because=str(error)[:300])
    else:
        print(f"Temporal: search attributes registered in {settings.temporal_namespace}")


def run_rebuild(settings: Settings) -> bool:
    """`turnwright rebuild`. Whether the projections were equal to the log."""
    check(settings.sqlalchemy_url)
    database = Database(settings.sqlalchemy_url)
    try:
        report = asyncio.run(rebuild(database))
    finally:
        database.close()
    for difference in report.differences:
        print(difference)
    print(
        f"{report.sessions} sessions and {report.runs} runs: "
        + (
            "all equal to the log"
            if report.equal
            else f"{len(report.differences)} differed, mended"
        )
    )
    return report.equal


def create(
    settings: Settings, *, tenant: str, scopes: str, name: str | None
) -> tuple[str | None, str]:
    """The new key's id, and the key itself."""

    def work(tx: Tx) -> tuple[str | None, str]:
        key = stored.create_key(tx, tenant=tenant, scopes=scopes.split(","), name=name)
        caller = stored.find_caller(tx, key)
        return caller.key_id if caller else None, key

    return _write(settings, work)


def show_keys(settings: Settings) -> None:
    """A table of the keys."""
    rest = (Column(name, overflow="fold") for name in ("tenant", "name", "scopes"))
    table = Table(Column("id", no_wrap=True), *rest, "created", "state")
    for key in _write(settings, stored.list_keys):
        state = "revoked" if key.revoked else "valid"
        created = f"{key.created_at:%Y-%m-%d}"
        table.add_row(key.id, key.tenant, key.name, ",".join(key.scopes), created, state)
    console().print(table)


def revoke(settings: Settings, key_id: str) -> None:
    """Raises `NotFound` where there is no such key."""
    _write(settings, stored.revoke_key, key_id)


async def _register(settings: Settings) -> None:
    await register_search_attributes(await connect(settings))


def _write(
    settings: Settings,
    work: Callable[Concatenate[Tx, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    check(settings.sqlalchemy_url)
    database = Database(settings.sqlalchemy_url)
    try:
        return asyncio.run(database.write(work, *args, **kwargs))
    finally:
        database.close()
