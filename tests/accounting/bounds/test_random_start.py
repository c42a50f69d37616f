"""Theorem 5.1: certified, against quadrature, closed forms and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from shuffledp import Direction, ParameterError, Status
from shuffledp.accounting.bounds.random_start import (
    CellStart,
    NormalStart,
    RandomStart,
    UniformStart,
    clipped_linear,
    clipped_linear_worst_case,
    errors,
    unclipped_renyi,
)
from shuffledp.accounting.curves.tradeoff import Gaussian

GRID = np.linspace(0.0, 1.0, 201)


def gaussian_delta(mu, epsilon):
    if mu == 0.0:
        return 0.0
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


def mixture_delta(a, c, epsilon):
    """E over I of the Gaussian delta, by adaptive quadrature."""

    def integrand(i):
        return norm.pdf(i) * gaussian_delta(min(abs(a - i), c), epsilon)

    turns = sorted({a - c, a, a + c, 0.0})
    edges = [-12.0, *[t for t in turns if -12 < t < 12], 12.0]
    return sum(
        quad(integrand, x, y, epsabs=1e-12, limit=200)[0] for x, y in itertools.pairwise(edges)
    )


@pytest.mark.parametrize("c", [0.5, 2.0, 30.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
def test_profile_is_certified_against_quadrature(c, epsilon):
    model = clipped_linear(1.0, c)
    exact = mixture_delta(1.0, c, epsilon)
    assert exact - 1e-10 <= model.claim().delta(epsilon).value <= exact + 2e-3
    assert model.above().delta(epsilon) <= exact + 1e-10


@settings(max_examples=20)
@given(st.floats(-2.0, 2.0), st.floats(0.1, 5.0))
def test_below_and_above_close_and_better_than_c_gdp(a, c):
    model = clipped_linear(a, c, cells=4096)
    below, above = model.claim(400).function, model.above(400)
    assert above.compare(below, 1e-12)
    assert -below.compare(above).margin < 5e-3
    plain = np.array([Gaussian(c)(float(x)) for x in GRID])
    assert np.all(above(GRID) >= plain - 1e-9)
    assert np.all(below(GRID) >= plain - 1e-4)  # tangents only


def test_constant_shift_is_gaussian():
    model = RandomStart(lambda i: np.full_like(i, 1.5), monotone_between=())
    values = np.array([Gaussian(1.5)(float(x)) for x in GRID])
    found = model.claim(2000).function
    assert np.all(found(GRID) <= values)
    assert np.max(values - found(GRID)) < 1e-5


def unequal_normals(m0, s0, m1, s1):
    """Knots of T(N(m0, s0^2), N(m1, s1^2)): the likelihood-ratio test rejects outside, or inside, an
    interval around the centre of the quadratic."""
    centre = (m0 / s0**2 - m1 / s1**2) / (1 / s0**2 - 1 / s1**2)
    half = np.linspace(0, 30, 4001)
    outside, inside = [], []
    for mean, sd in ((m0, s0), (m1, s1)):
        outside.append(norm.sf(centre + half, mean, sd) + norm.cdf(centre - half, mean, sd))
        inside.append(norm.cdf(centre + half, mean, sd) - norm.cdf(centre - half, mean, sd))
    return (outside[0], inside[1]) if s1 > s0 else (inside[0], outside[1])


@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("a", [0.0, 1.0])
def test_unclipped_stays_below_the_closed_gaussian_form(n, a):
    """theta(D_0) ~ N(n a, (n-1)^2 + 1), theta(D_1) ~ N((n-1) a, (n-2)^2 + 1): no clipping."""
    alphas, betas = unequal_normals(n * a, math.hypot(n - 1, 1), (n - 1) * a, math.hypot(n - 2, 1))
    found = clipped_linear(a, 40.0).claim().function
    assert np.all(found(np.clip(alphas, 0, 1)) <= betas + 1e-12)


def test_unclipped_joint_pair_matches_its_closed_profile():
    """mu ~ N(a, 1): total variation with I revealed, E[2 Phi(|mu|/2) - 1], has a closed form at a = 0."""
    exact = 2.0 / math.pi * math.atan(0.5)  # E of erf(|Z| / (2 sqrt 2))
    found = clipped_linear(0.0, 40.0, cells=65536)
    assert exact <= found.claim().delta(0.0).value <= exact + 4e-3
    assert found.above().delta(0.0) <= exact


def test_renyi_fails_without_clipping():
    assert unclipped_renyi(1.0, 2.0) == math.inf
    assert unclipped_renyi(1.0, 0.5 * (1 + math.sqrt(5.0)) + 1e-9) == math.inf
    finite = unclipped_renyi(0.7, 1.3)
    k = 1.3 * 0.3
    exact = quad(lambda m: norm.pdf(m, 0.7, 1.0) * math.exp(k * m * m / 2), -40, 40)[0]
    assert finite == pytest.approx(math.log(exact) / 0.3, rel=1e-8, abs=0.0)
    free = RandomStart(lambda i: 1.0 - i, monotone_between=(1.0,))
    assert free.renyi(2.0) == math.inf
    grown = [clipped_linear(1.0, c).renyi(2.0) for c in (1.0, 2.0, 4.0, 8.0)]
    assert grown == sorted(grown)
    exact = quad(
        lambda i: norm.pdf(i) * math.exp(min((1.0 - i) ** 2, 1.0)), -12, 12, points=(0, 2)
    )[0]
    assert math.log(exact) <= grown[0] <= math.log(exact) + 2e-3
    assert grown[-1] > 30.0  # and yet the trade-off function has long settled
    settled = [clipped_linear(1.0, c).claim().function(0.1) for c in (4.0, 8.0)]
    assert settled[0] == pytest.approx(settled[1], abs=5e-3)


def test_paper_claim_on_renyi_has_the_direction_reversed():
    """R(N(0,1)||N(0,2)) is finite at every order; R(N(0,2)||N(0,1)) is infinite from order 2 on."""

    def renyi(v0, v1, order):
        mixed = (1 - order) * v0 + order * v1
        if mixed <= 0:
            return math.inf
        return (
            0.5 * (1 - order) * math.log(v0) + 0.5 * order * math.log(v1) - 0.5 * math.log(mixed)
        ) / (order - 1)

    order = 3.0
    integral = quad(
        lambda x: norm.pdf(x) ** order * norm.pdf(x, 0, math.sqrt(2)) ** (1 - order), -30, 30
    )[0]
    assert renyi(1.0, 2.0, order) == pytest.approx(
        math.log(integral) / (order - 1), rel=1e-9, abs=0.0
    )
    assert math.isfinite(renyi(1.0, 2.0, 1000.0))
    assert renyi(2.0, 1.0, 2.0) == math.inf


def test_worst_case_needs_bounded_data():
    model = clipped_linear_worst_case(1.0, 4.0)
    claim = model.claim()
    assert claim.status is Status.PROVEN
    assert claim.direction is Direction.UPPER
    instance = clipped_linear(1.0, 4.0)
    assert instance.claim().status is Status.FIXED_PAIR
    assert instance.above().compare(claim.function)
    # data that reach the clip at every start: c-GDP, no gain
    plain = np.array([Gaussian(1.0)(float(x)) for x in GRID])
    none = clipped_linear_worst_case(1.0, 1.0).claim().function(GRID)
    assert np.max(np.abs(none - plain)) < 1e-4
    replaced = clipped_linear_worst_case(1.0, 4.0, relation="replace").claim()
    assert claim.function.compare(replaced.function)


def test_a_sampled_mu_is_only_heuristic():
    model = RandomStart(lambda i: np.sin(50.0 * i), cells=1000)
    assert model.claim().status is Status.HEURISTIC
    assert model.claim().direction is Direction.ESTIMATE
    safe = RandomStart(lambda i: np.sin(50.0 * i), lipschitz=50.0, cells=1000, largest=1.0)
    assert safe.claim().status is Status.FIXED_PAIR
    assert model.above().compare(safe.claim().function)


def test_other_starts():
    uniform = RandomStart(lambda i: i, UniformStart(0.0, 2.0), monotone_between=())
    exact = quad(lambda m: gaussian_delta(m, 0.3) / 2.0, 0.0, 2.0)[0]
    assert exact <= uniform.claim().delta(0.3).value <= exact + 2e-3
    assert uniform.renyi(2.0) == pytest.approx(
        math.log(quad(lambda m: math.exp(m * m) / 2.0, 0.0, 2.0)[0]), abs=2e-3
    )
    cells = RandomStart(lambda i: i, CellStart([0.0, 1.0, 2.0], [0.5, 0.4]), monotone_between=())
    worst = 0.5 * gaussian_delta(1.0, 0.3) + 0.4 * gaussian_delta(2.0, 0.3) + 0.1
    assert cells.claim().function.delta(0.3) >= worst - 1e-12
    wide = RandomStart(lambda i: i, NormalStart(1.0, 0.5), monotone_between=(0.0,))
    exact = quad(lambda m: norm.pdf(m, 1.0, 0.5) * gaussian_delta(abs(m), 0.0), -6.0, 8.0)[0]
    assert exact <= wide.claim().delta(0.0).value <= exact + 2e-3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: clipped_linear(1.0, -1.0), "'c'"),
        (lambda: clipped_linear(math.nan, 1.0), "'a'"),
        (lambda: clipped_linear_worst_case(1.0, 1.0, relation="add"), "relation"),
        (lambda: RandomStart(lambda i: i * math.nan, monotone_between=()).claim(), "'mu'"),
        (lambda: RandomStart(lambda i: i, largest=1.0).claim(), "largest"),
        (lambda: RandomStart(lambda i: i, UniformStart(1.0, 0.0)).claim(), "low"),
        (lambda: RandomStart(lambda i: i, CellStart([0, 1], [1.5])).claim(), "probabilities"),
        (lambda: RandomStart(lambda i: i, CellStart([0, 1], [0.5, 0.5])).claim(), "edges"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ParameterError) as error:
        call()
    assert message in str(error.value)


def simulate(a, c, samples, seed, thresholds):
    """Empirical (alpha, beta) of the likelihood-ratio tests, the start revealed."""
    generator = np.random.default_rng(seed)
    alphas, betas = np.zeros(len(thresholds)), np.zeros(len(thresholds))
    left = samples
    while left:
        count = min(left, 2_000_000)
        mu = np.clip(a - generator.standard_normal(count), -c, c)
        x = generator.standard_normal(count)
        null, other = mu * x - 0.5 * mu**2, mu * (x + mu) - 0.5 * mu**2
        for k, t in enumerate(thresholds):
            alphas[k] += np.count_nonzero(null > t)
            betas[k] += np.count_nonzero(other <= t)
        left -= count
    return alphas / samples, betas / samples


def check_simulation(samples):
    """False alarm below 1e-7: eight comparisons each at 6 standard errors."""
    thresholds = np.array([-1.0, -0.2, 0.3, 1.0])
    for c in (1.0, 2.0):
        alphas, betas = simulate(1.0, c, samples, 20231115, thresholds)
        model = clipped_linear(1.0, c)
        below, above = model.claim().function, model.above()
        reach = 6.0 * 0.5 / math.sqrt(samples)
        assert np.all(below(np.minimum(alphas + reach, 1.0)) <= betas + reach)
        assert np.all(above(np.maximum(alphas - reach, 0.0)) >= betas - reach)
        low, high, _ = model.laws()
        mass = model.start.cells(model.cells)[1]
        exact = errors(0.5 * (low + high), np.asarray(mass), thresholds)
        assert np.max(np.abs(exact[0] - alphas)) < reach + 1e-6
        assert np.max(np.abs(exact[1] - betas)) < reach + 1e-6


def test_simulation():
    check_simulation(2_000_000)


@pytest.mark.slow
def test_simulation_of_1e8_samples():
    check_simulation(100_000_000)


@pytest.mark.slow
def test_output_itself_is_no_easier_to_tell_apart():
    """theta alone, n = 2, clipped at 1: tests on a fine histogram never beat the bound."""
    generator = np.random.default_rng(99)
    edges = np.linspace(-12.0, 14.0, 521)
    counts = np.zeros((2, len(edges) + 1))
    for _ in range(10):
        i = generator.standard_normal(2_000_000)
        pull = np.clip(1.0 - i, -1.0, 1.0)  # minus one clipped gradient
        for k, elements in enumerate((2, 1)):
            theta = i + elements * pull + generator.standard_normal(len(i))
            counts[k] += np.bincount(np.searchsorted(edges, theta), minlength=len(edges) + 1)
    p, q = counts / counts.sum(axis=1, keepdims=True)
    centre = 0.5 * (p + q) > 1e-5
    # thresholds at fixed places, not fitted to the counts: theta > x
    tail_p, tail_q = np.cumsum(p[::-1])[::-1], np.cumsum(q[::-1])[::-1]
    reach = 6.0 * 0.5 / math.sqrt(20_000_000)
    found = clipped_linear(1.0, 1.0).claim().function
    for a, b in ((tail_p, 1.0 - tail_q), (1.0 - tail_p, tail_q)):
        inside = np.clip(a + reach, 0.0, 1.0)
        assert np.all(found(inside) <= b + reach)
    assert centre.sum() > 100
