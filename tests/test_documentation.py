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
SESSIONS = [
    pytest.param(
        [line[2:] for line in block.splitlines() if line.startswith("$ shuffledp ")],
        id=page.name,
        marks=[pytest.mark.slow] if "shuffledp atlas" in block else [],
    )
    for page in PAGES
    for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL)
]


@pytest.fixture
def _own_theorems() -> Iterator[None]:
    """What an example registers is forgotten with it."""
    before = [(known, dict(known)) for known in (theorem._BOUNDS, labels._REGISTRY)]
    yield
    for known, kept in before:
        known.clear()
        known.update(kept)


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
    """The commands of one block, in order, in one folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "users.csv").write_text("eps\n" + "0.5\n" * 60 + "1.5\n" * 40)
    rows = "ATL,5,0.5\nBOS,7,1\nLAX,-3,1\n" * 400
    (tmp_path / "survey.csv").write_text(f"dest,delay,eps\n{rows}")
    for command in commands:
        result = CliRunner().invoke(main, shlex.split(command)[1:])
        assert result.exit_code == 0, f"{command}: {result.output}"
