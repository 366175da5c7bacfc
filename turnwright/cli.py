"""The program `turnwright`: one command for each way of running it, and for its upkeep.

A command reads its settings before it imports what it runs: a wrong one is told at once.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from turnwright.command import FAILED, plain_errors, settings_of
from turnwright.runs_cli import runs
from turnwright.sessions_cli import sessions

app = typer.Typer(
    name="turnwright",
    help="Durable agent turns on Temporal.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
keys = typer.Typer(help="API keys.", no_args_is_help=True)
app.add_typer(keys, name="keys")
app.add_typer(runs, name="runs")
app.add_typer(sessions, name="sessions")

EXAMPLES = Path(__file__).parent.parent / "examples"

Agents = Annotated[
    str | None,
    typer.Option(help="Modules that define the agents: path/to/agents.py or package.module."),
]


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"turnwright {version('turnwright')}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Durable agent turns on Temporal."""


@app.command()
def dev(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The API's port; 0 picks a free one.")
    ] = 8000,
    temporal_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Temporal's port; 0 as above.")
    ] = 7233,
    ui_port: Annotated[
        int, typer.Option(min=0, max=65535, help="The Temporal UI's port; 0 as above.")
    ] = 8233,
    data_dir: Annotated[Path, typer.Option(help="Where the data are kept.")] = Path(".turnwright"),
    agents: Agents = None,
) -> None:
    """Everything on one machine: Temporal with its UI, database, worker and API."""
    with plain_errors():
        settings = settings_of(agents=agents)
        from turnwright.dev import DevOptions
        from turnwright.foreground import run_dev

        options = DevOptions(
            port=port, temporal_port=temporal_port, ui_port=ui_port, data_dir=data_dir
        )
        run_dev(settings, options, fallback=EXAMPLES / "agents.py")


@app.command()
def demo(
    model: Annotated[
        str | None, typer.Option(help="provider:name instead of the built-in scripted model.")
    ] = None,
) -> None:
    """One real conversation, on free ports and throw-away data, printed as it happens."""
    with plain_errors():
        settings_of()
        from turnwright.demo import run_demo

        run_demo(EXAMPLES, model)


@app.command()
def api() -> None:
    """The API process of a deployment."""
    with plain_errors():
        settings = settings_of()
        from turnwright.foreground import run_api

        run_api(settings)


@app.command()
def worker() -> None:
    """The worker process of a deployment."""
    with plain_errors():
        settings = settings_of()
        from turnwright.foreground import run_worker

        run_worker(settings)


@app.command()
def migrate() -> None:
    """Bring the database to this version, and register Temporal's search attributes."""
    with plain_errors():
        settings = settings_of()
        from turnwright.upkeep import run_migrate

        run_migrate(settings)


@app.command()
def rebuild() -> None:
    """Recompute the projections from the log, and say whether they were equal."""
    with plain_errors():
        settings = settings_of()
        from turnwright.upkeep import run_rebuild

        if not run_rebuild(settings):
            raise typer.Exit(FAILED)


@app.command()
def reconcile(
    rehost: Annotated[
        bool, typer.Option("--rehost", help="Carry terminated runs on too, from the log.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Mend active runs without an execution: settle terminated ones, carry lost ones on."""
    with plain_errors():
        settings = settings_of()
        from turnwright.reconcile import run_reconcile

        if not run_reconcile(settings, rehost=rehost, as_json=as_json):
            raise typer.Exit(FAILED)


@keys.command("create")
def create_key(
    tenant: Annotated[str, typer.Option(help="Whose sessions the key sees.")],
    scopes: Annotated[str, typer.Option(help="A comma list of read, write, operate.")],
    name: Annotated[str | None, typer.Option(help="Shown as the author of messages.")] = None,
) -> None:
    """Create a key and print it, once: only its hash is stored."""
    with plain_errors():
        settings = settings_of()
        from turnwright.upkeep import create

        key_id, key = create(settings, tenant=tenant, scopes=scopes, name=name)
        print(f"{key_id}: shown this once", file=sys.stderr)
        print(key)


@keys.command("list")
def list_keys() -> None:
    """The keys there are."""
    with plain_errors():
        settings = settings_of()
        from turnwright.upkeep import show_keys

        show_keys(settings)


@keys.command("revoke")
def revoke_key(key_id: Annotated[str, typer.Argument(help="The key's id, from `list`.")]) -> None:
    """Revoke a key: it is refused from then on."""
    with plain_errors():
        settings = settings_of()
        from turnwright.upkeep import revoke

        revoke(settings, key_id)
        print(f"{key_id} is revoked")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the program, and end the process with its exit status.

    Past Python's own finalization: threads of Temporal's SDK may come back into an interpreter
    that is going, which aborts a `migrate` that has done its work (FACTS.md:
    `PyGILState_Release`); and the thread of a tool that never returns would be waited for.
    """
    status = 0
    try:
        app(args=None if arguments is None else list(arguments))
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else FAILED
    except Exception:  # noqa: BLE001  (nobody else will show it any more)
        traceback.print_exc()
        status = FAILED
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
