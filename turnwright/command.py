"""What every command shares: its settings, and errors that are one line and an exit status."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from turnwright.settings import Settings, SettingsError, export_provider_keys, load_settings

if TYPE_CHECKING:
    from turnwright.remote import Remote

FAILED, USAGE, INTERRUPTED = 1, 2, 130


def settings_of(*, agents: str | None = None) -> Settings:
    """The settings, with logging as they say. Raises `SettingsError`."""
    settings = load_settings(agents=agents)
    from turnwright.telemetry import configure_logging

    configure_logging(settings.log_format, settings.log_level)
    export_provider_keys()
    return settings


@contextmanager
def plain_errors() -> Iterator[None]:
    """What a person can mend is one line on standard error, and an exit status."""
    from turnwright.domain.errors import Invalid, TurnwrightError
    from turnwright.loading import AgentsError

    try:
        yield
    except (SettingsError, AgentsError) as error:
        _fail(str(error), USAGE)
    except Invalid as error:
        _fail(error.detail, USAGE)
    except TurnwrightError as error:
        _fail(error.detail, FAILED)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if type(error).__module__.startswith(("turnwright.", "api.")):
            _fail(str(error), FAILED)
        raise


@contextmanager
def remote() -> Iterator["Remote"]:
    """The API that the settings name, for an operator's command."""
    with plain_errors():
        settings = settings_of()
        from turnwright.remote import Remote

        with Remote(settings) as api:
            yield api


def complain(message: str) -> None:
    """One line on standard error."""
    print(f"turnwright: {message}", file=sys.stderr)


def _fail(message: str, status: int) -> None:
    complain(message)
    raise typer.Exit(status) from None
