"""Retries, and more kinds of rows in the inbox: decisions, and messages that wait in a queue."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    with op.batch_alter_table("runs") as runs:
        runs.add_column(sa.Column("retry_from", sa.Text))
    with op.batch_alter_table("inbox") as inbox:
        inbox.drop_constraint("uq_inbox_question_id", type_="unique")
        inbox.alter_column("question_id", new_column_name="settles")
        inbox.add_column(sa.Column("rank", sa.Integer))
        # A queued message has no run yet.
        inbox.alter_column("run_id", nullable=True, existing_type=sa.String(64))
    # Only now has the column its new name, as far as SQLite's copy of the table goes.
    with op.batch_alter_table("inbox") as inbox:
        inbox.create_unique_constraint("uq_inbox_settles", ["settles"])
    op.create_index("ix_inbox_session_id_kind_rank", "inbox", ["session_id", "kind", "rank"])
