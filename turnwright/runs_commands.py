"""What `turnwright runs` does, through the API."""

import json
from collections.abc import Sequence
from typing import Final

from turnwright.command import complain
from turnwright.remote import MAX_PAGE, Frame, Json, Remote, RemoteError
from turnwright.runs_view import frame_line, show_run, show_runs, status_of

ENDINGS: Final = ("run.completed", "run.failed", "run.cancelled", "run.timed_out")


def list_runs(api: Remote, *, limit: int, as_json: bool, **wanted: str | None) -> None:
    """Print the runs that a filter finds, newest first."""
    runs = api.items("runs", limit=limit, **wanted)
    if as_json:
        for run in runs:
            say(run)
    else:
        show_runs(runs)


def show(api: Remote, run_id: str, *, events: int, as_json: bool) -> None:
    """Print one run, and its last events."""
    run = api.get("runs", run_id)
    if as_json:
        say(run)
        return
    # A session's sequences, of which some may be other runs'.
    after = max(0, run["last_sequence"] - MAX_PAGE)
    page = api.get("runs", run_id, "events", after=after, limit=MAX_PAGE)["data"]
    show_run(run, page[-events:] if events else [])


def cancel(
    api: Remote,
    run_ids: Sequence[str],
    *,
    session: str | None,
    room: str | None,
    reason: str | None,
    wait: bool,
    as_json: bool,
) -> bool:
    """Cancel runs, and say what became of each. Whether every one was accepted."""
    targets = [("runs", run_id) for run_id in run_ids]
    targets += [("sessions", session)] if session else []
    targets += [("rooms", room)] if room else []
    done, cancelled = True, list[Json]()
    for kind, name in targets:
        try:
            answer = api.post(kind, name, "cancel", reason=reason)
        except RemoteError as error:
            complain(f"{name}: {error}")
            done = False
        else:
            cancelled += answer["runs"] if "runs" in answer else [answer["run"]]
    for run in cancelled:
        tell(ended(api, run) if wait else run, as_json=as_json, pending="cancel accepted")
    if done and not cancelled and not as_json:
        print("no active runs")
    return done


def retry(api: Remote, run_id: str, *, wait: bool, as_json: bool, **wanted: object) -> bool:
    """Try a run again, and say so; with `wait`, whether the new attempt completed."""
    run = api.post("runs", run_id, "retry", **wanted)["run"]
    if wait:
        if not as_json:
            complain(f"{run['id']} is attempt {run['attempt']}; waiting for its end")
        run = ended(api, run)
    tell(run, as_json=as_json, pending=f"attempt {run['attempt']}")
    return not wait or run["status"] == "completed"


def watch(api: Remote, *, as_json: bool, **wanted: str | None) -> None:
    """Print what becomes of runs, until interrupted."""
    for frame in api.stream("watch", query=wanted):
        if as_json:
            say({"id": frame.id, "event": frame.event, "data": frame.data})
        elif frame.event == "snapshot":
            show_runs(frame.data["runs"])
        elif frame.event == "run":
            print(frame_line(frame), flush=True)


def ended(api: Remote, run: Json) -> Json:
    """The run, after it has ended. What it comes to wait for is told meanwhile."""
    if run["ended_at"] is None:
        for frame in api.stream("runs", run["id"], "stream", after=run["last_sequence"]):
            if frame.event in ENDINGS:
                break
            _tell_wait(run, frame)
    return api.get("runs", run["id"])


def tell(run: Json, *, as_json: bool, pending: str) -> None:
    """Print the run in a line; if it is active, with what is `pending`."""
    if as_json:
        say(run)
    elif run["ended_at"] is None:
        print(f"{run['id']}  {pending}  {run['status']}", flush=True)
    else:
        print(f"{run['id']}  {status_of(run)}", flush=True)


def say(value: Json) -> None:
    """One JSON object, in a line of its own."""
    print(json.dumps(value, ensure_ascii=False), flush=True)


def _tell_wait(run: Json, frame: Frame) -> None:
    if frame.event == "run.waiting":
        complain(f"{run['id']} is {frame.data['data']['status']}")
