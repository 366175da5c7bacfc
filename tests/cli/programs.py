"""`turnwright` as its users run it: processes with settings, output, errors and an exit status.

async with started("dev", "--port", "0") as program:
    ... program.url ...
    assert await program.stopped(signal.SIGTERM) == 0
"""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from turnwright.leash import leashed

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds for anything to happen; it takes one or two on an idle machine."""
AGENTS = "tests/chaos/agents.py"
"""Its agent `scripted` performs the script that its trigger holds."""
TURNWRIGHT = (sys.executable, "-m", "turnwright.cli")
_OURS = ("TURNWRIGHT_", "OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_")


@dataclass
class Program:
    """A process, and the lines it has printed so far."""

    process: Process
    output: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    _ready: asyncio.Event = field(default_factory=asyncio.Event)
    _readers: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """What its `ready:` line names."""
        [line] = [line for line in self.output if line.startswith("ready: ")]
        return line.removeprefix("ready: ")

    async def ready(self) -> None:
        """Wait for its `ready:` line."""
        async with asyncio.timeout(PATIENCE):
            await self._ready.wait()
        if self.process.returncode is not None:
            raise AssertionError(f"it ended before it was ready: {self.errors}")

    async def printed(self, text: str) -> None:
        """Wait until a line of its standard error holds this text."""
        await self._holds(self.errors, text)

    async def said(self, text: str) -> None:
        """Wait until a line of its standard output holds this text."""
        await self._holds(self.output, text)

    async def _holds(self, lines: list[str], text: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while not any(text in line for line in lines):
                if self.process.returncode is not None:
                    raise AssertionError(f"it ended without {text!r}: {self.errors}")
                await asyncio.sleep(0.02)

    async def ended(self) -> int:
        """Its exit status, once it has ended by itself."""
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*self._readers)
            return await self.process.wait()

    async def stopped(self, number: signal.Signals) -> int:
        """Its exit status after this signal."""
        self.process.send_signal(number)
        return await self.ended()

    def watch(self) -> None:
        """Begin to read what it prints."""
        streams = ((self.process.stdout, self.output), (self.process.stderr, self.errors))
        self._readers = [
            asyncio.create_task(self._read(stream, lines)) for stream, lines in streams if stream
        ]

    async def _read(self, stream: asyncio.StreamReader, lines: list[str]) -> None:
        async for line in stream:
            lines.append(line.decode().rstrip("\n"))
            if lines[-1].startswith("ready: "):
                self._ready.set()
        self._ready.set()


@asynccontextmanager
async def launched(
    *arguments: str, command: Sequence[str] = TURNWRIGHT, cwd: str = str(ROOT), **settings: str
) -> AsyncIterator[Program]:
    """The program with these arguments and settings (`agents` is `TURNWRIGHT_AGENTS`).

    Nothing else of ours is in its environment; it is killed on leaving, if it still runs.
    """
    theirs = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    given = {f"TURNWRIGHT_{name.upper()}": value for name, value in settings.items()}
    process = await asyncio.create_subprocess_exec(
        *leashed([*command, *arguments]),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        cwd=cwd,
        env={**theirs, "PYTHONPATH": str(ROOT), **given},
    )
    program = Program(process)
    program.watch()
    try:
        yield program
    finally:
        if process.returncode is None:
            process.kill()
        await program.ended()


@asynccontextmanager
async def started(
    *arguments: str, command: Sequence[str] = TURNWRIGHT, **settings: str
) -> AsyncIterator[Program]:
    """The same, once it is ready."""
    async with launched(*arguments, command=command, **settings) as program:
        await program.ready()
        yield program


async def run(*arguments: str, cwd: str = str(ROOT), **settings: str) -> tuple[int, Program]:
    """The program's exit status, and what it printed, once it has ended by itself."""
    async with launched(*arguments, cwd=cwd, **settings) as program:
        return await program.ended(), program


async def refusal(*arguments: str, **settings: str) -> tuple[int, str]:
    """The exit status and the one line on standard error of a program that does not start."""
    status, program = await run(*arguments, **settings)
    [line] = program.errors
    assert program.output == []
    return status, line
