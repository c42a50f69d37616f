"""Masses and tails of one binomial, against balls."""

import math

import numpy as np
import pytest
from flint import arb
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shuffledp.numerics.binomial import (
    half_excess,
    half_tail,
    log_mass,
    log_mass_half,
    tail_ratio,
)
from tests.oracles.balls import binomial_mass, contains, precise

sizes = st.integers(0, 40).map(lambda x: round(10 ** (12 * x / 40))) | st.integers(1, 10**12)
chances = (
    st.floats(1e-12, 1e-3)
    | st.floats(0.001, 0.999)
    | st.floats(0.49, 0.51)
    | st.floats(1e-12, 1e-3).map(lambda q: 1.0 - q)
)
deviations = st.floats(-12.0, 12.0)


def _count(n: int, p: float, deviation: float) -> int:
    spread = math.sqrt(n * p * (1.0 - p)) + 1.0
    return min(max(round(n * p + deviation * spread), 0), n)


@precise
def _log_mass(k: int, n: int, p: float) -> arb:
    return binomial_mass(k, n, arb(p), 1 - arb(p)).log()


@settings(max_examples=600)
@given(sizes, chances, deviations)
def test_log_mass_within_its_error(n: int, p: float, deviation: float) -> None:
    k = _count(n, p, deviation)
    q = float((1 - arb(p)).mid())
    value, error = (float(x[0]) for x in log_mass(np.array([float(k)]), float(n), p, q))
    assert contains(value - error, value + error, _log_mass(k, n, p))
    assert error < 1e-6


@settings(max_examples=300)
@given(st.integers(2, 10**12), deviations)
def test_log_mass_half_within_its_error(n: int, deviation: float) -> None:
    k = min(max(_count(n, 0.5, deviation), 1), n - 1)
    value, error = (float(x[0]) for x in log_mass_half(np.array([float(k)]), np.array([float(n)])))
    assert contains(value - error, value + error, _log_mass(k, n, 0.5))
    assert error < 1e-11


def test_masses_of_no_trials() -> None:
    value, error = log_mass(np.array([0.0]), 0.0, 0.3, 0.7)
    assert value[0] == 0.0
    assert error[0] == 0.0


@precise
def _upper_tail(t: int, n: int, p: float) -> arb:
    """Pr[Bin(n, p) > t] / Pr[Bin(n, p) = t], term by term until terms no longer matter."""
    ratio = arb(p) / (1 - arb(p))
    total, term = arb(0), arb(1)
    for k in range(t, n):
        term *= ratio * (n - k) / (k + 1)
        total += term
        if term < total * arb(2) ** -100:
            break
    return total


@settings(max_examples=60)
@given(st.floats(0.02, 0.98), st.floats(5.0, 6.5), st.floats(0.0, 9.0))
def test_tail_ratio(p: float, size: float, deviation: float) -> None:
    n = round(10**size)
    spread = math.sqrt(n * p * (1.0 - p))
    assume(spread >= 150.0)
    t = math.ceil(n * p + deviation * spread)
    assume(t < n)
    q = 1.0 - p
    at = np.array([float(t)])
    excess = at - (n - 1.0) * p
    value = float(tail_ratio(at, excess, float(n), p, q)[0])
    error = 1e-12 + 64.0 * 2.0**-53 * float(excess[0])
    assert contains(value * (1 - error), value * (1 + error), _upper_tail(t, n, p))


@settings(max_examples=60)
@given(st.integers(129, 10**6), st.floats(0.0, 10.0))
def test_half_tail(n: int, deviation: float) -> None:
    t = min(n // 2 + math.floor(deviation * math.sqrt(n) / 2.0), n - 1)
    tail, moment, _ = half_tail(np.array([float(t)]), np.array([float(n)]))
    exact = _upper_tail(t, n, 0.5)
    assert contains(float(tail[0]) * (1 - 1e-12), float(tail[0]) * (1 + 1e-12), exact)
    assert moment[0] == 0.5 * (n - t)


@precise
def _excess(n: int, above: float) -> arb:
    """E[(X - n/2 - above)+] for X ~ Bin(n, 1/2)."""
    threshold = arb(n) / 2 + arb(above)
    first = int(threshold.floor().unique_fmpz()) + 1
    if first > n:
        return arb(0)
    half = arb(1) / 2
    mass, total = binomial_mass(first, n, half, half), arb(0)
    for k in range(first, n + 1):
        term = mass * (k - threshold)
        total += term
        mass *= arb(n - k) / (k + 1)
        if k > first and term < total * arb(2) ** -120:
            break
    return total


@settings(max_examples=300)
@given(st.integers(1, 400) | st.integers(1, 10**6) | st.integers(1, 10**12), st.floats(0.0, 12.0))
def test_half_excess_encloses(n: int, deviation: float) -> None:
    above = deviation * math.sqrt(n) / 2.0
    assume(above < n / 2.0 and n / 2.0 - (n / 2.0 - above) == above)
    assume(n <= 10**6 or deviation >= 3.0)  # fewer terms for the oracle
    assume(n <= 10**9 or deviation >= 11.5)
    room = np.array([n / 2.0 - above])
    lower, upper, scale = half_excess(np.array([float(n)]), np.array([above]), room)
    exact = precise(lambda: _excess(n, above) / arb(float(scale[0])).exp())()
    assert contains(float(lower[0]), float(upper[0]), exact)
    assert upper[0] - lower[0] <= 1e-9 * upper[0] or n > 10**5


def test_half_excess_at_the_top() -> None:
    """Beyond the last outcome nothing is left: exactly zero."""
    counts = np.array([5.0, 128.0, 129.0, 1000.0])
    lower, upper, _ = half_excess(counts, counts / 2.0, np.zeros(4))
    assert lower.tolist() == [0.0] * 4
    assert upper.tolist() == [0.0] * 4


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 130, 300])
def test_half_excess_at_every_kink(n: int) -> None:
    """Thresholds on, just below and just above every outcome, on both sides of the table's end."""
    for k in range((n + 1) // 2, n):
        for nudge in (-1e-9, 0.0, 1e-9):
            above = k - n / 2.0 + nudge
            if above < 0.0:
                continue
            lower, upper, scale = half_excess(
                np.array([float(n)]), np.array([above]), np.array([n - k - nudge])
            )
            factor = math.exp(float(scale[0]))
            exact = float(_excess(n, above).mid())
            assert lower[0] * factor <= exact * (1 + 1e-6)
            assert upper[0] * factor >= exact * (1 - 1e-6)


def test_every_half_tail_of_middling_size() -> None:
    """All thresholds for 128 < c < 1000 against exact integer sums."""
    for c in range(129, 1000):
        t = np.arange((c - 1) // 2 + (c - 1) % 2, c)
        found = half_tail(t.astype(float), np.full(t.size, float(c)))[0]
        exact, above, row = [], 0, math.comb(c, c)
        for k in range(c - 1, int(t[0]) - 1, -1):
            above += row
            row = row * (k + 1) // (c - k)  # C(c, k)
            exact.append((above << 60) // row)
        wanted = np.array([x / (1 << 60) for x in reversed(exact)])
        assert np.abs(found / wanted - 1.0).max() < 32.0 * 2.0**-53, c
