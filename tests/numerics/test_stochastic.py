"""Sums of different coins: enclosures hold the truth, stand-ins are on the safe side."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp.numerics.lattice_sum import sum_law
from shuffledp.numerics.stochastic import distribution_upper, dominating_binomial


@pytest.mark.parametrize("theta", [0.0, -0.3, 0.2])
@pytest.mark.parametrize("n", [7, 4000, 20_000])
def test_equal_coins_are_a_binomial(n: int, theta: float) -> None:
    law = sum_law(np.array([[0.7, 0.3]]), np.array([n]), theta)
    low, high = law.bounds()
    truth = binom.pmf(law.start + np.arange(low.size), n, 0.3)
    assert np.all(low <= truth * (1 + 1e-9))
    assert np.all(truth <= high * (1 + 1e-9))
    near = law.values > 1e-6
    assert np.all(high[near] <= low[near] * (1 + 1e-6))


def test_small_sums_in_rationals() -> None:
    rng = np.random.default_rng(3)
    weights = rng.integers(1, 20, (6, 4))
    exact = {0: Fraction(1)}
    for row in weights.tolist():
        after: dict[int, Fraction] = {}
        for total, mass in exact.items():
            for j, w in enumerate(row):
                after[total + j] = after.get(total + j, Fraction(0)) + mass * Fraction(w, sum(row))
        exact = after
    low, high = sum_law(weights / weights.sum(axis=1)[:, None], np.ones(6, int)).bounds()
    for total, mass in exact.items():
        assert low[total] <= mass <= high[total]


def test_power_sums_and_factors_agree() -> None:
    p = np.random.default_rng(1).uniform(0.2, 0.6, 30_000)
    masses = np.stack([1 - p, p], axis=1)
    by_series = sum_law(masses, np.ones(p.size, int))
    again = sum_law(np.concatenate([masses[:19_000]]), np.ones(19_000, int))
    assert by_series.values.sum() == pytest.approx(1.0, abs=1e-10)
    assert again.values.sum() == pytest.approx(1.0, abs=1e-10)
    mean = by_series.values @ (by_series.start + np.arange(by_series.values.size))
    assert mean == pytest.approx(p.sum(), rel=1e-10, abs=0.0)
    rounded = np.round(p, 3)  # few distinct: by factors
    values, counts = np.unique(rounded, return_counts=True)
    few = sum_law(np.stack([1 - values, values], axis=1), counts)
    many = sum_law(np.stack([1 - rounded, rounded], axis=1), np.ones(p.size, int))
    assert few.start == many.start
    assert np.abs(few.values - many.values).max() <= few.error.max() + many.error.max()


@pytest.mark.parametrize("n", [5, 60, 3000, 9000])
@pytest.mark.parametrize("span", [(0.1, 0.9), (0.6, 0.97), (0.001, 0.05)])
def test_the_stand_in_is_safe(n: int, span: tuple[float, float]) -> None:
    p = np.sort(np.random.default_rng(n).uniform(*span, n))
    counts = np.ones(n, dtype=np.int64)
    crowd = dominating_binomial(p, counts)
    law = sum_law(np.stack([1 - p, p], axis=1), counts)
    truth = np.cumsum(law.bounds()[0])  # at most the true distribution function
    places = law.start + np.arange(truth.size)
    ours = crowd.factor * binom.cdf(places, crowd.trials, crowd.p) + crowd.extra
    assert np.all(truth <= ours * (1 + 1e-9) + 1e-12)
    assert crowd.factor < (1.06 if n < 10 else 1.02)
    assert crowd.trials * crowd.p > p.sum() - 0.31 * np.sqrt((p * (1 - p)).sum()) - 1
    first, upper, below = distribution_upper(p, counts)
    assert 0.0 <= below <= upper[0]
    assert np.all(np.diff(upper) >= 0.0)
    assert first >= 0
