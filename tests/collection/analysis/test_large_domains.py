"""One of very many values: short reports, and an analysis that does not visit every value."""

import itertools
from collections import Counter

import numpy as np
import pytest

from shuffledp import KRR, HadamardResponse, LocalHashing, ParameterError, SubsetSelection
from shuffledp.collection.analysis import Frequencies, hashed
from shuffledp.collection.devices import device, simulation
from shuffledp.collection.devices.categorical import (
    HashingDevice,
    SubsetBits,
    SubsetList,
    _different,
)
from shuffledp.collection.pipeline import Job
from shuffledp.collection.planning import Histogram, Quantiles, Target, plan
from tests.oracles.device_laws import misfit

MANY = 1_000_000


@pytest.mark.parametrize(
    ("k", "eps0", "n"),
    [
        (2, 1.0, 50),
        (5, 0.1, 40),
        (37, 3.0, 200),
        (1000, 6.0, 500),
        (70_000, 1.0, 20),
        (70_000, 10.0, 100),
        (70_001, 25.0, 7),
        (5, 2.0, 0),
    ],
)
def test_halves_find_what_a_walk_finds(k: int, eps0: float, n: int) -> None:
    machine = device(LocalHashing(k=k, eps0=eps0))
    assert isinstance(machine, HashingDevice)
    users = np.random.default_rng(k).integers(0, k, n)
    reports = machine.encode(users, simulation(1))
    walked = hashed._one_by_one(machine, reports)
    assert np.array_equal(hashed._by_halves(machine, reports), walked)
    assert np.array_equal(hashed.count_hashed(machine, reports), walked)


@pytest.mark.parametrize(("below", "size"), [(1, 1), (5, 0), (5, 2), (6, 6), (9, 3)])
def test_every_subset_is_as_likely(below: int, size: int) -> None:
    n = 40_000
    drawn = np.sort(_different(simulation(3), below, size, n), axis=1)
    chosen = list(itertools.combinations(range(below), size))
    found = Counter(map(tuple, drawn.tolist()))
    assert not misfit(found, dict.fromkeys(chosen, 1.0 / len(chosen)), n)


def test_the_shorter_form_is_sent() -> None:
    """A few values, in rising order, or a bit for each."""
    few, many = device(SubsetSelection(64, d=3, eps0=2.0)), device(SubsetSelection(64, eps0=0.5))
    assert isinstance(few, SubsetList)
    assert isinstance(many, SubsetBits)
    reports = few.encode(np.arange(64), simulation(1))
    assert reports.shape == (64, 3)
    assert np.all(np.diff(reports.astype(int), axis=1) > 0)


@pytest.mark.parametrize("randomizer", [KRR, SubsetSelection, LocalHashing, HadamardResponse])
def test_a_million_values(randomizer: type) -> None:
    """Devices and analysis run, and the error is the one that is planned."""
    machine, n = device(randomizer(k=MANY, eps0=10.0)), 2000
    users = np.minimum(np.random.default_rng(1).zipf(1.3, n), MANY) - 1
    tally = Frequencies(machine)
    reports = machine.encode(users, simulation(1))
    assert reports.nbytes <= 200 * n
    tally.add(reports)
    errors = tally.estimate().values - np.bincount(users, minlength=MANY) / n
    # correlated: far more than what a million independent ones would differ by
    assert np.mean(errors**2) == pytest.approx(tally.expected_variance(n), rel=0.1, abs=0.0)


def test_reports_too_long_are_left_out() -> None:
    made = plan(Histogram(MANY), Target(1.0, 1e-6, 1000))
    assert [each.name for each in made.choices if each.name in ("oue", "rappor")] == []
    assert {line.split(":")[0] for line in made.left_out} == {"oue", "rappor"}
    assert made.to_dict()["left_out"] == made.left_out
    assert plan(Histogram(8), Target(1.0, 1e-6, 1000)).left_out == []
    subset = next(each for each in made.choices if each.name == "subset").device
    assert isinstance(subset, SubsetList)
    assert subset.columns * subset.dtype.itemsize <= 8192
    assert "oue" not in Quantiles(MANY).randomizers()
    asked = Job("quantiles", ("x",), 1000, 1.0, 1e-6, "oue", bins=MANY)
    with pytest.raises(ParameterError, match="125,000 bytes"):
        asked.calibrated()
    with pytest.raises(ParameterError, match="125,000 bytes"):
        asked.at_budget(1.0)
