"""docker-compose.yml, judged by the real Compose program (which needs no engine for that)."""

import json
import os
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from turnwright.settings import load_settings

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yml"
REQUIRED = {"POSTGRES_PASSWORD": "unguessable", "TURNWRIGHT_AGENTS_DIR": "./examples"}


def compose(
    *arguments: str, variables: dict[str, str], file: Path = FILE
) -> subprocess.CompletedProcess[str]:
    """The program itself: the package's Python wrapper exits 0 whatever happens."""
    package = find_spec("compose")
    assert package is not None
    assert package.origin is not None
    return subprocess.run(
        [str(Path(package.origin).with_name("docker-compose")), "-f", str(file), *arguments],
        env={"PATH": os.environ["PATH"], **variables},
        # No engine is asked, and no .env file of a developer's is read.
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    file = tmp_path / "docker-compose.yml"
    file.write_text(FILE.read_text())
    return file


@pytest.fixture(scope="session")
def resolved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The services as Compose understands them, variables and anchors resolved."""
    file = tmp_path_factory.mktemp("compose") / "docker-compose.yml"
    file.write_text(FILE.read_text())
    result = compose("config", "--format", "json", variables=REQUIRED, file=file)
    assert result.returncode == 0, result.stderr
    return dict(json.loads(result.stdout)["services"])


def test_the_file_is_valid(project: Path) -> None:
    result = compose("config", "-q", variables=REQUIRED, file=project)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("missing", REQUIRED)
def test_nothing_secret_or_necessary_has_a_default(project: Path, missing: str) -> None:
    variables = {name: value for name, value in REQUIRED.items() if name != missing}
    result = compose("config", "-q", variables=variables, file=project)
    assert result.returncode != 0
    assert missing in result.stderr


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("    shm_size:", "    shm_sise:"),
        ("      migrate: {", "      migrations: {"),
        ("{ condition: service_healthy }", "{ condition: service_well }"),
        ("- postgres:/var/lib/postgresql", "- data:/var/lib/postgresql"),
    ],
)
def test_compose_would_see_a_mistake(project: Path, right: str, wrong: str) -> None:
    text = project.read_text()
    assert right in text
    project.write_text(text.replace(right, wrong))
    assert compose("config", "-q", variables=REQUIRED, file=project).returncode != 0


def test_everything_is_published_on_loopback_alone(resolved: dict[str, Any]) -> None:
    published = {
        (name, port["host_ip"], port["published"])
        for name, service in resolved.items()
        for port in service.get("ports", [])
    }
    assert published == {
        ("api", "127.0.0.1", "8000"),
        ("temporal-ui", "127.0.0.1", "8233"),
    }


def test_what_runs_for_good_comes_back_and_what_runs_once_is_waited_for(
    resolved: dict[str, Any],
) -> None:
    restarts = {name: service["restart"] for name, service in resolved.items()}
    once = {name for name, restart in restarts.items() if restart == "on-failure"}
    assert once == {"temporal-schema", "temporal-namespace", "migrate"}
    assert {restarts[name] for name in restarts.keys() - once} == {"unless-stopped"}
    conditions = {
        (needed, how["condition"])
        for service in resolved.values()
        for needed, how in service.get("depends_on", {}).items()
    }
    assert conditions == {
        *((name, "service_completed_successfully") for name in once),
        ("postgres", "service_healthy"),
        ("temporal", "service_healthy"),
    }


def test_images_are_pinned_to_the_versions_that_we_test_against(resolved: dict[str, Any]) -> None:
    assert {service["image"] for service in resolved.values()} == {
        "postgres:18",
        "temporalio/admin-tools:1.32.0",
        "temporalio/server:1.32.0",
        "temporalio/ui:2.54.1",
        "turnwright:0.1.0",
    }


def test_our_services_are_not_root_and_can_write_nothing(resolved: dict[str, Any]) -> None:
    for name in ("migrate", "api", "worker"):
        assert resolved[name]["read_only"]
        assert resolved[name]["cap_drop"] == ["ALL"]


def test_our_settings_are_ones_that_turnwright_knows(
    resolved: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in resolved["worker"]["environment"].items():
        if name.startswith("TURNWRIGHT_"):
            monkeypatch.setenv(name, value)
    settings = load_settings(env_file=None)
    assert settings.sqlalchemy_url == "postgresql+psycopg://turnwright@postgres/turnwright"
