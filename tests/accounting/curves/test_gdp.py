"""mu-GDP against scipy."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import norm

from shuffledp.accounting.curves import GDPCurve

mus = st.floats(0.01, 8.0)


@settings(max_examples=200)
@given(mus, st.floats(0.0, 10.0))
def test_delta(mu: float, epsilon: float) -> None:
    exact = norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)
    assert GDPCurve(mu).delta(epsilon) == pytest.approx(exact, rel=1e-7, abs=1e-13)


@pytest.mark.parametrize(("mu", "epsilon"), [(0.1, 3.0), (0.05, 1.5), (1.0, 35.0), (0.01, 0.3)])
def test_delta_far_out(mu: float, epsilon: float) -> None:
    """Where both normal tails nearly cancel: integrate the positive part instead."""
    start = epsilon / mu + mu / 2
    exact, _ = integrate.quad(
        lambda x: (
            -math.expm1(epsilon - mu * x + mu * mu / 2)
            * math.exp(-(x * x - (start - mu) ** 2) / 2.0 + mu * x - mu * mu / 2)
        ),
        start,
        start + 10.0,
        epsabs=0.0,
    )
    exact *= math.exp(-((start - mu) ** 2) / 2.0) / math.sqrt(2 * math.pi)
    assert GDPCurve(mu).delta(epsilon) == pytest.approx(exact, rel=1e-6, abs=0.0)


@settings(max_examples=100)
@given(mus, st.floats(1.0, 12.0))
def test_epsilon_inverts_delta(mu: float, digits: float) -> None:
    delta = 10.0**-digits
    epsilon = GDPCurve(mu).epsilon(delta)
    assert GDPCurve(mu).delta(epsilon) <= delta
    if epsilon > 0.0:
        assert GDPCurve(mu).delta(epsilon * (1.0 - 1e-6)) >= delta * (1.0 - 1e-9)


@settings(max_examples=100)
@given(mus, st.floats(1e-12, 1.0 - 1e-12))
def test_tradeoff(mu: float, alpha: float) -> None:
    exact = norm.cdf(norm.isf(alpha) - mu)
    assert GDPCurve(mu).tradeoff(alpha) == pytest.approx(exact, rel=1e-3, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 1e-300, 1e-20, 1e-17, 1.0 - 1e-16, 1.0])
def test_tradeoff_at_the_ends(alpha: float) -> None:
    exact = norm.cdf(norm.isf(alpha) - 1.0)
    assert GDPCurve(1.0).tradeoff(alpha) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("order", [1.5, 2.0, 17.0])
def test_renyi(order: float) -> None:
    assert GDPCurve(0.7).renyi(order) == pytest.approx(order * 0.49 / 2)
