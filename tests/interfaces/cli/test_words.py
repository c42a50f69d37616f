"""Names of values, columns and cohorts are shown as they are, whatever they look like."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from shuffledp.interfaces.cli import main

NAMES = ("[/a]", "[red]", "[i]Z", ":bee:", "$x^$", "two\nlines", "\x1b[2J")
TARGET = ("--epsilon", "5", "--delta", "1e-3")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [name for name in NAMES for _ in range(300)]
    pq.write_table(pa.table({"[/b]": rows, "eps": [1.0] * len(rows)}), "t.parquet")


def _text(*words: str) -> str:
    result = CliRunner().invoke(main, [*words])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--task", "histogram", "--categories-from-data", *TARGET),
        ("run", "--task", "heavy-hitters", "--letters", "5", *TARGET),
        (
            "personalized",
            "--categories-from-data",
            "--budgets-column",
            "eps",
            "--delta",
            "1e-3",
            "--budgets-hidden",
        ),
    ],
    ids=["histogram", "heavy-hitters", "personalized"],
)
def test_every_value_has_its_row(words: tuple[str, ...]) -> None:
    shown = _text(words[0], "t.parquet", "--column", "[/b]", *words[1:], "--plot", "x.png")
    assert "of [/b]" in shown
    shown = "".join(shown.split("of [/b]", 1)[1])
    for name in ("[/a]", "[red]", "[i]Z", ":bee:", "$x^$", "two\\n", "\\x1b[2J"):
        assert f"\n {name}" in shown
    assert "\x1b" not in shown


def test_a_cohort_of_any_name_is_shown() -> None:
    for name in ("[/x]", "[red]"):
        _text("ledger", "init", name, "--epsilon", "1", "--delta", "0", "--store", "book.db")
    shown = _text("ledger", "show", "--store", "book.db")
    assert "\n [/x] " in shown
    assert "\n [red] " in shown
