"""Proven and leaked ends nearly meet, for every named randomizer."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from shuffledp.accounting.randomizers.catalogue import OFFERED
from shuffledp.research.reproduce import ITEMS, swap_gap

ROOT = Path(__file__).parents[3]
LARGEST = {10**3: 1.05, 10**4: 1.03, 10**5: 1.01, 10**6: 1.01}
"""Ratio of proven and leaked epsilon, by number of users."""


def _checked(row: dict[str, Any]) -> None:
    assert 0.0 < row["leaked"] <= row["proven"] <= row["proven before"] <= row["eps0"]
    assert row["ratio"] == row["proven"] / row["leaked"]
    assert row["ratio before"] == row["proven before"] / row["leaked"]
    if row["n"] > 1000 or row["eps0"] <= 2.0:
        assert row["ratio"] <= LARGEST[row["n"]], row


@pytest.mark.parametrize("name", swap_gap.RANDOMIZERS)
@pytest.mark.parametrize(("eps0", "n"), [(2.0, 10**3), (1.0, 10**4), (2.0, 10**5)])
def test_ends_nearly_meet(name: str, eps0: float, n: int) -> None:
    _checked(dict(zip(swap_gap._COLUMNS, swap_gap.gap(name, eps0, n), strict=True)))


@pytest.mark.slow
def test_the_whole_table() -> None:
    """And the picture in the documentation is of these numbers."""
    rows = ITEMS["swap-gap"].run().to_dict()["rows"]
    assert len(rows) == len(swap_gap.RANDOMIZERS) * 16
    for row in rows:
        _checked(row)
    with (ROOT / "docs" / "pictures" / "swap-gap.csv").open(newline="") as file:
        kept = list(csv.DictReader(file))
    for row, line in zip(rows, kept, strict=True):
        assert (row["randomizer"], row["n"]) == (line["randomizer"], int(line["n"]))
        assert row["ratio"] == pytest.approx(float(line["ratio"]), rel=5e-3, abs=0.0)
        assert row["ratio before"] == pytest.approx(float(line["ratio before"]), rel=5e-3, abs=0.0)


def test_every_local_randomizer_with_a_budget_is_in_the_table() -> None:
    shown = {mechanism for mechanism, _ in swap_gap.RANDOMIZERS.values()}
    # the first two are Laplace noise clamped or on a grid; the others have no budget of their own
    assert OFFERED.keys() - shown == {
        *("truncated-laplace", "discrete-laplace", "gaussian", "channel"),
    }
