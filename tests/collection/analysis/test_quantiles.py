"""Limits of quantiles cover as often as they say, and are no wider than the estimates scatter.

False alarms: coverage is tested at 1e-7 quantiles of its binomial law.
"""

import numpy as np
import pytest

from shuffledp import KRR, Channel, CheckIn, LocalHashing, ParameterError, SubsetSelection, rappor
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.collection.analysis import Frequencies, quantiles
from shuffledp.collection.analysis.quantiles import rising
from shuffledp.collection.devices import Device, device, secure

CELLS = 64
SHARES = [0.25, 0.5, 0.75, 0.9]
STREAM = secure()


def _counted(machine: Device, cells: np.ndarray) -> Frequencies:
    tally = Frequencies(machine)
    tally.add(machine.encode(cells, STREAM))
    return tally


@pytest.mark.parametrize(
    "randomizer",
    [
        KRR(CELLS, eps0=4.0),
        rappor(CELLS, 3.0),
        SubsetSelection(CELLS, eps0=3.0),
        LocalHashing(eps0=3.0, k=CELLS),
        CheckIn(KRR(CELLS, eps0=8.0), 0.2),
    ],
    ids=str,
)
def test_limits_of_skewed_users(randomizer: Randomizer) -> None:
    from scipy.stats import binom

    machine, repeats = device(randomizer), 300
    users = np.minimum(-0.2 * np.log1p(-(np.arange(6000) + 0.5) / 6000), 1.0 - 1e-9)
    truth = np.quantile(users, SHARES, method="inverted_cdf")
    cells = np.floor(users * CELLS).astype(np.int64)
    rows = []
    for _ in range(repeats):
        found = quantiles(_counted(machine, cells), SHARES)[0]
        rows.append((found.values, *found.interval(), *found.interval(0.5)))
    values, low, high, lower, upper = (np.array(part) for part in zip(*rows, strict=True))
    covered = ((low <= truth) & (truth <= high)).sum(axis=0)
    half = ((lower <= truth) & (truth <= upper)).sum(axis=0)
    assert np.all(covered >= binom.ppf(1e-7, repeats, 0.95))
    assert np.all(half >= binom.ppf(1e-7, repeats, 0.5))
    assert np.all((low <= values) & (values <= high))
    # twice the scatter, and the cell at either end inside which nothing is known
    scatter = np.quantile(values, 0.975, axis=0) - np.quantile(values, 0.025, axis=0)
    assert np.all((high - low).mean(axis=0) <= 2.0 * scatter + 1.0 / CELLS)


def test_what_all_cells_miss_of_one_tells_about_each_part() -> None:
    """Bits are noisy on their own; the ninth decile is within a tenth of the range, not of half."""
    machine = device(rappor(CELLS, 3.0))
    users = np.minimum(-0.2 * np.log1p(-(np.arange(6000) + 0.5) / 6000), 1.0 - 1e-9)
    cells = np.floor(users * CELLS).astype(np.int64)
    found = [quantiles(_counted(machine, cells), [0.9]) for _ in range(30)]
    assert np.mean([high - low for _, low, high in found]) < 0.45


def test_limits_are_those_of_the_level_asked_and_end_at_edges() -> None:
    machine = device(KRR(16, eps0=4.0))
    users = np.repeat([3, 9], [6000, 4000])
    found, low, high = quantiles(_counted(machine, users), [0.3, 0.8])
    assert [part.tolist() for part in found.interval()] == [low.tolist(), high.tolist()]
    assert (low.tolist(), high.tolist()) == ([3 / 16, 9 / 16], [4 / 16, 10 / 16])
    assert found.interval(0.5)[0].tolist() == low.tolist()  # the cell, however low the level
    assert found.note.endswith("more cells would narrow them")
    moved = found.scaled(-20.0, 60.0)
    assert [part.tolist() for part in moved.interval()] == [[-5.0, 25.0], [0.0, 30.0]]
    written = moved.to_dict()["estimates"][0]
    assert (written["low"], written["high"]) == (-5.0, 0.0)


def test_users_at_the_ends_of_the_range() -> None:
    for cell, limits in ((0, (0.0, 0.125)), (7, (0.875, 1.0))):
        tally = _counted(device(KRR(8, eps0=6.0)), np.full(2000, cell))
        _, low, high = quantiles(tally, [0.1, 0.5, 0.9], level=0.999)
        assert set(zip(low.tolist(), high.tolist(), strict=True)) == {limits}


def test_one_report() -> None:
    _, low, high = quantiles(_counted(device(KRR(8, eps0=1.0)), np.array([3])), [0.5])
    assert (low[0], high[0]) == (0.0, 1.0)


def test_a_channel_is_refused() -> None:
    tally = _counted(device(Channel(np.array([[0.75, 0.25], [0.25, 0.75]]))), np.array([0, 1]))
    with pytest.raises(ParameterError, match="treats all values alike"):
        quantiles(tally, [0.5])


def test_nearest_rising_sequence() -> None:
    assert rising(np.array([0.0, 3.0, 1.0, 2.0, 5.0])).tolist() == [0.0, 2.0, 2.0, 2.0, 5.0]
    assert rising(np.array([3.0, 2.0, 1.0])).tolist() == [2.0, 2.0, 2.0]
