"""Every example in README and docs runs, and prints what it says."""

import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp import labels
from shuffledp.accounting.bounds import theorem
from shuffledp.interfaces.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHOWN = re.compile(r"```console\n([\s\S]*?)```|^\|.*\| `(shuffledp .*)` \|$", re.MULTILINE)
"""Blocks of commands, and rows of tables that end with one."""


def _commands(page: Path, *, slow: bool) -> list[str]:
    """All that a page says to paste, in order; those that take long apart."""
    found = []
    for block, command in SHOWN.findall(page.read_text()):
        lines = [command] if command else re.findall(r"^\$ (shuffledp .*)$", block, re.MULTILINE)
        found += [line for line in lines if ("shuffledp atlas" in block) == slow]
    return found


SESSIONS = [
    pytest.param(commands, id=page.name, marks=[pytest.mark.slow] * slow)
    for page in PAGES
    for slow in (False, True)
    if (commands := _commands(page, slow=slow))
]


def test_the_first_page_is_read() -> None:
    assert len(_commands(PAGES[0], slow=False)) > 10


@pytest.fixture
def _own_theorems() -> Iterator[None]:
    """What an example registers is forgotten with it."""
    before = [(known, dict(known)) for known in (theorem._BOUNDS, labels._REGISTRY)]
    yield
    for known, kept in before:
        known.clear()
        known.update(kept)
    theorem.forget()


@pytest.mark.usefixtures("_own_theorems")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples(page: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    text = "\n".join(block for block in blocks if ">>>" in block)
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    failures, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert failures == 0
    scope: dict[str, object] = {}
    for block in blocks:
        if ">>>" not in block:
            exec(compile(block, page.name, "exec"), scope)


@pytest.mark.parametrize("commands", SESSIONS)
def test_console_examples(
    commands: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of one page, in order, in an empty folder, as a reader pastes them."""
    monkeypatch.chdir(tmp_path)
    for command in commands:
        result = CliRunner().invoke(main, shlex.split(command)[1:])
        assert result.exit_code == 0, f"{command}: {result.output}"
