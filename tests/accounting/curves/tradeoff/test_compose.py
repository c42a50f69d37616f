"""Composition: never above the exact product, close to it, fast."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import binom

from shuffledp import Direction, ParameterError
from shuffledp.accounting.curves import TradeoffFunction
from shuffledp.accounting.curves.tradeoff import (
    Gaussian,
    Laplace,
    approximate,
    compose,
    identity,
    tensor,
)
from tests.oracles.tradeoff_laws import pair, random_law

T = TradeoffFunction.from_pair
GRID = np.linspace(0.0, 1.0, 201)


def product(laws):
    """Exact product of a list of (P, Q)."""
    p = [math.prod(x) for x in itertools.product(*(a for a, _ in laws))]
    q = [math.prod(x) for x in itertools.product(*(b for _, b in laws))]
    return T(np.array(p) / sum(p), np.array(q) / sum(q))


@settings(max_examples=150)
@given(pair(2, 4), st.integers(1, 4))
def test_powers_are_certified_against_exact_products(laws, copies):
    exact, found = product([laws] * copies), compose(T(*laws), copies, points=512)
    assert found.direction is Direction.UPPER
    assert exact.compare(found, 1e-15)
    assert -found.compare(exact).margin < 2e-3
    for epsilon in (0.0, 0.5, 2.0):
        assert found.delta(epsilon) >= exact.delta(epsilon) * (1.0 - 1e-13)
        assert found.inverse().delta(epsilon) >= exact.inverse().delta(epsilon) * (1.0 - 1e-13)


@settings(max_examples=60)
@given(pair(2, 4), pair(2, 4), pair(2, 3))
def test_mixed_products(a, b, c):
    exact = product([a, b, b, c])
    found = tensor([(T(*a), 1), (T(*b), 2), (T(*c), 1)], points=1024)
    assert exact.compare(found, 1e-15)
    assert -found.compare(exact).margin < 2e-3


def test_randomized_response_is_exact_and_fast():
    copies, eps = 1000, 0.1
    start = time.process_time()
    found = compose(approximate(eps), copies)
    assert time.process_time() - start < 2.0
    k = np.arange(copies + 1)
    share = 1.0 / (1.0 + math.exp(eps))
    p, q = binom.pmf(k, copies, share), binom.pmf(k, copies, 1.0 - share)
    for epsilon in (0.0, 3.0, 10.0, 30.0):
        exact = float(np.maximum(q - math.exp(epsilon) * p, 0.0).sum())
        assert found.delta(epsilon) == pytest.approx(exact, rel=1e-8, abs=0.0)
        assert found.delta(epsilon) >= exact * (1.0 - 1e-10)
    assert found.renyi(3.0) == pytest.approx(
        copies * approximate(eps).renyi(3.0), rel=1e-9, abs=0.0
    )


@pytest.mark.parametrize("copies", [2, 37, 1000])
def test_gaussian_powers(copies):
    exact = Gaussian(0.1).composed(copies)
    start = time.process_time()
    found = compose(Gaussian(0.1).below(2048), copies)
    assert time.process_time() - start < 2.0
    values = np.array([exact(float(a)) for a in GRID])
    assert np.all(found(GRID) <= values)
    assert np.max(values - found(GRID)) < 2e-5
    for epsilon in (1.0, 3.0):
        assert exact.delta(epsilon) <= found.delta(epsilon)
        assert found.delta(epsilon) <= exact.delta(epsilon) * 1.05 + copies * 4e-15


def test_approximate_dp_composes_like_the_known_formula():
    """Probability that no release fails, times the pure part (Kairouz, Oh, Viswanath 2015)."""
    copies, eps, delta = 50, 0.2, 1e-5
    found = compose(approximate(eps, delta), copies)
    k = np.arange(copies + 1)
    share = 1.0 / (1.0 + math.exp(eps))
    p, q = binom.pmf(k, copies, share), binom.pmf(k, copies, 1.0 - share)
    keep = (1.0 - delta) ** copies
    for epsilon in (0.5, 2.0):
        pure = float(np.maximum(q - math.exp(epsilon) * p, 0.0).sum())
        assert found.delta(epsilon) == pytest.approx(1.0 - keep + keep * pure, rel=1e-9, abs=0.0)


def test_random_pair_thousand_copies_in_time():
    generator = np.random.default_rng(11)
    base = random_law(generator, 300) + 1e-4
    tilt = np.exp(0.02 * generator.standard_normal(300))
    p, q = base / base.sum(), base * tilt / (base * tilt).sum()
    f = T(p, q)
    start = time.process_time()
    found = compose(f, 1000)
    assert time.process_time() - start < 2.0
    # a central-limit picture: nearly Gaussian with the matching divergence
    mu = math.sqrt(1000.0 * 2.0 * f.divergence(lambda t: t * np.log(np.maximum(t, 1e-300))))
    assert found(0.1) == pytest.approx(Gaussian(mu)(0.1), abs=5e-3)


def test_extremes():
    assert compose(identity(), 5)(0.3) == pytest.approx(0.7, abs=1e-12)
    useless = TradeoffFunction(np.array([0.0, 1.0]), np.zeros(2))
    assert compose(useless, 3)(0.5) == 0.0
    far = compose(approximate(300.0), 20)
    assert far(0.01) == pytest.approx(0.0, abs=1e-12)
    strong = compose(approximate(5.0), 1000)
    assert strong(0.5) < 1e-9
    assert compose(Laplace(1.0).below(), 1).compare(Laplace(1.0).above(), 1.0)
    with pytest.raises(ParameterError, match="points"):
        compose(identity(), 2, points=4)
    with pytest.raises(ParameterError, match="parts"):
        tensor([])


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([1e-320, 1.0], [0.5, 0.5]),  # sqrt(p q) of two copies underflows
        ([1e-300, 1.0], [1.0, 1e-300]),
        ([5e-324, 0.5, 0.5], [1.0, 0.0, 5e-324]),
        ([0.5 + 1e-15, 0.5 - 1e-15], [0.5, 0.5]),
    ],
)
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_underflow_is_charged_not_forgotten(p, q, copies):
    exact = product([(np.array(p), np.array(q))] * copies)
    found = compose(T(p, q), copies)
    assert exact.compare(found, 1e-13)
    for f, g in ((exact, found), (exact.inverse(), found.inverse())):
        for epsilon in (0.0, 1.0, 20.0, 300.0):
            assert g.delta(epsilon) >= f.delta(epsilon) * (1.0 - 1e-12)


@pytest.mark.parametrize("copies", [50, 1000])
def test_underflow_with_many_copies(copies):
    """P hardly ever shows the first outcome, Q half the time: f is about 2^-copies (1 - alpha)."""
    found = compose(T([1e-320, 1.0], [0.5, 0.5]), copies)
    assert found(0.3) <= 0.7 * 0.5**copies * (1.0 + 1e-9)
    assert found.delta(1.0) >= 1.0 - 0.5**copies


def test_more_points_are_never_less_sound_and_closer():
    exact = Gaussian(0.5).composed(64)
    margins = []
    for points in (256, 1024, 4096):
        found = compose(Gaussian(0.5).below(1024), 64, points)
        values = np.array([exact(float(a)) for a in GRID])
        assert np.all(found(GRID) <= values)
        margins.append(float(np.max(values - found(GRID))))
    assert margins[0] > margins[1] > margins[2]


@pytest.mark.parametrize("seed", range(6))
def test_deep_tails_against_exact_multinomials(seed):
    """Three outcomes, 120 releases: every delta and f from above the exact one, tiny ones included."""
    generator = np.random.default_rng(seed)
    p = generator.dirichlet(np.ones(3))
    q = p * np.exp(0.4 * generator.standard_normal(3))
    q /= q.sum()
    n = 120
    a, b = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    inside = a + b <= n
    counts = np.stack([a[inside], b[inside], n - a[inside] - b[inside]])
    logs = gammaln(n + 1) - gammaln(counts + 1).sum(axis=0)
    first, second = (np.exp(logs + np.log(x) @ counts) for x in (p, q))
    exact, found = T(first, second), compose(T(p, q), n)
    assert exact.compare(found, 2e-12)  # the oracle's own rounding
    assert -found.compare(exact).margin < 1e-4
    for f, g in ((exact, found), (exact.inverse(), found.inverse())):
        for epsilon in (0.0, 2.0, 6.0, 12.0, 20.0):
            d = f.delta(epsilon)
            assert g.delta(epsilon) >= d * (1.0 - 1e-11)
            if d > 1e-20:
                assert g.delta(epsilon) <= d * 1.02 + 1e-22
