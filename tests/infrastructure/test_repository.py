"""What must not be in the repository, and what must agree in it."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted(path.name for path in ROOT.glob("requirements*.lock"))

# Where packages come from and where this checkout lies are a machine's own affair.
OF_A_MACHINE = re.compile(
    r"--(extra-)?index-url|--find-links|--trusted-host"
    r"|https?://[^/\s]*(pypi|pythonhosted|registry\.npmjs|deb\.debian)[^/\s]*/"
    r"|(?<![\w.$}])/(root|home/\w+|Users/\w+|work|opt/\w+)/"
)
NOT_TEXT = {".png", ".ico", ".woff2", ".gz"}


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [ROOT / line for line in done.stdout.splitlines()]
    return [p for p in paths if p.is_file() and p.suffix not in NOT_TEXT and p != Path(__file__)]


def test_no_file_names_an_index_host_or_a_path_of_a_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in tracked()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1)
        if OF_A_MACHINE.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "--extra-index-url https://example.org/simple",
        'url = "https://files.pythonhosted.org/packages/x"',
        'DATA = "/root/project/data"',
        "cd /home/somebody/turnwright",
    ],
)
def test_such_a_line_would_be_seen(line: str) -> None:
    assert OF_A_MACHINE.search(line)


def test_every_locked_package_has_its_hashes() -> None:
    assert len(LOCKS) == 4
    for name in LOCKS:
        entries = re.split(r"\n(?=\S)", (ROOT / name).read_text())
        for entry in entries:
            if not entry.startswith("#"):
                assert re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+", entry), entry
                assert "--hash=sha256:" in entry, entry


def test_what_is_deployed_is_what_is_tested() -> None:
    def pins(name: str) -> dict[str, str]:
        return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text(), re.MULTILINE))

    tested = pins("requirements-dev.lock")
    for name in ("requirements.lock", "requirements-build.lock"):
        assert pins(name).items() <= tested.items()


def test_the_image_carries_the_projects_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"image: turnwright:{version}\n" in (ROOT / "docker-compose.yml").read_text()


def test_the_submission_script_runs_the_two_commands_of_a_developer() -> None:
    script = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [line for line in script if line.startswith("make")] == ["make check", "make test"]
