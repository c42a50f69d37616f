"""Every example in README and docs runs, and prints what it says."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = [
    line[2:]
    for page in PAGES
    for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL)
    for line in block.splitlines()
    if line.startswith("$ shuffledp ")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples(page: Path) -> None:
    text = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    failures, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert failures == 0


def _make_inputs(command: str) -> None:
    """Run first what writes the files this command reads."""
    for name in re.findall(r"(?<!--out )\b\w+\.parquet", command):
        maker = next(other for other in COMMANDS if f"--out {name}" in other)
        _make_inputs(maker)
        CliRunner().invoke(main, shlex.split(maker)[1:])


@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_console_examples(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "users.csv").write_text("eps\n" + "0.5\n" * 60 + "1.5\n" * 40)
    (tmp_path / "survey.csv").write_text("dest,delay\n" + "ATL,5\nBOS,7\nLAX,-3\n" * 400)
    _make_inputs(command)
    result = CliRunner().invoke(main, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output
