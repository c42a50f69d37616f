"""Where a binomial lives, and the masses of runs of counts."""

import math

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.numerics.window import chernoff, first_groups, group_masses, quantile, refine
from tests.oracles.balls import binomial_mass, contains, precise


@precise
def _run_mass(start: int, end: int, n: int, p: float) -> arb:
    low, high = arb(p), 1 - arb(p)
    mass, total = binomial_mass(start, n, low, high), arb(0)
    for k in range(start, end + 1):
        total += mass
        mass *= low / high * (n - k) / (k + 1)
    return total


@settings(max_examples=150)
@given(
    st.integers(0, 10**12),
    st.floats(1e-12, 1e-3) | st.floats(0.01, 0.99) | st.floats(1e-9, 1e-3).map(lambda x: 1 - x),
    st.floats(0.1, 700.0),
    st.sampled_from([-1, 1]),
)
def test_quantile_leaves_out_no_more_than_it_says(
    n: int, p: float, exponent: float, side: int
) -> None:
    k = quantile(exponent, side, float(n), p, 1.0 - p)
    assert 0 <= k <= n
    beyond = k + side
    if 0 <= beyond <= n:
        assert chernoff(beyond, float(n), p, 1.0 - p) >= exponent * (1 - 1e-9)


@settings(max_examples=150)
@given(st.integers(1, 3000), st.floats(0.001, 0.999), st.floats(0.0, 1.0))
def test_chernoff_bounds_the_tail(n: int, p: float, share: float) -> None:
    k = round(share * n)
    run = (k, n) if k >= n * p else (0, k)
    exact = _run_mass(*run, n, p)
    assert math.exp(-chernoff(float(k), float(n), p, 1.0 - p)) * (1 + 1e-12) >= float(exact.mid())


@settings(max_examples=100)
@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 2000))
def test_first_groups_adjoin_and_cover(first: int, size: int, count: int) -> None:
    starts, ends = first_groups(float(first), float(first + size), count)
    assert starts[0] == first
    assert ends[-1] == first + size
    assert np.all(starts <= ends)
    assert np.all(starts[1:] == ends[:-1] + 1.0)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 10**6), st.floats(1e-6, 0.5))
def test_refine_keeps_the_cover(first: int, size: int, width: float) -> None:
    starts, ends = first_groups(float(first), float(first + size), 64)
    most = np.linspace(1.0, 2.0, len(starts))
    new_starts, new_ends = refine(starts, ends, 0.9 * most, most, width)
    assert new_starts[0] == first
    assert new_ends[-1] == first + size
    assert np.all(new_starts <= new_ends)
    assert np.all(new_starts[1:] == new_ends[:-1] + 1.0)


@pytest.mark.parametrize("p", [1e-3, 0.02, 0.3, 0.5, 0.7, 0.98, 0.999])
@pytest.mark.parametrize("n", [40, 3000, 10**6, 4 * 10**6])
@pytest.mark.parametrize("depth", [36.0, 200.0, 640.0])
def test_group_masses_enclose(n: int, p: float, depth: float) -> None:
    q = float((1 - arb(p)).mid())
    first = quantile(depth, -1, float(n), p, q)
    last = quantile(depth, 1, float(n), p, q)
    starts, ends = first_groups(first, last, 256)
    lower, upper = group_masses(starts, ends, float(n), p, q)
    middle = len(starts) // 2
    for i in {0, 1, len(starts) // 4, middle, middle + 1, len(starts) - 1} & set(range(len(ends))):
        exact = _run_mass(int(starts[i]), int(ends[i]), n, p)
        assert contains(float(lower[i]), float(upper[i]), exact), (i, starts[i], ends[i])
    assert lower.sum() <= 1.0 + 1e-12
    assert upper.sum() >= 1.0 - 2.0 * math.exp(-depth) - 1e-12


@pytest.mark.parametrize("p", [1e-9, 1e-5, 0.25, 0.5])
def test_group_masses_for_a_trillion(p: float) -> None:
    """Short runs only: the oracle adds atom by atom."""
    n, q = 10**12, float((1 - arb(p)).mid())
    spread = math.sqrt(n * p * q)
    centre = math.floor(n * p)
    starts = np.array([float(centre + math.floor(d * spread)) for d in (-6.0, -1.0, 0.0, 3.0, 9.0)])
    for start in starts:
        run = np.array([start]), np.array([start + 500.0])
        wide = np.array([start, start + 501.0]), np.array([start + 500.0, start + 20_000.0])
        exact = _run_mass(int(start), int(start) + 500, n, p)
        for groups in (run, wide):
            lower, upper = group_masses(*groups, float(n), p, q)
            assert contains(float(lower[0]), float(upper[0]), exact)
