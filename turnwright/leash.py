"""Child processes that never outlive us, however we die.

Run as a program (by path, with nothing but the standard library), this file becomes the child:
it ties itself to its parent, then replaces itself with the real command. A small program of its
own, because code between fork and exec is unsafe in a process with threads.
"""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
WATCH_INTERVAL = 0.5  # seconds; only where the kernel has no death signal to offer


def leashed(command: Sequence[str], *, watch: bool = sys.platform != "linux") -> list[str]:
    """`command` as one that dies by SIGKILL with the process (on Linux: the thread) starting it.

    With `watch`, a helper process looks after it instead of the kernel.
    """
    way = "watch" if watch else "kernel"
    return [sys.executable, "-I", "-S", __file__, way, str(os.getpid()), *command]


def _main(way: str, owner: int, command: list[str]) -> NoReturn:
    if way == "kernel":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    elif os.fork() == 0:
        _watch(owner, child=os.getppid())
    if os.getppid() != owner:  # it died before the leash was on
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606  (no shell is the point)


def _watch(owner: int, child: int) -> NoReturn:
    """End `child` once `owner` is gone; end with `child`."""
    while os.getppid() == child:
        if not _exists(owner):
            os.kill(child, signal.SIGKILL)
        time.sleep(WATCH_INTERVAL)
    os._exit(0)


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
