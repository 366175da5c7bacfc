"""What may be logged of an exception: its kind and its place. Its text may quote what people said."""

import traceback
from pathlib import Path

FRAMES = 6
"""How many frames are named, the innermost first."""


def kind_of(error: BaseException) -> str:
    """The class of the exception; of a group's first one, since frameworks wrap single ones."""
    return type(_single(error)).__name__


def place_of(error: BaseException) -> str:
    """Where it was raised and by whom that was called: `store.py:12 < rounds.py:40 < …`."""
    frames = traceback.extract_tb(_single(error).__traceback__)[-FRAMES:]
    return " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames)) or "unknown"


def _single(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
