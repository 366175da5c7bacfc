"""The tables, and the invariants the database itself holds.

`events` is the record. `sessions` and `runs` are projections of it. `inbox` holds what was
accepted and is not in the log yet; `answers` what idempotent requests were told; `run_changes` what
watchers are told for a day.
"""

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator

from turnwright.domain.run import ACTIVE

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}

metadata = MetaData(naming_convention=NAMING)


class UtcDateTime(TypeDecorator[datetime]):
    """A moment, aware and in UTC on both databases (SQLite drops the zone)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class TransactionNumber(FunctionElement[int]):
    """The number of the transaction that writes the row, on PostgreSQL."""

    type = BigInteger()
    inherit_cache = True


@compiles(TransactionNumber, "postgresql")
def _numbered(_: TransactionNumber, _compiler: SQLCompiler, **_kw: object) -> str:
    return "(pg_current_xact_id()::text)::bigint"


@compiles(TransactionNumber, "sqlite")
def _not_numbered(_: TransactionNumber, _compiler: SQLCompiler, **_kw: object) -> str:
    # One writer at a time: positions say in which order transactions were committed.
    return "0"


ID = String(64)
ACTIVE_STATUSES = ", ".join(f"'{status}'" for status in ACTIVE)

sessions = Table(
    "sessions",
    metadata,
    Column("id", ID, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("room", Text),
    Column("title", Text),
    Column("metadata", JSON(none_as_null=True)),
    Column("status", Text, nullable=False),
    Column("last_sequence", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("closed_at", UtcDateTime),
    Index("ix_sessions_tenant_room", "tenant", "room", "id"),
)

events = Table(
    "events",
    metadata,
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("id", ID, nullable=False, unique=True),
    Column("run_id", ID),
    Column("type", Text, nullable=False),
    Column("schema_version", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("key", Text),
    Column("data", JSON, nullable=False),
    # The deduplication key: (step, index) of one run, or the fact's own name. A step that is
    # attempted again cannot be recorded again.
    UniqueConstraint("session_id", "key"),
    Index("ix_events_run_id_sequence", "run_id", "sequence"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", ID, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("room", Text),
    Column("actor", Text, nullable=False),
    Column("agent_version", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("trigger_message_id", ID, nullable=False),
    Column("triggered_by_run_id", ID),
    Column("parent_run_id", ID),
    Column("root_run_id", ID, nullable=False),
    Column("retry_of", ID),
    Column("retry_from", Text),
    Column("attempt", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("waiting", JSON(none_as_null=True)),
    Column("cancel_requested_at", UtcDateTime),
    Column("output", JSON(none_as_null=True)),
    Column("failure", JSON(none_as_null=True)),
    Column("usage", JSON, nullable=False),
    Column("limits", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("started_at", UtcDateTime),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime),
    Column("last_sequence", BigInteger, nullable=False),
    Column("execution_id", Text),
    # At most one active root run per session (CONTRACT.md, guarantee 2).
    Index(
        "uq_runs_one_active_root",
        "session_id",
        unique=True,
        sqlite_where=text(f"parent_run_id IS NULL AND status IN ({ACTIVE_STATUSES})"),
        postgresql_where=text(f"parent_run_id IS NULL AND status IN ({ACTIVE_STATUSES})"),
    ),
    Index("ix_runs_session_id", "session_id", "id"),
    Index("ix_runs_tenant_room", "tenant", "room", "id"),
    Index(
        "ix_runs_active",
        "status",
        "updated_at",
        sqlite_where=text(f"status IN ({ACTIVE_STATUSES})"),
        postgresql_where=text(f"status IN ({ACTIVE_STATUSES})"),
    ),
)

inbox = Table(
    "inbox",
    metadata,
    Column("id", ID, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    # None for a queued message.
    Column("run_id", ID),
    # The question or approval that this settles: one accepted answer for each.
    Column("settles", ID, unique=True),
    # Among queued messages: which comes first.
    Column("rank", Integer),
    Column("data", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_inbox_run_id", "run_id"),
    Index("ix_inbox_kind_created_at", "kind", "created_at"),
    Index("ix_inbox_session_id_kind_rank", "session_id", "kind", "rank"),
)

answers = Table(
    "answers",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE")),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_answers_created_at", "created_at"),
    Index("ix_answers_session_id", "session_id"),
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("opaque", JSON, nullable=False),
)

tool_contents = Table(
    "tool_contents",
    metadata,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("tool_call_id", Text, primary_key=True),
    Column("content", Text, nullable=False),
)

run_changes = Table(
    "run_changes",
    metadata,
    # Never given twice, also after the last row was deleted.
    Column("position", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("xid", BigInteger, nullable=False, server_default=TransactionNumber()),
    Column("tenant", Text, nullable=False),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("room", Text),
    Column("run_id", ID, nullable=False),
    Column("actor", Text, nullable=False),
    Column("type", Text, nullable=False),
    # Before the event and after it.
    Column("left_status", Text, nullable=False),
    Column("status", Text, nullable=False),
    # The run as the event left it, as JSON that the database need not read.
    Column("run", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    # Empty on SQLite, where nothing is looked up by it.
    Index("ix_run_changes_xid", "xid", sqlite_where=text("xid > 0")),
    Index("ix_run_changes_session_id", "session_id"),
    sqlite_autoincrement=True,
)

live_texts = Table(
    "live_texts",
    metadata,
    Column("run_id", ID, primary_key=True),
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("start", Integer, primary_key=True, autoincrement=False),
    Column("session_id", ID, nullable=False),
    Column("message_id", ID, nullable=False),
    Column("text", Text, nullable=False),
    Index("ix_live_texts_session_id", "session_id"),
    # Worth nothing after a crash (the round is asked again, or is in the log): the migration
    # makes it UNLOGGED on PostgreSQL.
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", ID, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("name", Text),
    Column("scopes", JSON, nullable=False),
    Column("digest", Text, nullable=False, unique=True),
    Column("revoked", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)
