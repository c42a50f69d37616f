"""Which files a program and its children write and sync, in order: a small strace for Linux.

python tests/tracer.py LOG USER PROGRAM ARGUMENTS... becomes the user of that number, runs
the program and writes one JSON line for each event: {"call": "write" | "send" | "sync",
"path": of the file, "start": first bytes sent}. Writing counts when it begins, syncing when it has
succeeded. Nothing needs to be installed, and no privilege: a
parent may trace its children.
"""

import ctypes
import json
import os
import platform
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from typing import TextIO

TRACEME, SYSCALL, SETOPTIONS, GET_SYSCALL_INFO = 0, 24, 0x4200, 0x420E
SYSGOOD, FORK, VFORK, CLONE, EXITKILL = 1, 2, 4, 8, 0x100000
ENTRY, EXIT = 1, 2
CALLS = {
    "x86_64": {1: "write", 18: "write", 20: "write", 296: "write", 44: "send", 74: "sync", 75: "sync"},
    "aarch64": {64: "write", 68: "write", 66: "write", 70: "write", 206: "send", 82: "sync", 83: "sync"},
}[platform.machine()]  # fmt: skip

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request: int, pid: int, address: int = 0, data: object = 0) -> int:
    result = int(_libc.ptrace(request, pid, address, data))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"ptrace request {request:#x}")
    return result


def _call(pid: int) -> tuple[int, tuple[int, ...]]:
    """(entry or exit, the numbers that belong to it)."""
    buffer = ctypes.create_string_buffer(88)
    _ptrace(GET_SYSCALL_INFO, pid, len(buffer), ctypes.cast(buffer, ctypes.c_void_p))
    kind = buffer.raw[0]
    if kind == ENTRY:
        return kind, struct.unpack_from("<7Q", buffer.raw, 24)
    return kind, struct.unpack_from("<q", buffer.raw, 24)


def _event(pid: int, number: int, first: int, second: int, third: int) -> dict[str, str]:
    path = os.readlink(f"/proc/{pid}/fd/{first}")
    start = b""
    if CALLS[number] == "send":
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(second)
            start = memory.read(min(third, 16))
    return {"call": CALLS[number], "path": path, "start": start.decode("latin-1")}


def follow(work: Callable[[], object], on_call: Callable[[int, int, tuple[int, ...]], None]) -> int:
    """Do the work in a child, telling of every system call (pid, ENTRY or EXIT, numbers); its status."""
    root = os.fork()
    if root == 0:
        try:
            _ptrace(TRACEME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.waitpid(root, 0)
    _ptrace(SETOPTIONS, root, 0, SYSGOOD | FORK | VFORK | CLONE | EXITKILL)
    _ptrace(SYSCALL, root)
    while True:
        pid, status = os.waitpid(-1, 0x40000000)  # __WALL: threads too
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            if pid == root:
                return os.waitstatus_to_exitcode(status)
            continue
        stop, passed_on = os.WSTOPSIG(status), 0
        try:
            if stop == signal.SIGTRAP | 0x80:
                on_call(pid, *_call(pid))
            elif stop not in (signal.SIGTRAP, signal.SIGSTOP):
                passed_on = stop
            _ptrace(SYSCALL, pid, 0, passed_on)
        except ProcessLookupError:
            continue


def trace(log: TextIO, command: list[str]) -> int:
    """Run the command; its exit status."""
    syncing: dict[int, dict[str, str]] = {}

    def on_call(pid: int, kind: int, numbers: tuple[int, ...]) -> None:
        event = None
        if kind == ENTRY and numbers[0] in CALLS:
            event = _event(pid, *numbers[:4])
            if event["call"] == "sync":  # counts once it is done
                event, syncing[pid] = None, event
        elif kind == EXIT and pid in syncing:
            done = syncing.pop(pid)
            event = done if numbers[0] == 0 else None
        if event is not None:
            log.write(json.dumps(event) + "\n")
            log.flush()

    return follow(lambda: os.execvp(command[0], command), on_call)


def _become(user: int) -> None:
    if user != os.geteuid():
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


if __name__ == "__main__":
    with open(sys.argv[1], "w") as opened:
        _become(int(sys.argv[2]))
        sys.exit(trace(opened, sys.argv[3:]))
