"""The how-to's code runs, says what it claims, and its picture can be drawn again."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from shuffledp import ParameterError, Status
from shuffledp.accounting.curves.tradeoff import approximate
from shuffledp.display.tradeoff import save_tradeoffs

HOWTO = Path(__file__).parents[2] / "docs" / "howto"


def test_howto_runs():
    blocks = re.findall(r"```python\n(.*?)```", (HOWTO / "tradeoff.md").read_text(), re.S)
    assert len(blocks) == 6
    names: dict = {}
    for block in blocks:
        exec(block, names)
    assert names["f"](0.1) == pytest.approx(0.4)
    assert names["claim"].tradeoff(0.05).value == pytest.approx(0.660, abs=5e-4)
    assert names["claim"].status is Status.FIXED_PAIR
    assert names["step"].renyi(2.0) == pytest.approx(2.6, abs=0.1)
    worst = names["clipped_linear_worst_case"](bound=1.0, c=4.0).claim().tradeoff(0.05)
    assert worst.value == pytest.approx(0.452, abs=1e-3)
    assert worst.status is Status.PROVEN


def test_picture(tmp_path):
    pytest.importorskip("matplotlib")
    script = runpy.run_path(str(HOWTO / "tradeoff_picture.py"))
    script["main"](tmp_path / "again.png")
    assert (tmp_path / "again.png").stat().st_size > 10_000
    assert (HOWTO / "tradeoff.png").is_file()
    with pytest.raises(ParameterError, match="at least one"):
        save_tradeoffs({}, tmp_path / "none.png")
    with pytest.raises(ParameterError, match="plot"):
        save_tradeoffs({"f": approximate(1.0)}, tmp_path / "none.txt")
