"""Tables on terminals of any width: numbers and ids stay whole."""

import io

import pytest
from rich.console import Console

from shuffledp.display import text
from shuffledp.display.sentences import say

COLUMNS = ("id", "value", "other", "note")
ROWS = [
    ("chen-2024-exact-stronger", "1.10934e-12", "UPPER", "a remark of several words"),
    ("local", "2", "UPPER", ""),
]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def at(width: int, **kwargs: object) -> list[str]:
        out = Console(file=io.StringIO(), width=width)
        monkeypatch.setattr(text, "console", lambda: out)
        text.print_table("title", COLUMNS, ROWS, **kwargs)  # type: ignore[arg-type]
        said = capsys.readouterr().err
        assert ("left out for want of room: note" in said) == ("spare" in kwargs and width < 80)
        return out.file.getvalue().splitlines()  # type: ignore[attr-defined]

    return at


@pytest.mark.parametrize("width", [40, 55, 60, 80, 200])
def test_numbers_and_ids_are_whole_and_what_is_spare_goes(shown, width: int) -> None:
    lines = shown(width, words=["note"], spare=["note", "other"])
    assert all(len(line) <= width for line in lines)
    page = "\n".join(lines)
    for whole in ("chen-2024-exact-stronger", "1.10934e-12"):
        assert whole in page
    assert ("note" in page) == (width >= 80)
    assert ("UPPER" in page) == (width >= 55)


def test_numbers_stand_under_each_other(shown) -> None:
    first, second = [line for line in shown(80) if "UPPER" in line]
    assert first.index("e-12") + 3 == second.index(" 2 ") + 1


def test_without_room_nothing_is_left_out_but_lines_are_broken(shown) -> None:
    lines = shown(24)
    assert all(len(line) <= 24 for line in lines)
    letters = "".join(line.split()[0] for line in lines[4:] if line.strip())
    assert "chen-2024-exact-stronger" in letters


def test_headings_are_broken_and_digits_dropped_before_a_number_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = Console(file=io.StringIO(), width=36)
    monkeypatch.setattr(text, "console", lambda: out)
    text.print_rows("title", ["first of all", "second of all", "third of all"], [[1 / 3e5] * 3])
    page = out.file.getvalue()  # type: ignore[attr-defined]
    assert page.count("3.333e-06") == 3
    assert "first of all" not in page
    assert all(len(line) <= 36 for line in page.splitlines())


def test_sentences_are_broken_between_words_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = "epsilon 0.0312565 by chen-2024-exact-stronger, which is " + "a" * 40
    say(sentence)
    assert capsys.readouterr().out == sentence + "\n"
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    say(sentence)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "epsilon 0.0312565 by"
    assert lines[1] == "  chen-2024-exact-stronger,"
    assert lines[-1].strip() == "a" * 40
