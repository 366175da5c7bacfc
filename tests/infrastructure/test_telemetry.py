"""Logs for people or for machines, libraries' and ours alike."""

import json
import subprocess
import sys

LOGGING = """
import logging, structlog
from turnwright.telemetry import configure_logging
configure_logging("{log_format}", "{level}")
structlog.contextvars.bind_contextvars(run_id="run_1")
structlog.get_logger("ours").info("run opened", round=1)
secret = "hunter2"
try:
    raise ValueError("broken")
except ValueError:
    logging.getLogger("theirs").warning("it %s", "failed", exc_info=True)
logging.getLogger("uvicorn.access").info("GET /v1/sessions")
structlog.get_logger("ours").debug("detail")
try:
    raise ValueError("what the user said")
except ValueError:
    logging.getLogger("temporalio.activity").warning("activity failed", exc_info=True)
"""


def lines(log_format: str, level: str = "info") -> list[str]:
    code = LOGGING.format(log_format=log_format, level=level)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "", "standard output is for results"
    return done.stderr.splitlines()


def test_json_is_one_object_a_line_whoever_logs() -> None:
    ours, theirs, _ = (json.loads(line) for line in lines("json"))
    assert ours["message"] == "run opened"
    assert (ours["level"], ours["logger"], ours["run_id"], ours["round"]) == (
        *("info", "ours", "run_1"),
        1,
    )
    assert ours["timestamp"].endswith("Z")
    assert theirs["message"] == "it failed"
    assert (theirs["level"], theirs["run_id"]) == ("warning", "run_1")
    assert "ValueError: broken" in theirs["exception"]


def test_an_activitys_failure_is_logged_by_kind_and_place_alone() -> None:
    *_, failed = (json.loads(line) for line in lines("json"))
    assert failed["message"].startswith("activity failed: ValueError at ")
    assert "what the user said" not in json.dumps(failed)


def test_console_is_for_people_and_shows_no_local_variables() -> None:
    text = "\n".join(lines("console"))
    assert "run opened" in text
    assert "ValueError: broken" in text
    assert "hunter2" not in text.replace('secret = "hunter2"', "")
    assert "GET /v1" not in text
    assert "\x1b" not in text


def test_the_level_holds_for_everybody() -> None:
    assert "detail" in "\n".join(lines("console", "debug"))
    assert lines("json", "error") == []
