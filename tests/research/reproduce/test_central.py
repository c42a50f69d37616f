"""Central DP-SGD by how batches are drawn: our figures beside the printed ones."""

import pytest

from shuffledp.research.reproduce import ITEMS, allocation2025, central


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


def test_their_upper_bounds_are_above_what_is_leaked() -> None:
    """And ours are below theirs: at one setting of each figure."""
    for name in ("noise", "epochs", "steps", "joined"):
        setting, theirs = list(allocation2025._THEIRS[name].items())[1]
        row = allocation2025.epsilon_row(setting, theirs)
        values = dict(zip(allocation2025._EPSILONS, row, strict=True))
        best = min(value for value in theirs if value is not None)
        assert values["allocation leaked"] <= values["allocation proven"] <= best
        assert values["allocation proven"] <= values["Poisson sampling"]
        assert values["allocation proven"] < values["known order proven"]


def test_their_simulation_agrees() -> None:
    """Means of 200,000 samples; what holds with high probability is above the truth."""
    for setting, (mean, high) in allocation2025._SIMULATED.items():
        values = dict(zip(allocation2025._DELTAS, allocation2025.delta_row(*setting), strict=True))
        assert values["allocation leaked"] <= high
        if mean > 1e-3:
            assert mean == pytest.approx(values["allocation proven"], rel=0.05, abs=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ITEMS if name[:6] in ("feldma", "chua-2")])
def test_the_figures_are_drawn(name: str, tmp_path) -> None:
    item = ITEMS[name]
    assert item.run().save(tmp_path, name, item.title)
