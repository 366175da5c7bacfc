"""`turnwright sessions`: what an operator can see of sessions, through the API."""

from typing import Annotated, Literal

import typer

from turnwright.command import remote

sessions = typer.Typer(
    help="Sessions, through the API at TURNWRIGHT_API_URL with the key TURNWRIGHT_API_KEY.",
    no_args_is_help=True,
)

AsJson = Annotated[bool, typer.Option("--json", help="Sessions as the API has them, one a line.")]
Session = Annotated[str, typer.Argument(help="The session's id.")]


@sessions.command("list")
def list_sessions(
    room: Annotated[str | None, typer.Option(help="Of this room.")] = None,
    agent: Annotated[str | None, typer.Option(help="With this agent.")] = None,
    status: Annotated[Literal["open", "closed"] | None, typer.Option()] = None,
    limit: Annotated[int, typer.Option(min=1, help="So many at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List sessions, newest first."""
    with remote() as api:
        from turnwright import sessions_commands

        sessions_commands.list_sessions(
            api, limit=limit, as_json=as_json, room=room, agent=agent, status=status
        )


@sessions.command()
def show(session: Session, as_json: AsJson = False) -> None:
    """Show a session and its newest runs."""
    with remote() as api:
        from turnwright import sessions_commands

        sessions_commands.show(api, session, as_json=as_json)


@sessions.command()
def export(session: Session) -> None:
    """Print all that the API has of a session: its row, its runs, its log; one object a line."""
    with remote() as api:
        from turnwright import sessions_commands

        sessions_commands.export(api, session)
