"""What happened to runs, for `GET /v1/watch`."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    postgresql = op.get_context().dialect.name == "postgresql"
    xid = "(pg_current_xact_id()::text)::bigint" if postgresql else "0"
    op.create_table(
        "run_changes",
        sa.Column(
            "position", sa.BigInteger().with_variant(sa.Integer, "sqlite"), autoincrement=True
        ),
        sa.Column("xid", sa.BigInteger, nullable=False, server_default=sa.text(xid)),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("session_id", sa.String(64), nullable=False),
        sa.Column("room", sa.Text),
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("left_status", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name="fk_run_changes_session_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("position", name="pk_run_changes"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_run_changes_xid", "run_changes", ["xid"], sqlite_where=sa.text("xid > 0"))
    op.create_index("ix_run_changes_session_id", "run_changes", ["session_id"])
