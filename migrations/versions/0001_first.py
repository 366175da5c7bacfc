"""The first schema: sessions, their log and its projections, the inbox, the answers, keys."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ACTIVE = (
    "status IN ('starting', 'running', 'waiting_for_user', 'waiting_for_approval',"
    " 'waiting_for_schedule', 'waiting_for_budget')"
)


def upgrade() -> None:
    _sessions()
    _events()
    _runs()
    _inbox()
    _answers()
    _beside_runs()
    _live_texts()
    _api_keys()


def _sessions() -> None:
    op.create_table(
        "sessions",
        _id("id"),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("room", sa.Text),
        sa.Column("title", sa.Text),
        sa.Column("metadata", sa.JSON),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("last_sequence", sa.BigInteger, nullable=False),
        _time("created_at"),
        _time("updated_at"),
        _time("closed_at", nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_index("ix_sessions_tenant_room", "sessions", ["tenant", "room", "id"])


def _events() -> None:
    op.create_table(
        "events",
        _id("session_id"),
        sa.Column("sequence", sa.BigInteger, nullable=False, autoincrement=False),
        _id("id"),
        _id("run_id", nullable=True),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("schema_version", sa.Integer, nullable=False),
        _time("created_at"),
        sa.Column("key", sa.Text),
        sa.Column("data", sa.JSON, nullable=False),
        _belongs_to("sessions", "session_id", name="fk_events_session_id"),
        sa.PrimaryKeyConstraint("session_id", "sequence", name="pk_events"),
        sa.UniqueConstraint("id", name="uq_events_id"),
        sa.UniqueConstraint("session_id", "key", name="uq_events_session_id_key"),
    )
    op.create_index("ix_events_run_id_sequence", "events", ["run_id", "sequence"])


def _runs() -> None:
    op.create_table(
        "runs",
        _id("id"),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        _id("session_id"),
        sa.Column("room", sa.Text),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("agent_version", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        _id("trigger_message_id"),
        _id("triggered_by_run_id", nullable=True),
        _id("parent_run_id", nullable=True),
        _id("root_run_id"),
        _id("retry_of", nullable=True),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("waiting", sa.JSON),
        _time("cancel_requested_at", nullable=True),
        sa.Column("output", sa.JSON),
        sa.Column("failure", sa.JSON),
        sa.Column("usage", sa.JSON, nullable=False),
        sa.Column("limits", sa.JSON, nullable=False),
        _time("created_at"),
        _time("started_at", nullable=True),
        _time("updated_at"),
        _time("ended_at", nullable=True),
        sa.Column("last_sequence", sa.BigInteger, nullable=False),
        sa.Column("execution_id", sa.Text),
        _belongs_to("sessions", "session_id", name="fk_runs_session_id"),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_index("ix_runs_session_id", "runs", ["session_id", "id"])
    op.create_index("ix_runs_tenant_room", "runs", ["tenant", "room", "id"])
    op.create_index("ix_runs_active", "runs", ["status", "updated_at"], **_where(ACTIVE))
    op.create_index(
        "uq_runs_one_active_root",
        "runs",
        ["session_id"],
        unique=True,
        **_where(f"parent_run_id IS NULL AND {ACTIVE}"),
    )


def _inbox() -> None:
    op.create_table(
        "inbox",
        _id("id"),
        sa.Column("kind", sa.Text, nullable=False),
        _id("session_id"),
        _id("run_id"),
        _id("question_id", nullable=True),
        sa.Column("data", sa.JSON, nullable=False),
        _time("created_at"),
        _belongs_to("sessions", "session_id", name="fk_inbox_session_id"),
        sa.PrimaryKeyConstraint("id", name="pk_inbox"),
        sa.UniqueConstraint("question_id", name="uq_inbox_question_id"),
    )
    op.create_index("ix_inbox_run_id", "inbox", ["run_id"])
    op.create_index("ix_inbox_kind_created_at", "inbox", ["kind", "created_at"])


def _answers() -> None:
    op.create_table(
        "answers",
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        _id("session_id", nullable=True),
        _time("created_at"),
        _belongs_to("sessions", "session_id", name="fk_answers_session_id"),
        sa.PrimaryKeyConstraint("tenant", "key", name="pk_answers"),
    )
    op.create_index("ix_answers_created_at", "answers", ["created_at"])
    op.create_index("ix_answers_session_id", "answers", ["session_id"])


def _beside_runs() -> None:
    op.create_table(
        "checkpoints",
        _id("run_id"),
        sa.Column("round", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("opaque", sa.JSON, nullable=False),
        _belongs_to("runs", "run_id", name="fk_checkpoints_run_id"),
        sa.PrimaryKeyConstraint("run_id", "round", name="pk_checkpoints"),
    )
    op.create_table(
        "tool_contents",
        _id("run_id"),
        sa.Column("tool_call_id", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        _belongs_to("runs", "run_id", name="fk_tool_contents_run_id"),
        sa.PrimaryKeyConstraint("run_id", "tool_call_id", name="pk_tool_contents"),
    )


def _live_texts() -> None:
    op.create_table(
        "live_texts",
        _id("run_id"),
        sa.Column("round", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("attempt", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("start", sa.Integer, nullable=False, autoincrement=False),
        _id("session_id"),
        _id("message_id"),
        sa.Column("text", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "round", "attempt", "start", name="pk_live_texts"),
    )
    op.create_index("ix_live_texts_session_id", "live_texts", ["session_id"])
    if op.get_context().dialect.name == "postgresql":
        # Worth nothing after a crash, and written some twenty times a second in a round.
        op.execute("ALTER TABLE live_texts SET UNLOGGED")


def _api_keys() -> None:
    op.create_table(
        "api_keys",
        _id("id"),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("revoked", sa.Boolean, nullable=False),
        _time("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
        sa.UniqueConstraint("digest", name="uq_api_keys_digest"),
    )


def _id(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(64), nullable=nullable)


def _time(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _belongs_to(table: str, column: str, *, name: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{table}.id"], name=name, ondelete="CASCADE")


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
