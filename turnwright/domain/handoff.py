"""What a transaction leaves for Temporal to be told, once it is committed.

Nothing depends on it: what is lost on the way, the sweep finds in the database.
"""

from dataclasses import dataclass

from turnwright.domain.run import Run


@dataclass(frozen=True)
class Start:
    """The run is `starting`, and wants an execution."""

    run: Run


@dataclass(frozen=True)
class Wake:
    """Something was accepted for the session's active run: the inbox row `ref`."""

    session_id: str
    ref: str


@dataclass(frozen=True)
class Cancel:
    """The run's cancellation was accepted."""

    run: Run


Handoff = Start | Wake | Cancel
