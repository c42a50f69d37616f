"""The certified delta of the clone pair, against the double sum over (C, A)."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shuffledp import LDP
from shuffledp.accounting.bounds import get_bound
from shuffledp.numerics.binomial import half_excess
from shuffledp.numerics.enclosure import FINE, QUICK, SEARCH
from shuffledp.numerics.trinomial import TwoSided
from tests.oracles import clones
from tests.oracles.balls import contains, off

PAIRS = {"stronger-clones": clones.stronger, "feldman-2021": clones.standard}

local_budgets = st.floats(-4.0, 1.3).map(lambda x: 10.0**x) | st.floats(1e-4, 20.0)


@settings(max_examples=120)
@given(
    local_budgets,
    st.integers(1, 120) | st.integers(1, 300),
    st.floats(0.0, 0.999999),
    st.sampled_from(sorted(PAIRS)),
)
def test_delta_agrees_with_the_double_sum(eps0: float, n: int, share: float, pair: str) -> None:
    epsilon = share * eps0
    found = get_bound(pair).curve(LDP(eps0), n).enclose(epsilon)
    exact = clones.delta(eps0, n, epsilon, PAIRS[pair](eps0))
    assert contains(found.lower, found.upper, exact)
    assume(exact > 1e-290)
    assert off(found.lower, exact) <= 1e-9
    assert off(found.upper, exact) <= 1e-9


@settings(max_examples=60)
@given(local_budgets, st.integers(1, 300), st.floats(1e-16, 1e-6))
def test_delta_just_below_eps0(eps0: float, n: int, gap: float) -> None:
    """Where the pair's last outcomes alone count, and naive formulas cancel."""
    epsilon = eps0 * (1.0 - gap)
    assume(epsilon < eps0)
    found = get_bound("stronger-clones").curve(LDP(eps0), n).enclose(epsilon)
    exact = clones.delta(eps0, n, epsilon, clones.stronger(eps0))
    assert contains(found.lower, found.upper, exact)


@settings(max_examples=40)
@given(local_budgets, st.integers(1, 250), st.floats(0.0, 0.999999))
def test_wide_enclosures_hold_the_truth_too(eps0: float, n: int, share: float) -> None:
    epsilon = share * eps0
    exact = clones.delta(eps0, n, epsilon, clones.stronger(eps0))
    for width in (SEARCH, QUICK):
        found = get_bound("stronger-clones").curve(LDP(eps0), n).enclose(epsilon, width)
        assert contains(found.lower, found.upper, exact)


@settings(max_examples=250)
@given(local_budgets, st.floats(0.0, 12.0), st.floats(2.0, 30.0))
def test_relative_width(eps0: float, size: float, digits: float) -> None:
    n, target = round(10.0**size), 10.0**-digits
    curve = get_bound("stronger-clones").curve(LDP(eps0), n)
    epsilon = curve.epsilon(target)
    assume(epsilon < eps0)
    found = curve.enclose(epsilon, FINE)
    assume(found.upper >= 0.9e-30)
    assert found.width <= (1e-9 if n <= 10**5 else 1e-4)


@pytest.mark.parametrize(
    ("eps0", "n", "epsilon"),
    [
        (0.001, 20_000, 2e-5),
        (0.5, 30_000, 0.02),
        (3.0, 50_000, 0.2),
        (6.0, 100_000, 0.35),
        (8.0, 100_001, 1.5),
        (9.0, 1_000_000, 0.9),
        (12.0, 10**8, 0.5),
        (19.0, 10**12, 0.02),
    ],
)
def test_large_n_holds_the_arb_window_sum(eps0: float, n: int, epsilon: float) -> None:
    exact = clones.window_delta(eps0, n, epsilon, depth=110.0)
    found = get_bound("stronger-clones").curve(LDP(eps0), n).enclose(epsilon)
    assert contains(found.lower, found.upper, exact)


@pytest.mark.slow
@pytest.mark.parametrize("eps0", [0.01, 1.0, 3.0, 5.0, 7.0])
@pytest.mark.parametrize("n", [10**5, 10**6])
@pytest.mark.parametrize("digits", [1, 8, 30])
def test_large_n_over_a_grid(eps0: float, n: int, digits: int) -> None:
    curve = get_bound("stronger-clones").curve(LDP(eps0), n)
    epsilon = curve.epsilon(10.0**-digits)
    exact = clones.window_delta(eps0, n, epsilon, depth=110.0)
    for width in (FINE, SEARCH, QUICK):
        found = curve.enclose(epsilon, width)
        assert contains(found.lower, found.upper, exact)


@settings(max_examples=200)
@given(st.integers(1, 10**7), st.floats(0.0, 0.5), st.floats(0.0, 0.02))
def test_simple_upper_bound_of_h(c: int, slope: float, pinned: float) -> None:
    """What stands for all counts beyond the window is never below h."""
    sums = TwoSided(10**9, 0.1, 0.9, 0.0, slope, 0.5 - slope)
    count, extra = np.array([float(c)]), np.array([pinned * c])
    low, _, scale = half_excess(count, slope * count + extra, (0.5 - slope) * count - extra)
    if low[0] > 0.0:
        assert sums._log_most(float(c), pinned) >= math.log(low[0]) + scale[0] - math.log(c)
