"""Piecewise-linear trade-off functions: values, transforms, refusals."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import Direction, ParameterError
from shuffledp.accounting.curves import TradeoffFunction
from shuffledp.accounting.curves.tradeoff import (
    Conjugate,
    Gaussian,
    approximate,
    average,
    identity,
    joint,
    stronger,
)
from tests.oracles.tradeoff_laws import brute_force, law, pair, random_law

T = TradeoffFunction.from_pair
GRID = np.linspace(0.0, 1.0, 101)


@given(pair(), st.floats(0.0, 1.0))
def test_from_pair_is_neyman_pearson(laws, alpha):
    assert T(*laws)(alpha) == pytest.approx(brute_force(*laws, alpha), abs=1e-14)


@given(pair())
def test_inverse_swaps_the_laws(laws):
    p, q = laws
    f, g = T(p, q).inverse(), T(q, p)
    assert np.max(np.abs(f(GRID) - g(GRID))) <= 1e-14
    assert np.max(np.abs(f.inverse()(GRID) - T(p, q)(GRID))) <= 1e-14


@given(pair(3, 5), st.data())
def test_post_processing_never_lowers_f(laws, data):
    p, q = laws
    outputs = data.draw(st.integers(1, 5))
    channel = np.array([data.draw(law(outputs)) for _ in p])
    processed = T(p @ channel, q @ channel)
    assert processed.compare(T(p, q), tolerance=1e-14)


@given(pair())
def test_conjugate_round_trip(laws):
    f = T(*laws)
    g = TradeoffFunction.from_conjugate(f.conjugate())
    knots = np.union1d(f.alphas, g.alphas)
    assert np.max(np.abs(f(knots) - g(knots))) <= 1e-14


@given(pair(), st.floats(-30.0, 5.0))
def test_conjugate_is_the_supremum(laws, y):
    f = T(*laws)
    assert f.conjugate()(y) == pytest.approx(float(np.max(f.alphas * y - f.betas)), abs=1e-12)
    # 1 + f*(-e) is the hockey-stick divergence
    if y < 0.0:
        p, q = laws
        exact = float(np.maximum(q + y * p, 0.0).sum())
        assert 1.0 + f.conjugate()(y) == pytest.approx(exact, abs=1e-12)
        assert f.hockey_stick(np.array([-y]))[0] == pytest.approx(exact, abs=1e-12)


@given(pair(), st.floats(0.0, 4.0))
def test_delta_and_epsilon(laws, epsilon):
    p, q = laws
    f = T(p, q)
    exact = float(np.maximum(q - math.exp(epsilon) * p, 0.0).sum())
    assert f.delta(epsilon) == pytest.approx(exact, abs=1e-15)
    # what always reveals is a sum, too: a last digit less, and no epsilon is enough
    found = f.epsilon(min(exact * (1 + 1e-15), 1.0))
    assert found <= epsilon + 1e-9
    if math.isfinite(found):
        assert f.delta(found) <= exact + 1e-14


@given(pair(), st.sampled_from([1.2, 2.0, 3.5]))
def test_renyi_and_divergences(laws, order):
    p, q = laws
    f = T(p, q)
    kl_infinite = bool(np.any((p > 0) & (q == 0)))
    if kl_infinite:
        assert f.renyi(order) == math.inf
        assert f.divergence(lambda t: t**2) == math.inf
    else:
        both = (p > 0) & (q > 0)
        moment = float(np.sum(p[both] ** order * q[both] ** (1.0 - order)))
        assert f.renyi(order) == pytest.approx(math.log(moment) / (order - 1.0), abs=1e-12)
        power = f.divergence(lambda t: t**order - 1.0)
        assert power == pytest.approx(moment - 1.0, rel=1e-6, abs=1e-7)
    total = f.divergence(lambda t: np.abs(t - 1.0) / 2.0, at_infinity=0.5)
    assert total == pytest.approx(float(np.abs(p - q).sum()) / 2.0, abs=1e-12)
    assert total == pytest.approx(f.delta(0.0), abs=1e-12)


@given(pair())
def test_symmetrised_is_symmetric_convex_and_below_both(laws):
    f = T(*laws)
    c = f.symmetrised()
    assert c.is_symmetric(1e-12)
    assert f.compare(c, 1e-14)
    assert f.inverse().compare(c, 1e-14)
    assert c.symmetrised().compare(c, 1e-14)


@given(pair(), pair(), st.floats(0.0, 1.0))
def test_average_joint_and_maximum(first, second, w):
    f, g = T(*first), T(*second)
    mean, split = average([f, g], [1.0 - w, w]), joint([f, g], [1.0 - w, w])
    assert np.max(np.abs(mean(GRID) - ((1.0 - w) * f(GRID) + w * g(GRID)))) <= 1e-13
    assert mean.compare(split, 1e-13)
    top = stronger(f, g)
    assert np.max(np.abs(top(GRID) - np.maximum(f(GRID), g(GRID)))) <= 1e-12
    # joint = adding conjugates
    for y in (-7.0, -1.0, -0.2):
        added = (1.0 - w) * f.conjugate()(y) + w * g.conjugate()(y)
        assert split.conjugate()(y) == pytest.approx(added, abs=1e-12)


@given(pair(), st.floats(1.0, 9.0), st.floats(0.0, 1.0))
def test_scaled_and_subsampled(laws, factor, p):
    f = T(*laws)
    scaled = f.scaled(factor)
    assert np.max(np.abs(scaled(GRID) - f(np.minimum(GRID * factor, 1.0)))) <= 1e-12
    thin = f.subsampled(p)
    assert np.max(np.abs(thin(GRID) - (p * f(GRID) + (1.0 - p) * (1.0 - GRID)))) <= 1e-13


@given(pair(), st.floats(0.0, 0.1))
def test_lowered_is_below_by_no_more(laws, slack):
    f = T(*laws)
    g = f.lowered(slack)
    assert f.compare(g, 1e-15)
    assert g.direction is Direction.UPPER
    inner = GRID[GRID + slack <= 1.0]
    assert np.max(np.abs(g(inner) - np.maximum(f(inner + slack) - slack, 0.0))) <= 1e-12


def test_compare_names_the_worst_point():
    worse, better = approximate(1.0), approximate(0.5)
    found = worse.compare(better)
    assert not found
    assert found.margin == pytest.approx(worse(found.alpha) - better(found.alpha))
    assert found.margin == pytest.approx(float(np.min(worse(GRID) - better(GRID))), abs=2e-3)
    assert better >= worse
    assert worse <= better
    assert not worse >= better


def test_profile_round_trip():
    epsilons = np.linspace(0.0, 3.0, 400)
    exact = approximate(1.2, 0.01)
    deltas = np.array([exact.delta(e) for e in epsilons])
    f = TradeoffFunction.from_profile(np.exp(epsilons), deltas)
    assert exact.compare(f, 1e-14)
    assert -f.compare(exact).margin < 2e-3
    with_knot = TradeoffFunction.from_profile(
        np.exp([0.0, 1.2, 3.0]), [exact.delta(0.0), 0.01, 0.01]
    )
    assert np.max(np.abs(with_knot(GRID) - exact(GRID))) < 1e-14


def test_million_atoms():
    generator = np.random.default_rng(7)
    p, q = generator.random(10**6), generator.random(10**6)
    p, q = p / p.sum(), q / q.sum()
    times = []
    for _ in range(3):
        start = time.process_time()  # the machine may be busy with other things
        f = T(p, q)
        times.append(time.process_time() - start)
    assert min(times) < 1.0
    g = TradeoffFunction.from_conjugate(f.conjugate())
    assert np.max(np.abs(g(f.alphas) - f.betas)) <= 1e-12
    e = math.exp(0.3)
    exact = math.fsum(np.maximum(q - e * p, 0.0).tolist())
    assert f.delta(0.3) == pytest.approx(exact, rel=1e-12, abs=0.0)


def test_tiny_masses_keep_their_digits():
    p = np.array([1e-40, 1.0 - 2e-40, 1e-40 / 8])
    q = np.array([8e-40, 1.0 - 8e-40, 0.0])
    assert T(p, q).delta(math.log(2.0)) == pytest.approx(6e-40, rel=1e-12, abs=0.0)


REFUSED = [
    ([0.0, 0.5, 1.0], [1.0, 0.6, 0.0], "at most 1 - alpha", "0.6 at alpha = 0.5"),
    ([0.0, 0.2, 0.6, 1.0], [0.4, 0.38, 0.1, 0.0], "convex", "0.38 at alpha = 0.2"),
    ([0.0, 0.3, 0.5, 1.0], [0.5, 0.2, 0.3, 0.0], "non-increasing", "0.3 at alpha = 0.5"),
    ([0.0, 0.5, 1.0], [0.5, -0.1, 0.0], "non-negative", "-0.1 at alpha = 0.5"),
    ([0.0, 0.5, 0.5, 1.0], [1.0, 0.1, 0.1, 0.0], "strictly increasing", "0.5 at position 2"),
    ([0.1, 1.0], [0.5, 0.0], "from 0 to 1", "0.1"),
    ([0.0, math.nan, 1.0], [1.0, 0.5, 0.0], "finite", "position 1"),
    ([0.0, 0.5, 1.0], [1.0, math.inf, 0.0], "finite", "position 1"),
]


@pytest.mark.parametrize(("alphas", "betas", "condition", "where"), REFUSED)
def test_malformed_knots_are_refused_with_the_point(alphas, betas, condition, where):
    with pytest.raises(ParameterError) as error:
        TradeoffFunction(np.array(alphas), np.array(betas))
    assert condition in str(error.value)
    assert where in str(error.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: T([0.5, 0.4], [0.5, 0.5]), "summing to 1"),
        (lambda: T([0.5, 0.5], [1.5, -0.5]), "-0.5 at position 1"),
        (lambda: T([0.5, 0.5], [0.2, 0.3, 0.5]), "as long as first"),
        (lambda: average([identity(), identity()], [0.5, 0.6]), "summing to 1"),
        (lambda: joint([identity()], [0.5, 0.5]), "one per part"),
        (lambda: identity()(1.5), "in [0, 1]"),
        (lambda: identity()(math.nan), "in [0, 1]"),
        (lambda: identity().delta(-1.0), ">= 0"),
        (lambda: identity().renyi(1.0), "> 1"),
        (lambda: identity().scaled(0.5), ">= 1"),
        (lambda: TradeoffFunction.from_profile([1.0, -2.0], [0.1, 0.1]), "-2.0 at position 1"),
        (lambda: TradeoffFunction.from_profile([1.0, 2.0], [0.1, 1.2]), "1.2 at position 1"),
        (lambda: Conjugate(np.array([-1.0, -2.0]), np.array([0.0, 0.5, 1.0]), 0.0), "non-decr"),
        (lambda: Gaussian(0.0), "> 0"),
        (lambda: approximate(1.0, 1.5), "[0, 1]"),
    ],
)
def test_malformed_input_is_refused(call, message):
    with pytest.raises(ParameterError) as error:
        call()
    assert message in str(error.value)


def test_plot_draws_the_function():
    pytest.importorskip("matplotlib")
    axes = approximate(1.0, 0.05).plot(label="f")
    line = axes.get_lines()[-1]
    assert line.get_ydata()[0] == 1.0
    assert line.get_ydata()[-1] == 0.0
    assert axes.get_xlabel() == "type I error"
    assert approximate(2.0).plot(axes) is axes


def test_random_pairs_obey_blackwell_through_all_divergences():
    generator = np.random.default_rng(3)
    for _ in range(200):
        p, q = random_law(generator, 5), random_law(generator, 5)
        channel = np.array([random_law(generator, 3) for _ in range(5)])
        f, g = T(p, q), T(p @ channel, q @ channel)
        assert g.renyi(2.0) <= f.renyi(2.0) + 1e-12
        assert g.delta(0.4) <= f.delta(0.4) + 1e-14


def test_an_epsilon_whose_exponential_overflows() -> None:
    f = TradeoffFunction.from_pair([1e-320, 1.0], [0.5, 0.5])
    assert f.epsilon(0.25) == pytest.approx(math.log(0.25) - math.log(1e-320))
