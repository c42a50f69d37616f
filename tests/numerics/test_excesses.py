"""E(S - c)+ at many thresholds: every sum of a small law, two laws, rare large values."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.numerics.excesses import by_frequencies, expected_excesses
from shuffledp.numerics.frequencies import Measure
from shuffledp.numerics.lognormal_cells import LognormalCells, lognormal_edges
from shuffledp.numerics.normal import cdf
from shuffledp.numerics.positive_part import Law


def _measure(values: list[float], weights: list[float]) -> Measure:
    total = math.fsum(weights)
    law = Law(values, [w / total for w in weights])
    return Measure(law.values, law.weights, 0.0, law.weight_error)


def _exact(parts: list[tuple[Measure, int]], c: float) -> float:
    laws = [list(zip(part.v, part.w, strict=True)) for part, n in parts for _ in range(n)]
    return math.fsum(
        math.prod(w for _, w in atoms) * max(math.fsum(v for v, _ in atoms) - c, 0.0)
        for atoms in itertools.product(*laws)
    )


@given(
    st.lists(st.tuples(st.floats(-1.0, 1.0), st.floats(0.01, 1.0)), min_size=2, max_size=4),
    st.floats(2.0, 1e6),
    st.floats(1e-9, 0.1),
    st.integers(2, 5),
)
@settings(max_examples=60, deadline=None)
def test_every_sum_of_a_small_law(atoms, large, rare, n):
    """With a rare large value, which alone decides."""
    values, weights = [v for v, _ in atoms], [w for _, w in atoms]
    part = _measure([*values, large], [*weights, rare * sum(weights)])
    thresholds = np.array([0.0, 0.3, 1.0, 1.9, 0.9 * large, 1.5 * large, (n + 1) * large])
    lower, upper = expected_excesses(part, n, thresholds, 1e-2)
    for c, low, high in zip(thresholds.tolist(), lower, upper, strict=True):
        exact = _exact([(part, n)], c)
        slack = 1e-12 * n * large
        assert low <= exact * (1.0 + 1e-9) + slack
        assert high >= exact * (1.0 - 1e-9) - slack


def test_sums_of_two_laws():
    first = _measure([-1.0, 0.2, 0.7, 1.3], [0.3, 0.3, 0.3, 0.1])
    second = _measure([-0.5, 0.1, 0.9], [0.2, 0.5, 0.3])
    parts = [(first, 4), (second, 3)]
    thresholds = np.linspace(1.0, 4.0, 7)
    lower, upper = by_frequencies(parts, thresholds, 1e-3, np.zeros(7))
    for c, low, high in zip(thresholds.tolist(), lower, upper, strict=True):
        exact = _exact(parts, c)
        assert low <= exact <= high
        assert high - low < 0.1 * exact


@pytest.mark.parametrize("centre", [0.0, 0.7])
def test_cells_are_above_and_below_a_lognormal_variable(centre):
    """E(X - c)+ and E(c - X)+ of the cells enclose the closed forms."""
    h, s = 0.49, 0.7
    cells = LognormalCells.of(h, lognormal_edges(h, centre), centre)
    below, above = cells.gains()
    fall_below, fall_above = cells.falls()
    for c in (0.2, 0.9, 1.5, 4.0):
        d = (centre - (math.log(c) + 0.5 * h) / s) * np.ones(1)
        mean = math.exp(s * centre)
        call = float(mean * cdf(d + s)[0] - c * cdf(d)[0])
        put = call - mean + c
        price = [float(law.w @ np.maximum(law.v - (c - 1.0), 0.0)) for law in (below, above)]
        assert price[0] <= call <= price[1] + cells.beyond
        assert price[1] <= call * 1.01
        price = [
            float(law.w @ np.maximum(law.v - (1.0 - c), 0.0)) for law in (fall_below, fall_above)
        ]
        assert price[0] <= put <= price[1] <= put * 1.01
    at = np.array([x for x in cells.x if 2.0 < x < 3.0])[:1]
    low, high = cells.gains(float(at[0]))
    capped = [float(law.w @ law.v) for law in (low, high)]
    plain = [float(law.w @ np.minimum(law.v, at[0] - 1.0)) for law in (below, above)]
    assert capped[0] <= plain[0] + 1e-9
    assert capped[1] >= plain[1] - 1e-9
