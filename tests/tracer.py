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
from collections.abc import Callable, Iterable
from typing import TextIO

TRACEME, CONTINUE, SYSCALL, SETOPTIONS, GET_SYSCALL_INFO = 0, 7, 24, 0x4200, 0x420E
SYSGOOD, FORK, VFORK, CLONE, SECCOMP, EXITKILL = 1, 2, 4, 8, 0x80, 0x100000
ENTRY, EXIT = 1, 2
CHOSEN = signal.SIGTRAP | 7 << 8
"""A stop at the beginning of a call that was asked for."""
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
    if buffer.raw[0] == EXIT:
        return EXIT, struct.unpack_from("<q", buffer.raw, 24)
    return ENTRY, struct.unpack_from("<7Q", buffer.raw, 24)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_void_p))


def _stop_only_at(calls: Iterable[int]) -> None:
    """Let the kernel pass over all others, of this process and its children: most of the time goes there."""
    numbers = sorted(calls)
    jumps = [(0x15, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    lines = [(0x20, 0, 0, 0), *jumps, (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x7FF00000)]
    text = b"".join(struct.pack("<HBBI", *line) for line in lines)
    program = _Program(len(lines), ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p))
    for option, about in ((38, 1), (22, 2)):  # no new privileges; this filter
        if _libc.prctl(option, about, ctypes.byref(program) if option == 22 else 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no filter of system calls")


def _event(pid: int, number: int, first: int, second: int, third: int) -> dict[str, str]:
    path = os.readlink(f"/proc/{pid}/fd/{first}")
    start = b""
    if CALLS[number] == "send":
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(second)
            start = memory.read(min(third, 16))
    return {"call": CALLS[number], "path": path, "start": start.decode("latin-1")}


def follow(
    work: Callable[[], object],
    calls: Iterable[int],
    on_call: Callable[[int, int, tuple[int, ...]], bool],
) -> int:
    """Do the work in a child, telling of these system calls (pid, ENTRY or EXIT, numbers); its status.

    Of the end of a call it tells if the answer to its beginning was yes.
    """
    root = os.fork()
    if root == 0:
        try:
            _ptrace(TRACEME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            _stop_only_at(calls)
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.waitpid(root, 0)
    _ptrace(SETOPTIONS, root, 0, SYSGOOD | FORK | VFORK | CLONE | SECCOMP | EXITKILL)
    _ptrace(CONTINUE, root)
    while True:
        pid, status = os.waitpid(-1, 0x40000000)  # __WALL: threads too
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            if pid == root:
                return os.waitstatus_to_exitcode(status)
            continue
        stop, passed_on, how = os.WSTOPSIG(status), 0, CONTINUE
        try:
            if stop == signal.SIGTRAP | 0x80 or status >> 8 == CHOSEN:
                how = SYSCALL if on_call(pid, *_call(pid)) else CONTINUE
            elif stop not in (signal.SIGTRAP, signal.SIGSTOP):
                passed_on = stop
            _ptrace(how, pid, 0, passed_on)
        except ProcessLookupError:
            continue


def trace(log: TextIO, command: list[str]) -> int:
    """Run the command; its exit status."""
    syncing: dict[int, dict[str, str]] = {}

    def on_call(pid: int, kind: int, numbers: tuple[int, ...]) -> bool:
        event = None
        if kind == ENTRY:
            event = _event(pid, *numbers[:4])
            if event["call"] == "sync":  # counts once it is done
                event, syncing[pid] = None, event
        elif kind == EXIT and pid in syncing:
            done = syncing.pop(pid)
            event = done if numbers[0] == 0 else None
        if event is not None:
            log.write(json.dumps(event) + "\n")
            log.flush()
        return pid in syncing

    return follow(lambda: os.execvp(command[0], command), CALLS, on_call)


def _become(user: int) -> None:
    if user != os.geteuid():
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


if __name__ == "__main__":
    with open(sys.argv[1], "w") as opened:
        _become(int(sys.argv[2]))
        sys.exit(trace(opened, sys.argv[3:]))
