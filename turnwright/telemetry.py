"""Logs: one line an occurrence, on standard error; ids in it, never what people or tools said."""

import logging
import sys
from typing import Literal

import structlog
from structlog.typing import Processor

from turnwright.faults import kind_of, place_of

LogFormat = Literal["console", "json"]

# Theirs and ours alike: a record of the standard library takes the same way as our own.
_SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
)

_LOUD = {
    # A line for every request, its path and query in it; ours are counted in metrics.
    "uvicorn.access": logging.CRITICAL,
    "httpx": logging.WARNING,
    "httpx2": logging.WARNING,
    "alembic": logging.WARNING,
    # It tells of every stop, ours included.
    "temporalio.worker": logging.WARNING,
}


class _WithoutFailureText(logging.Filter):
    """Keeps an exception's kind and place; its text may quote a provider or a tool."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            record.msg = f"{record.getMessage()}: {kind_of(error)} at {place_of(error)}"
            record.args = ()
            record.exc_info = None
        return True


def configure_logging(log_format: LogFormat = "console", level: str = "info") -> None:
    """Send the logs of this process, libraries' included, to standard error in `log_format`.

    Called once, by a composition root. Log with `structlog.get_logger(__name__)`.
    """
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_rendering(log_format),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name, threshold in _LOUD.items():
        logging.getLogger(name).setLevel(threshold)
    # The SDK warns of every attempt that fails.
    logging.getLogger("temporalio.activity").addFilter(_WithoutFailureText())


def _rendering(log_format: LogFormat) -> tuple[Processor, ...]:
    match log_format:
        case "console":
            colours = sys.stderr.isatty()
            # Rich tracebacks show local variables: conversations and keys.
            plain = structlog.dev.plain_traceback
            return (structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=plain),)
        case "json":
            return (
                structlog.processors.format_exc_info,
                structlog.processors.EventRenamer("message"),
                structlog.processors.JSONRenderer(),
            )
