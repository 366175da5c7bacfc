"""The pure part: what a session, a run, an event and a conversation are. No I/O, stdlib and pydantic only."""
