"""The parts of the bound by the largest steps one by one, against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from shuffledp.accounting.bounds.largest_steps import (
    LargeRatios,
    _company,
    _drawn_to,
    _Epoch,
    _hinges,
    _spread_to,
)

TINY = 1.0 + 1e-7


def _excess(places, masses, at) -> np.ndarray:
    return np.maximum(np.subtract.outer(np.asarray(places), at), 0.0).T @ np.asarray(masses)


def _random_law(seed: int):
    rng = np.random.default_rng(seed)
    places, masses = np.sort(rng.uniform(0.0, 9.0, 40)), rng.dirichlet(np.ones(40))
    return places, masses, np.array([0.0, 0.7, 1.1, 2.5, 4.0, 4.5, 7.0, 9.5])


def test_hinges_are_excesses() -> None:
    places, masses, _ = _random_law(1)
    assert _hinges(np.diff(places), masses) == pytest.approx(
        _excess(places, masses, places), rel=1e-12, abs=1e-15
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_law_above_and_a_law_below(seed: int) -> None:
    """In the increasing convex order, everywhere, and near it at the knots."""
    places, masses, knots = _random_law(seed)
    exact = _excess(places, masses, knots)
    grid = np.linspace(0.0, 9.5, 400)
    truth = _excess(places, masses, grid)
    at, found = _spread_to(knots, exact * TINY)
    assert found.min() >= 0.0
    assert (_excess(at, found, grid) >= truth * (1.0 - 1e-12)).all()
    assert _excess(at, found, knots) == pytest.approx(exact, rel=1e-5, abs=1e-12)
    at, found = _drawn_to(knots, exact / TINY, exact * TINY)
    assert found.min() >= 0.0
    assert found.sum() <= 1.0
    assert (_excess(at, found, grid) <= truth * (1.0 + 1e-12) + 1e-15).all()
    assert _excess(at, found, knots)[:4] == pytest.approx(exact[:4], rel=0.05, abs=0.0)


def test_values_of_the_laws_are_counted_once() -> None:
    upper, upper_mass = np.array([1.0, 1.5, 2.0, 4.0]), np.array([0.1, 0.05, 0.02, 0.004])
    lower, lower_mass = np.array([1.1, 1.4, 2.5]), np.array([0.1, 0.04, 0.01])
    found = LargeRatios(lower, lower_mass, upper, upper_mass, 1e-3)
    gains = np.array([0.0, 0.2, 0.5, 0.9, 1.0, 2.9, 3.5])
    exact = _excess(upper, upper_mass, 1.0 + gains) + 1e-3
    above = found.above(gains)
    assert (above >= exact).all()
    assert above == pytest.approx(exact, rel=1e-8, abs=0.0)
    power, size = found.tests()
    for t in np.linspace(0.5, 3.0, 26):
        best, exact = float((power - t * size).max()), float(_excess(lower, lower_mass, t))
        assert exact - 1e-8 <= max(best, 0.0) <= exact


@pytest.mark.parametrize(("n", "k"), [(3, 2), (9, 2), (40, 3)])
def test_fewer_than_told_above_the_first_level(n: int, k: int) -> None:
    """Of n normal variables k are moved by s: seldom so few are above."""
    s = 1.3
    epoch = _Epoch(s * s, n, k)
    plain, moved = norm.cdf(epoch.first), norm.cdf(epoch.first - s)  # below it
    exact = sum(
        binom.pmf(n - k - i, n - k, plain) * binom.pmf(k - j, k, moved)
        for i in range(epoch.told)
        for j in range(epoch.told - i)
    )
    assert exact * (1.0 - 1e-9) <= epoch.forgotten <= exact * (1.0 + 1e-6)
    assert exact <= 1.1e-16 or epoch.first <= -8.9


@pytest.mark.parametrize(("n", "k"), [(6, 2), (8, 3), (5, 3)])
def test_products_of_the_others(n: int, k: int) -> None:
    """Of any others of a sum, none above the level: between what is said at most and at least."""
    rng = np.random.default_rng(n)
    epoch = _Epoch(0.5, n, k)
    level = epoch.last
    most = math.exp(
        math.sqrt(0.5) * epoch.edges[epoch.start + level * 8] - 0.25
    )  # eight cells to a level
    others = rng.uniform(0.0, most, (300, epoch.rest)) * rng.uniform(0.05, 1.0, (300, 1))
    others[0] = 0.7 * most  # equal ones: the largest product there is
    sums = others.sum(axis=1)
    high, low = (epoch.products(sums, level, above=above) for above in (True, False))
    for j in range(k + 1):
        r = k - j
        exact = np.array(
            [sum(math.prod(x) for x in itertools.combinations(row, r)) for row in others.tolist()]
        ) / math.comb(n, k)
        assert (low[j] <= exact * (1.0 + 1e-12)).all()
        assert (exact <= high[j] * (1.0 + 1e-12)).all()
        assert high[j, 0] == pytest.approx(exact[0], rel=1e-6, abs=0.0)
        assert (low[j] > 0.0).any() == (r <= epoch.rest)


def test_company_of_the_least() -> None:
    """Pairs of told variables, in the level or beyond, by enumeration of both."""
    values = np.array([1.0, 2.0, 3.0, 5.0])
    here, beyond = np.array([0.1, 0.2, 0.0, 0.0]), np.array([0.0, 0.0, 0.3, 0.05])
    for count in (1, 2):
        masses, sums = _company(values, here, beyond, count)
        parts = here, beyond
        for level in range(count + 1):
            for power in (1.0, 2.0):
                exact = [0.0] * (count + 1)
                for chosen in itertools.product(range(4), repeat=count):
                    for where in itertools.product((0, 1), repeat=count):
                        if where.count(0) != level:
                            continue
                        mass = math.prod(
                            parts[side][i] for side, i in zip(where, chosen, strict=True)
                        )
                        x = [values[i] for i in chosen]
                        for j in range(count + 1):
                            e = sum(math.prod(y) for y in itertools.combinations(x, j))
                            exact[j] += mass * e**power
                found = [float(masses[level] @ each**power) for each in sums]
                assert found == pytest.approx(exact, rel=1e-12, abs=1e-15)
