"""From one curve to another, against exact sums over the clone pair."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from shuffledp import LDP
from shuffledp.accounting.bounds import get_bound
from shuffledp.accounting.curves import PureEnd, RenyiCurve
from shuffledp.accounting.curves.convert import renyi_from_profile, tradeoff_from_profile
from shuffledp.accounting.curves.renyi import rdp_delta, rdp_epsilon
from tests.oracles import clones
from tests.oracles.balls import at_least, off, precise
from tests.oracles.tradeoff import interpolate, knots


@precise
def _knots(eps0: float, n: int) -> list[tuple[float, float]]:
    return knots(clones.outcomes(eps0, n, clones.stronger(eps0)))


@pytest.mark.parametrize(("eps0", "n"), [(0.1, 5), (1.0, 1), (1.0, 20), (3.0, 60), (8.0, 30)])
def test_tradeoff_encloses_the_exact_knots(eps0: float, n: int) -> None:
    curve = get_bound("stronger-clones").curve(LDP(eps0), n)
    points = _knots(eps0, n)
    some = [alpha for alpha, _ in points[:: max(1, len(points) // 25)]]
    for alpha in (*some, 0.0, 1e-9, 0.013, 0.5, 0.97, 1.0):
        exact = interpolate(points, alpha)
        found = tradeoff_from_profile(curve.forward, curve.forward, alpha, PureEnd(eps0))
        assert found.lower <= exact + 1e-14
        assert found.upper >= exact - 1e-14
        assert found.lower == pytest.approx(exact, abs=2e-6)
        assert curve.tradeoff(alpha) == found.lower


@settings(max_examples=30)
@given(
    st.floats(-4.0, 1.3).map(lambda x: 10.0**x),
    st.integers(1, 25),
    st.floats(0.0, 1.0) | st.floats(-10.0, 0.0).map(lambda x: 10.0**x),
)
def test_tradeoff_never_promises_too_much(eps0: float, n: int, alpha: float) -> None:
    exact = interpolate(_knots(eps0, n), alpha)
    assert get_bound("stronger-clones").curve(LDP(eps0), n).tradeoff(alpha) <= exact + 1e-14


@settings(max_examples=25)
@given(st.floats(-2.0, 1.0).map(lambda x: 10.0**x), st.integers(1, 40), st.floats(1.01, 40.0))
def test_renyi_from_profile_is_above_the_exact(eps0: float, n: int, order: float) -> None:
    curve = get_bound("stronger-clones").curve(LDP(eps0), n)
    found = renyi_from_profile(curve.forward, curve.forward, order, PureEnd(eps0))
    exact = clones.renyi(eps0, n, order, clones.stronger(eps0))
    assert at_least(found, exact) or found == eps0
    assert off(found, exact) < 0.1


@settings(max_examples=200)
@given(st.floats(1.01, 60.0), st.floats(0.05, 4.0), st.floats(0.0, 12.0))
def test_rdp_lemma_holds_for_gaussians(order: float, mu: float, epsilon: float) -> None:
    """A Gaussian pair has D = order mu^2/2 and a known delta: the lemma must not go below it."""
    exact = norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)
    divergence = order * mu * mu / 2
    assert rdp_delta(order, divergence, epsilon) >= exact - 1e-13
    if exact > 1e-12:
        assert rdp_epsilon(order, divergence, exact) >= epsilon * (1 - 1e-9) - 1e-9


@settings(max_examples=200)
@given(st.floats(1.01, 60.0), st.floats(0.01, 5.0), st.floats(1.0, 20.0))
def test_rdp_lemma_inverts_itself(order: float, divergence: float, digits: float) -> None:
    epsilon = rdp_epsilon(order, divergence, 10.0**-digits)
    if epsilon > 0.0:
        assert rdp_delta(order, divergence, epsilon) == pytest.approx(
            10.0**-digits, rel=1e-6, abs=0.0
        )


def test_rdp_curve_of_a_gaussian_is_close_to_the_best_order() -> None:
    mu, delta = 0.5, 1e-6
    curve = RenyiCurve(lambda order: 0.5 * mu * mu * order)
    dense = min(
        rdp_epsilon(1 + k / 100, (1 + k / 100) * mu * mu / 2, delta) for k in range(1, 20_000)
    )
    assert curve.epsilon(delta) == pytest.approx(dense, rel=1e-3, abs=0.0)
    assert curve.delta(curve.epsilon(delta)) == pytest.approx(delta, rel=0.02, abs=0.0)


def test_rdp_tradeoff_is_below_the_gaussian() -> None:
    mu = 0.5
    curve = RenyiCurve(lambda order: 0.5 * mu * mu * order)
    for alpha in (0.01, 0.2, 0.7):
        exact = norm.cdf(norm.isf(alpha) - mu)
        assert 0.3 * exact < curve.tradeoff(alpha) <= exact
