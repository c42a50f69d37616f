"""The calculator as a user runs it: the command in a process of its own."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def running(
    *options: str, files: int | None = None, program: tuple[str, str] = ("-m", "shuffledp")
) -> Iterator[str]:
    """``shuffledp web`` on a free port, which may open that many files; its address."""
    command = [sys.executable, *program, "web", "--port", "0", *options]
    if files is not None:
        command = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        line = server.stderr.readline()
        found = re.match(r"(http://127\.0\.0\.1:\d+)/", line)
        assert found, line + server.stderr.read()
        yield found[1]
    finally:
        server.terminate()
        _, rest = server.communicate(timeout=120)
    assert rest == "", rest


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with running("--deadline", "120") as address:
        yield address


@pytest.fixture(scope="session")
def strict_server() -> Iterator[str]:
    with running("--deadline", "1") as address:
        yield address
