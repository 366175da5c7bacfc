"""What `turnwright sessions` does, through the API."""

import sys

from rich.markup import escape
from rich.table import Column, Table

from turnwright.remote import Remote
from turnwright.runs_commands import say
from turnwright.runs_view import console, show_runs

NEWEST = 20


def list_sessions(api: Remote, *, limit: int, as_json: bool, **wanted: str | None) -> None:
    """Print the sessions that a filter finds, newest first."""
    found = api.items("sessions", limit=limit, **wanted)
    if as_json:
        for session in found:
            say(session)
        return
    rest = (Column(name, overflow="fold") for name in ("agent", "room", "title"))
    table = Table(Column("session", no_wrap=True), "status", *rest, "active run", "events")
    for session in found:
        active = session["active_run"]
        cells = (
            session["status"],
            session["agent"],
            session["room"] or "",
            session["title"] or "",
            f"{active['id']} {active['status']}" if active else "",
            str(session["last_sequence"]),
        )
        table.add_row(session["id"], *(escape(cell) for cell in cells))
    console().print(table if table.row_count else "no sessions")


def show(api: Remote, session_id: str, *, as_json: bool) -> None:
    """Print one session, and its newest runs."""
    session = api.get("sessions", session_id)
    if as_json:
        say(session)
        return
    for name in ("id", "status", "agent", "mode", "room", "title", "created_at", "updated_at"):
        if session[name] is not None:
            print(f"{name:<10} {session[name]}")
    print(f"{'events':<10} {session['last_sequence']}")
    show_runs(api.items("runs", limit=NEWEST, session_id=session_id))


def export(api: Remote, session_id: str) -> None:
    """Print all of a session: `{"session": …}`, `{"run": …}`s, then `{"event": …}`s in order."""
    session = api.get("sessions", session_id)
    say({"session": session})
    for run in api.items("runs", limit=sys.maxsize, session_id=session_id):
        say({"run": run})
    for event in api.items("sessions", session_id, "events", limit=session["last_sequence"]):
        say({"event": event})
