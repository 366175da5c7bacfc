"""Carries out a Dockerfile's steps in a folder, where there is no engine to do it.

Understands what our Dockerfile uses, and refuses the rest. `/venv` and `/app` become folders of
the stage; a step that changes the system (adding a user) is recorded, not carried out.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Self

OF_THE_SYSTEM = ("useradd",)


@dataclass
class Stage:
    """One `FROM` and what followed it."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "root"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    healthcheck: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def path(self, inside: str) -> Path:
        """Where a path of the image is on this machine."""
        return self.root / (Path(self.folder) / inside).relative_to("/")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """A command in the stage's folder and environment, and in none of ours."""
        return subprocess.run(
            [self._outside(part) for part in command],
            env={
                **{name: os.environ[name] for name in os.environ if name.startswith("PIP_")},
                "HOME": str(self.root),
                "PATH": os.environ["PATH"],
                **{name: self._outside(value) for name, value in self.environment.items()},
            },
            cwd=self.path("."),
            capture_output=True,
            text=True,
            check=False,
        )

    def _outside(self, text: str) -> str:
        for folder in ("/venv", "/app"):
            text = text.replace(folder, str(self.root / folder[1:]))
        return text


@dataclass
class Build:
    """The stages of a Dockerfile, carried out one after the other below `work`."""

    context: Path
    work: Path
    stages: dict[str, Stage] = field(default_factory=dict)

    @classmethod
    def of(cls, context: Path, work: Path) -> Self:
        """Carry out every step of `context/Dockerfile`."""
        build = cls(context, work)
        text = (context / "Dockerfile").read_text().replace("\\\n", " ")
        for line in text.splitlines():
            if line.strip() and not line.startswith("#"):
                instruction, _, rest = line.partition(" ")
                build._step(instruction, rest.strip())
        return build

    @property
    def image(self) -> Stage:
        """The last stage: what would be run."""
        return list(self.stages.values())[-1]

    def _step(self, instruction: str, rest: str) -> None:
        match instruction:
            case "FROM":
                _, _, name = rest.partition(" AS ")
                # One root for all: an environment holds its own path, as it does in an image.
                self.stages[name or "image"] = Stage(self.work)
            case "RUN":
                self._run(rest)
            case "COPY":
                self._copy(shlex.split(rest))
            case "ENV":
                for name, _, value in (pair.partition("=") for pair in shlex.split(rest)):
                    path = os.environ["PATH"]
                    self.image.environment[name] = value.replace("$PATH", path)
            case "WORKDIR":
                self.image.folder = rest
                self.image.path(".").mkdir(exist_ok=True)
            case "USER":
                self.image.user = rest
            case "ENTRYPOINT":
                self.image.entrypoint = json.loads(rest)
            case "CMD":
                self.image.command = json.loads(rest)
            case "HEALTHCHECK":
                self.image.healthcheck = json.loads(rest.partition("CMD")[2])
            case "EXPOSE":
                pass
            case _:
                raise NotImplementedError(f"{instruction} {rest}")

    def _run(self, line: str) -> None:
        command = shlex.split(line)
        if command[0] in OF_THE_SYSTEM:
            self.image.skipped.append(line)
            return
        if command[0] == "python" and not (self.work / "venv").exists():
            command[0] = sys.executable  # the image's own
        done = self.image.run(*command)
        if done.returncode != 0:
            raise AssertionError(f"RUN {line}\n{done.stdout}{done.stderr}")

    def _copy(self, arguments: list[str]) -> None:
        if arguments[0].startswith("--from="):
            stage = self.stages[arguments[0].removeprefix("--from=")]
            assert all(stage.path(path).exists() for path in arguments[1:-1])
            assert arguments[1] == arguments[-1], "one root for all stages"
            return
        *sources, target = arguments
        for source in sources:
            for path in self._sent() if source == "." else [Path(source)]:
                assert path in self._sent(), f"{path} is kept out by .dockerignore"
                destination = self.image.path(target) / path
                destination.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.context / path, destination)

    def _sent(self) -> list[Path]:
        """The files of the context that .dockerignore lets through, and git would."""
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=self.context,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        return [
            Path(name) for name in listed if (self.context / name).is_file() and self._let(name)
        ]

    def _let(self, name: str) -> bool:
        let = True
        for rule in (self.context / ".dockerignore").read_text().splitlines():
            pattern = rule.removeprefix("!")
            if (
                rule
                and not rule.startswith("#")
                and (fnmatch(name, pattern) or name.startswith(f"{pattern}/"))
            ):
                let = rule.startswith("!")
        return let
