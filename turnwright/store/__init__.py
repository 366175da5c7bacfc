"""The store: the only SQL there is. SQLite and PostgreSQL behind one layer of SQLAlchemy."""
