"""Central DP-SGD by how batches are drawn: our figures beside the printed ones."""

import pytest

from shuffledp.research.reproduce import ITEMS, central


def test_the_printed_intervals_hold_ours() -> None:
    values = dict(zip(central._COLUMNS, central.row(1.0, 1000, 1, 1e-6), strict=True))
    assert values["printed"] == "0.1687 to 0.1757"
    assert 0.1687 < values["allocation leaked"] < values["allocation proven"] < 0.1757
    assert values["allocation proven"] < values["Poisson sampling"]
    assert values["shuffled batches leaked"] < values["known order proven"]
    assert values["factor"] > 20.0


def test_poisson_accounting_as_published() -> None:
    """The figure the issue of shuffled batches is usually stated with."""
    values = dict(zip(central._COLUMNS, central.row(1.0, 1000, 1, 1e-8), strict=True))
    assert values["Poisson sampling"] == pytest.approx(0.306, rel=2e-3, abs=0.0)
    assert 5.106 < values["shuffled batches leaked"] < 5.64


def test_the_item_is_listed() -> None:
    assert "central-batches" in ITEMS
    assert not ITEMS["central-batches"].takes
