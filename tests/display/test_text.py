"""Tables on terminals of any width: numbers and ids stay whole."""

import io

import pytest
from rich.console import Console

from shuffledp.display import text

COLUMNS = ("id", "value", "other", "note")
ROWS = [
    ("chen-2024-exact-stronger", "1.10934e-12", "UPPER", "a remark of several words"),
    ("local", "2", "UPPER", ""),
]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch):
    def at(width: int, **kwargs: object) -> list[str]:
        out, beside = (Console(file=io.StringIO(), width=width) for _ in range(2))
        monkeypatch.setattr(text, "console", lambda *, stderr=False: beside if stderr else out)
        text.print_table("title", COLUMNS, ROWS, **kwargs)  # type: ignore[arg-type]
        said = beside.file.getvalue()  # type: ignore[attr-defined]
        assert ("left out, for want of room: note" in said) == ("spare" in kwargs and width < 80)
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
