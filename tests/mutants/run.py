"""One fault, the tests that pass through the faulty function, until the first that fails."""

from __future__ import annotations

import compileall
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from tests.mutants.mutate import Mutant

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "shuffledp"
_SLOWER = 10
"""Seconds of the clock per second of the processor, before a run counts as hanging."""


@dataclass
class Calls:
    """Which test passes through which functions, and how long it takes (tests.mutants.calls)."""

    tests: list[tuple[str, float, frozenset[tuple[str, str]]]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Calls:
        rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
        return cls([(test, time, frozenset(map(tuple, names))) for test, time, names in rows])

    def of(self, mutant: Mutant, seconds: float) -> list[str]:
        """Tests that would see the change, the most specific first, for so long in all."""
        chosen = [
            (len(names), spent, test)
            for test, spent, names in self.tests
            if (
                (mutant.path, mutant.function) in names
                if mutant.function
                else any(path == mutant.path for path, _ in names)
            )
        ]
        kept = []
        for _, spent, test in sorted(chosen):
            if spent <= seconds:
                kept.append(test)
                seconds -= spent
        return kept


@contextmanager
def package() -> Iterator[Path]:
    """A copy of the package, to be changed."""
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        copied = Path(folder) / "shuffledp"
        shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(copied, quiet=1)
        yield copied


def judge(mutant: Mutant | None, where: Path, tests: Iterable[str], seconds: float) -> str:
    """'survived', 'killed by ...', or 'killed by time'; without a mutant, of the package as it is."""
    if mutant is None:
        return _judged(where, list(tests), seconds)
    file = where / mutant.path
    before = file.read_bytes()
    Path(cache_from_source(str(file))).unlink(missing_ok=True)
    file.write_bytes(mutant.applied(before))
    try:
        return _judged(where, list(tests), seconds)
    finally:
        file.write_bytes(before)


def _judged(where: Path, tests: list[str], seconds: float) -> str:
    with tempfile.TemporaryDirectory(prefix="judged") as folder:
        log = Path(folder) / "log"
        child = os.fork()
        if child == 0:
            _child(where, tests, log, seconds)
        end = time.monotonic() + _SLOWER * seconds
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            if time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return "killed by time"
            time.sleep(0.02)
        if os.WIFSIGNALED(status):
            return "killed by time"
        text = log.read_text(encoding="utf-8", errors="replace")
        code = os.WEXITSTATUS(status)
        if code == pytest.ExitCode.OK:
            return "survived"
        failed = [line for line in text.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR) and not failed:
            raise RuntimeError(text)  # nothing was tested
        return f"killed by {failed[0].split()[1] if failed else 'import'}"


def _child(where: Path, tests: list[str], log: Path, seconds: float) -> None:
    """Runs the tests; never returns."""
    os.setpgid(0, 0)
    limit = int(2.0 * seconds) + 10
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    out = os.open(log, os.O_CREAT | os.O_WRONLY)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONPATH": str(where.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path.insert(0, str(where.parent))
    code = 1
    try:
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--tb=no", *tests]))
    finally:
        sys.stdout.flush()
        os._exit(code)
