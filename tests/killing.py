"""Kill -9 a piece of work before each call by which it changes a file or sends something.

For programs of their own, which may fork: import what is needed, then call ``kill_everywhere``. What
a killed process leaves depends on nothing but the calls it made, so this is every moment there is.
"""

import os
import platform
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.tracer import follow

BY_HANDLE = {
    "x86_64": {1, 18, 20, 296, 44, 46, 74, 75, 77},
    "aarch64": {64, 68, 66, 70, 206, 211, 82, 83, 46},
}[platform.machine()]
"""write, pwrite64, writev, pwritev; sendto, sendmsg; fsync, fdatasync; ftruncate."""
BY_NAME = {
    "x86_64": {82, 264, 316, 86, 265, 87, 263},
    "aarch64": {38, 276, 37, 35},
}[platform.machine()]
"""rename, link, unlink and their kin."""


def kill_everywhere(
    folder: Path, work: Callable[[], object], check: Callable[[bool], object]
) -> int:
    """How many kills it took until the work came to its end; the check, told if it did, follows each.

    Calls count if they are about the folder or its files, names of files, or connections. Work and check
    run in children: neither sees what the other keeps in memory.
    """
    sys.dont_write_bytecode = True  # or the first to import something would make calls of its own
    kills = 0
    while True:
        killed = _killed_before(kills + 1, folder, work)
        _checked(kills + 1, check, not killed)
        if not killed:
            return kills
        kills += 1


def _killed_before(number: int, folder: Path, work: Callable[[], object]) -> bool:
    """Whether there was such a call, and so an end."""
    seen = 0

    def on_call(pid: int, _kind: int, numbers: tuple[int, ...]) -> bool:
        nonlocal seen
        if _changes(pid, folder, *numbers[:2]):
            seen += 1
            if seen == number:
                os.kill(pid, signal.SIGKILL)
        return False

    status = follow(work, BY_HANDLE | BY_NAME, on_call)
    if status not in (0, -signal.SIGKILL):
        raise SystemExit(f"the work failed by itself, with status {status}")
    return status != 0


def _changes(pid: int, folder: Path, call: int, handle: int) -> bool:
    if call in BY_NAME:
        return True
    path = os.readlink(f"/proc/{pid}/fd/{handle}")
    return path == str(folder) or path.startswith(("socket:", f"{folder}/"))


def _checked(number: int, check: Callable[[bool], object], ended: bool) -> None:
    child = os.fork()
    if child == 0:
        try:
            check(ended)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1] != 0:
        raise SystemExit(f"killed before call {number}: the check failed")
