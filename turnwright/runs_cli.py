"""`turnwright runs`: what an operator can do to runs, through the API."""

from typing import Annotated, Literal

import typer

from turnwright.command import FAILED, remote

runs = typer.Typer(
    help="Runs, through the API at TURNWRIGHT_API_URL with the key TURNWRIGHT_API_KEY.",
    no_args_is_help=True,
)

AsJson = Annotated[bool, typer.Option("--json", help="Runs as the API has them, one a line.")]
Session = Annotated[str | None, typer.Option(help="Of this session.")]
Room = Annotated[str | None, typer.Option(help="Of this room.")]
Actor = Annotated[str | None, typer.Option(help="Performed by this agent.")]
Statuses = Annotated[str | None, typer.Option(help="In one of these statuses: a comma list.")]
Wait = Annotated[bool, typer.Option("--wait", help="Until the runs have ended.")]
Most = Annotated[int | None, typer.Option(min=1)]


@runs.command("list")
def list_runs(
    session: Session = None,
    room: Room = None,
    actor: Actor = None,
    status: Statuses = None,
    active: Annotated[bool, typer.Option("--active", help="That have not ended.")] = False,
    parent: Annotated[str | None, typer.Option(help="Children of this run.")] = None,
    root: Annotated[str | None, typer.Option(help="This run and all below it.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="So many at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first."""
    with remote() as api:
        from turnwright import runs_commands

        runs_commands.list_runs(
            api,
            limit=limit,
            as_json=as_json,
            session_id=session,
            room=room,
            actor=actor,
            status=status,
            active="true" if active else None,
            parent_run_id=parent,
            root_run_id=root,
        )


@runs.command()
def show(
    run: Annotated[str, typer.Argument(help="The run's id.")],
    events: Annotated[int, typer.Option(min=0, max=200, help="So many of its last events.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show a run: where it stands, what it used, its place in Temporal, its last events."""
    with remote() as api:
        from turnwright import runs_commands

        runs_commands.show(api, run, events=events, as_json=as_json)


@runs.command()
def cancel(
    run: Annotated[list[str] | None, typer.Argument(help="Ids of runs.")] = None,
    session: Annotated[str | None, typer.Option(help="The active run of this session.")] = None,
    room: Annotated[str | None, typer.Option(help="All active runs of this room.")] = None,
    reason: Annotated[str | None, typer.Option(help="For the log.")] = None,
    wait: Wait = False,
    as_json: AsJson = False,
) -> None:
    """Cancel runs. Of a run that has ended it says how; nothing else happens."""
    if not (run or session or room):
        raise typer.BadParameter("name runs, a --session or a --room")
    with remote() as api:
        from turnwright import runs_commands

        accepted = runs_commands.cancel(
            api,
            run or [],
            session=session,
            room=room,
            reason=reason,
            wait=wait,
            as_json=as_json,
        )
        if not accepted:
            raise typer.Exit(FAILED)


@runs.command()
def retry(
    run: Annotated[str, typer.Argument(help="A run that failed, timed out or was cancelled.")],
    start: Annotated[
        Literal["checkpoint", "start"],
        typer.Option("--from", help="From where it was, or anew."),
    ] = "checkpoint",
    model: Annotated[str | None, typer.Option(help="provider:name, another model.")] = None,
    rounds: Most = None,
    tool_calls: Most = None,
    total_tokens: Most = None,
    seconds: Annotated[float | None, typer.Option(min=1)] = None,
    wait: Wait = False,
    as_json: AsJson = False,
) -> None:
    """Try a run again, with other limits if need be. With --wait, 0 if it completed."""
    limits = {
        "rounds": rounds,
        "tool_calls": tool_calls,
        "total_tokens": total_tokens,
        "seconds": seconds,
    }
    with remote() as api:
        from turnwright import runs_commands

        done = runs_commands.retry(
            api,
            run,
            wait=wait,
            as_json=as_json,
            from_=start,
            model=model,
            limits={name: most for name, most in limits.items() if most is not None} or None,
        )
        if not done:
            raise typer.Exit(FAILED)


@runs.command()
def watch(
    session: Session = None,
    room: Room = None,
    actor: Actor = None,
    status: Statuses = None,
    as_json: Annotated[bool, typer.Option("--json", help="Frames, one a line.")] = False,
) -> None:
    """Show the active runs, then every change of a run, until interrupted."""
    with remote() as api:
        from turnwright import runs_commands

        runs_commands.watch(
            api, as_json=as_json, session_id=session, room=room, actor=actor, status=status
        )
