"""What Alembic runs: the migrations, on the connection that `turnwright.store.migrate` opened."""

from alembic import context

from turnwright.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # SQLite changes a table by copying it.
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
