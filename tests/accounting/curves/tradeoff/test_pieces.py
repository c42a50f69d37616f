"""Piecewise-linear trade-off functions against direct sums."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import ParameterError
from shuffledp.accounting.curves import TradeoffFunction
from tests.oracles.tradeoff import interpolate, knots

masses = st.lists(st.integers(0, 50), min_size=2, max_size=8)


@st.composite
def pairs(draw, positive: bool = False) -> tuple[list[float], list[float]]:
    size = draw(st.integers(2, 8))
    low = 1 if positive else 0
    row = st.lists(st.integers(low, 50), min_size=size, max_size=size).filter(any)
    p, q = draw(row), draw(row)
    return [x / sum(p) for x in p], [x / sum(q) for x in q]


BAD = [
    ([0.0, 0.5], [1.0, 0.0], "alphas"),  # does not reach 1
    ([0.1, 1.0], [0.5, 0.0], "alphas"),  # does not start at 0
    ([0.0, 1.0], [1.0], "alphas"),  # lengths differ
    ([0.0, 0.5, 0.5, 1.0], [1.0, 0.5, 0.4, 0.0], "strictly increasing"),
    ([0.0, 0.5, 1.0], [0.2, 0.3, 0.0], "non-increasing"),
    ([0.0, 0.5, 1.0], [1.0, 0.6, 0.0], "at most 1 - alpha"),
    ([0.0, 0.5, 1.0], [1.0, -0.1, -0.1], "non-negative"),
    ([0.0, 0.5, 1.0], [math.nan, 0.1, 0.0], "finite"),
    ([0.0, 0.5, 1.0], [0.5, 0.4, 0.0], "convex"),
]


@pytest.mark.parametrize(("alphas", "betas", "message"), BAD)
def test_bad_functions_are_refused(alphas, betas, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TradeoffFunction(np.array(alphas), np.array(betas))


@settings(max_examples=200)
@given(pairs(), st.floats(0.0, 1.0))
def test_from_pair_is_neyman_pearson(pair, alpha: float) -> None:
    p, q = pair
    f = TradeoffFunction.from_pair(p, q)
    ranked = [(a, b) for a, b in zip(p, q, strict=True) if b > 0.0]
    never = [(a, b) for a, b in zip(p, q, strict=True) if b == 0.0 and a > 0.0]
    points = [*knots(ranked), *[(1.0, 0.0)] * bool(never)]
    assert f(alpha) == pytest.approx(interpolate(points, alpha), abs=1e-12)


@settings(max_examples=200)
@given(pairs(), st.floats(0.0, 4.0))
def test_delta_is_the_hockey_stick(pair, epsilon: float) -> None:
    """f = T(P, Q) gives delta of (Q, P): 1 - f - e alpha = Q(S) - e P(S)."""
    p, q = pair
    exact = sum(max(b - math.exp(epsilon) * a, 0.0) for a, b in zip(p, q, strict=True))
    assert TradeoffFunction.from_pair(p, q).delta(epsilon) == pytest.approx(exact, abs=1e-12)


@settings(max_examples=200)
@given(pairs(positive=True), st.floats(1.05, 30.0))
def test_renyi_is_the_direct_sum(pair, order: float) -> None:
    """The integral of |f'|^(1-order) is sum P^order Q^(1-order)."""
    p, q = pair
    exact = math.log(sum(a**order * b ** (1.0 - order) for a, b in zip(p, q, strict=True))) / (
        order - 1.0
    )
    found = TradeoffFunction.from_pair(p, q).renyi(order)
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-9)


def test_renyi_is_infinite_without_absolute_continuity() -> None:
    assert TradeoffFunction.from_pair([0.5, 0.5], [1.0, 0.0]).renyi(2.0) == math.inf


@settings(max_examples=200)
@given(pairs(), st.floats(0.0, 1.0))
def test_inverse_swaps_the_hypotheses(pair, alpha: float) -> None:
    p, q = pair
    swapped = TradeoffFunction.from_pair(q, p)
    assert TradeoffFunction.from_pair(p, q).inverse()(alpha) == pytest.approx(
        swapped(alpha), abs=1e-9
    )


@settings(max_examples=200)
@given(pairs(), st.floats(0.0, 1.0))
def test_symmetrised_lies_below_both_and_is_symmetric(pair, alpha: float) -> None:
    p, q = pair
    f = TradeoffFunction.from_pair(p, q)
    both = f.symmetrised()
    assert both(alpha) <= min(f(alpha), f.inverse()(alpha)) + 1e-12
    assert both(both(alpha)) <= alpha + 1e-9
    assert both.inverse()(alpha) == pytest.approx(both(alpha), abs=1e-9)


@settings(max_examples=100)
@given(pairs(), st.floats(0.0, 3.0))
def test_symmetrised_is_the_largest(pair, epsilon: float) -> None:
    """Its delta is the larger of both directions: nothing is given away."""
    p, q = pair
    f = TradeoffFunction.from_pair(p, q)
    larger = max(f.delta(epsilon), f.inverse().delta(epsilon))
    assert f.symmetrised().delta(epsilon) == pytest.approx(larger, abs=1e-9)


@settings(max_examples=100)
@given(pairs(), st.floats(0.0, 1.0))
def test_from_lines_stays_below(pair, alpha: float) -> None:
    p, q = pair
    f = TradeoffFunction.from_pair(p, q).symmetrised()
    slopes = np.exp(np.linspace(0.0, 5.0, 40))
    deltas = np.array([f.delta(math.log(s)) for s in slopes])
    built = TradeoffFunction.from_lines(slopes, deltas)
    assert built(alpha) <= f(alpha) + 1e-9
    for s, d in zip(slopes, deltas, strict=True):
        assert built(alpha) >= max(1.0 - d - s * alpha, (1.0 - d - alpha) / s, 0.0) - 1e-9
