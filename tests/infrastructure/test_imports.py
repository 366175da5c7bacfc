"""What importing our packages loads, and that they are ours."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PRINT_HEAVY = """
import sys
import {module}
heavy = "sqlalchemy psycopg alembic httpx fastapi uvicorn pydantic_ai openai anthropic google.genai"
print(*(name for name in heavy.split() if name in sys.modules))
"""


def loaded_by(module: str) -> list[str]:
    return python(PRINT_HEAVY.format(module=module)).split()


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout


@pytest.mark.parametrize(
    "module", ["workflows", "workflows.run", "turnwright", "turnwright.domain"]
)
def test_no_database_http_or_model_library_is_loaded(module: str) -> None:
    assert loaded_by(module) == []


def test_they_would_be_seen() -> None:
    assert loaded_by("turnwright.store.engine") == ["sqlalchemy"]


@pytest.mark.parametrize("package", ["workflows", "activities", "api", "turnwright", "worker"])
def test_the_packages_are_ours(package: str) -> None:
    """There is a package `workflows` on PyPI."""
    file = python(f"import {package}; print({package}.__file__)").strip()
    assert Path(file).is_relative_to(ROOT)
