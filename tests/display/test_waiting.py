"""Who waits for longer than a second sees what is computed, on a terminal only."""

import io
import sys

import pytest

from shuffledp import LDP, Shuffled
from shuffledp.accounting.bounds.theorem import listening
from shuffledp.display import waiting


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _ask() -> None:
    Shuffled(LDP(0.7), 1234).epsilon(1e-5)


def test_who_listens_hears_each_theorem() -> None:
    heard: list[str] = []
    with listening(heard.append):
        _ask()
    before = list(heard)
    assert {"stronger-clones", "dataset-3rr"} <= set(heard)
    _ask()
    assert heard == before


def test_a_terminal_shows_what_is_asked_and_is_left_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", shown := _Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(waiting, "_PATIENCE", 0.0)
    with waiting.waiting("epsilon"):
        while "epsilon" not in shown.getvalue():
            _ask()
    assert shown.getvalue().endswith(("\x1b[2K", "\x1b[?25h"))


@pytest.mark.parametrize("stream", [_Terminal, io.StringIO])
def test_nothing_is_shown_of_what_is_quick_or_not_for_a_person(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO]
) -> None:
    monkeypatch.setattr(sys, "stderr", shown := stream())
    monkeypatch.setattr(waiting, "_PATIENCE", 1e6 if stream is _Terminal else 0.0)
    with waiting.waiting("epsilon"):
        _ask()
    assert shown.getvalue() == ""
