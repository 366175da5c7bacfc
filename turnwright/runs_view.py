"""Runs and events as an operator reads them: tables, and lines that hold one thing each."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from turnwright.remote import Frame, Json

PIPE_WIDTH: Final = 200
"""Columns of a table that is not printed to a terminal."""
CUT: Final = 80
"""Characters of what people and tools said."""

_UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def console() -> Console:
    """Where tables go. A file or a pipe has no edge to fold ids at."""
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def show_runs(runs: Iterable[Json]) -> None:
    """A table of runs."""
    folding = (Column(name, overflow="fold") for name in ("status", "actor"))
    table = Table(
        Column("run", no_wrap=True),
        *folding,
        Column("session", overflow="fold"),
        Column("elapsed", justify="right"),
        Column("rounds/calls", justify="right"),
        Column("waiting for", overflow="fold"),
    )
    for run in runs:
        cells = (
            status_of(run),
            run["actor"],
            run["session_id"],
            elapsed(run),
            f"{run['usage']['rounds']}/{run['usage']['tool_calls']}",
            waits_for(run),
        )
        table.add_row(run["id"], *(escape(cell) for cell in cells))
    console().print(table if table.row_count else "no runs")


def show_run(run: Json, events: Iterable[Json]) -> None:
    """One run: what it is, where it stands, and its last events."""
    out = Console(highlight=False, soft_wrap=True)
    for name, value in _details(run):
        out.print(f"[dim]{name:<10}[/] {escape(value)}")
    for event in events:
        out.print(f"[dim]{event['sequence']:>10}[/] {escape(event_line(event))}")


def status_of(run: Json) -> str:
    """The status; of a failed run with the reason, and whether a cancel is under way."""
    if run["failure"]:
        return f"{run['status']}: {run['failure']['reason']}"
    pending = run["cancel_requested_at"] is not None and run["ended_at"] is None
    return f"{run['status']}, to be cancelled" if pending else str(run["status"])


def elapsed(run: Json) -> str:
    """How long the run took, or has taken so far."""
    ended = run["ended_at"]
    until = datetime.fromisoformat(ended) if ended else datetime.now(UTC)
    return duration((until - datetime.fromisoformat(run["created_at"])).total_seconds())


def duration(seconds: float) -> str:
    """Two units are enough: `3m 20s`, `5d 2h`."""
    rest, told = max(0, int(seconds)), list[str]()
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count or told:
            told.append(f"{count}{unit}")
    return " ".join(told[:2]) or "0s"


def waits_for(run: Json) -> str:
    """What a waiting run waits for, in a few words."""
    waiting = run["waiting"]
    if waiting is None:
        return ""
    if waiting["question"]:
        choices = " / ".join(waiting["question"]["choices"] or ())
        return cut(f"{waiting['question']['text']} {choices}".rstrip())
    if waiting["approval"]:
        approval = waiting["approval"]
        return cut(f"approval of {approval['name']} {json.dumps(approval['arguments'])}")
    return f"until {waiting['until']}" if waiting["until"] else f"more {waiting['limit']}"


def run_line(run: Json) -> str:
    """The run in one line."""
    return "  ".join(filter(None, (run["id"], status_of(run), run["actor"], waits_for(run))))


def frame_line(frame: Frame) -> str:
    """One change of a run in one line, after when it was."""
    run = frame.data["run"]
    return f"{run['updated_at'][11:19]}  {frame.data['type']:<20}  {run_line(run)}"


def event_line(event: Json) -> str:
    """One event of a log in one line."""
    data = event["data"]
    told = [data[name] for name in ("name", "outcome", "status", "reason") if data.get(name)]
    if failure := data.get("failure"):
        told.append(failure["reason"])
    told += [cut(data[name]) for name in ("text", "content") if data.get(name)]
    if "arguments" in data:
        told.append(cut(json.dumps(data["arguments"], ensure_ascii=False)))
    return "  ".join([event["created_at"][:19], f"{event['type']:<20}", *map(str, told)]).rstrip()


def cut(text: str) -> str:
    """The text's beginning, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= CUT else f"{line[: CUT - 1]}…"


def _details(run: Json) -> Iterator[tuple[str, str]]:
    usage, limits = run["usage"], run["limits"]
    yield "run", run["id"]
    yield "status", status_of(run)
    if run["failure"]:
        yield "failure", cut(run["failure"]["message"])
    if waits := waits_for(run):
        yield "waits for", waits
    yield "actor", f"{run['actor']} {run['agent_version']}, {run['model']}"
    yield "session", run["session_id"] + (f" in {run['room']}" if run["room"] else "")
    if run["attempt"] > 1:
        yield "attempt", f"{run['attempt']}, after {run['retry_of']}"
    yield "created", f"{run['created_at']}, {elapsed(run)}"
    tokens = usage["input_tokens"] + usage["output_tokens"]
    cost = "" if usage["cost_usd"] is None else f", {usage['cost_usd']} USD"
    used = (
        f"{usage['rounds']}/{_most(limits['rounds'])} rounds",
        f"{usage['tool_calls']}/{_most(limits['tool_calls'])} calls",
        f"{tokens}/{_most(limits['total_tokens'])} tokens",
    )
    yield "usage", ", ".join(used) + cost
    if limits["seconds"] is not None:
        yield "deadline", f"{duration(limits['seconds'])} after its start"
    if run["output"]:
        yield "output", cut(run["output"]["text"])
    yield "temporal", run["temporal"]["url"] or run["temporal"]["workflow_id"]


def _most(limit: int | None) -> str:
    return "∞" if limit is None else str(limit)
