"""Discrete laws above likelihood ratios: against quadrature, in the increasing convex order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.numerics.ratio_laws import Grid, Ratios, combined, quadratic
from shuffledp.numerics.several_laws import SeveralLaws
from shuffledp.numerics.shared_places import SharedPlaces

CASES = [
    (1.0, 0.0, 0.0),
    (0.0, -1.0, 0.0),
    (0.5, -0.5, 0.87),
    (0.9, 0.3, 0.4),
    (-0.2, -0.8, 0.3),
    (0.02, -0.02, 0.03),
]


def _truth(s: float, t: float, u: float, e: float, k: float, v: float) -> tuple:
    """Weights and values on a fine grid, far into the tails."""
    x = np.arange(-14.0, 14.0, 0.02)
    y = np.arange(-12.0, 14.0, 0.04) if u else np.zeros(1)
    wx, wy = np.exp(-0.5 * x * x), np.exp(-0.5 * y * y)
    a, b = np.exp(s * x - 0.5 * s * s), np.exp(t * x - 0.5 * t * t)
    c = np.exp(u * y - 0.5 * u * u)[:, None]
    value = c * (a - e * b)
    total = value + k * quadratic(c * a, value, v)
    return np.multiply.outer(wy / wy.sum(), wx / wx.sum()).ravel(), total.ravel()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("e", "k", "v"), [(1.02, 1e-3, math.inf), (1.3, 0.02, 0.4)])
@pytest.mark.parametrize("reach", [4.0, 7.0])
def test_above_the_truth_and_near_it(
    case: tuple[float, float, float], e: float, k: float, v: float, reach: float
) -> None:
    ratios = Ratios.of(*case, reach, 0.1)
    values, weights = combined(ratios, e, k, v, 1.0)
    steep = float(quadratic(np.ones(1), np.ones(1), v)[0])
    excess = ratios.excess + k * steep * ratios.square
    true_weights, true_values = _truth(*case, e, k, v)
    spread = float(true_weights @ true_values**2) ** 0.5
    grid = Grid(1.5 * spread, 0.06, -260, 260)
    split = grid.split(values, weights)
    for place in spread * np.array([-30.0, -3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 3.0, 8.0]):
        truth = float(true_weights @ np.maximum(true_values - place, 0.0))
        found = float(weights @ np.maximum(values - place, 0.0))
        wider = float(split @ np.maximum(grid.places - place, 0.0))
        near = 1e-7 * spread  # of the truth's own quadrature
        assert truth <= found + excess + near
        assert found <= wider + near
        assert wider <= truth + 0.012 * spread + k * steep * 0.3 + excess
    assert weights.sum() == pytest.approx(1.0, abs=1e-9)
    assert split.sum() == pytest.approx(weights.sum(), rel=1e-12, abs=0.0)


def test_what_is_cut_off_is_charged() -> None:
    """E a c beyond the cells, and its square, against quadrature."""
    s, u = 0.8, 0.6
    ratios = Ratios.of(s, -0.2, u, 3.0, 0.1)
    edge = math.log(ratios.first[-1]) / s + 0.5 * s
    over = math.log(ratios.factors[-1]) / u + 0.5 * u

    def above(z: float) -> float:
        return 0.5 * math.erfc(z / math.sqrt(2.0))

    assert ratios.excess >= above(edge - s) + above(over - u)
    assert ratios.square >= math.exp(s * s + u * u) * (above(edge - 2 * s) + above(over - 2 * u))
    assert ratios.excess <= 1.001 * (above(edge - s) + above(over - u))


def test_the_quadratic_terms_are_above_and_convex() -> None:
    rng = np.random.default_rng(5)
    e = 1.1
    a, b = rng.exponential(1.0, (2, 2, 4000))
    for v in (0.05, 0.5, 3.0, math.inf):
        one, two = (quadratic(a[i], a[i] - e * b[i], v) for i in (0, 1))
        gain = np.maximum(a[0] - e * b[0], 0.0) * np.sqrt(e * a[0] * b[0])
        assert (gain <= one * (1.0 + 1e-12)).all()
        middle = 0.5 * (a[0] + a[1])
        between = quadratic(middle, middle - 0.5 * e * (b[0] + b[1]), v)
        assert (between <= 0.5 * (one + two) + 1e-12).all()
    x = 1.0 / (3.0 * e)  # where the largest is reached
    assert quadratic(np.ones(1), np.zeros(1), math.inf)[0] == pytest.approx(
        (1.0 - e * x) * math.sqrt(e * x), rel=1e-9, abs=0.0
    )


def test_shared_places_find_what_several_laws_find() -> None:
    rng = np.random.default_rng(6)
    weights = rng.random((5, 9)) ** 3
    weights /= weights.sum(axis=1, keepdims=True)
    values = np.broadcast_to(np.sort(rng.standard_normal(9)) - 0.3, weights.shape)
    one, two = np.zeros(1), np.ones(1)
    plain, theta = SeveralLaws(weights, values, np.zeros_like(weights), 1e-12).log_excess(
        [400], 0.0, one, two, 2e-3
    )
    shared, same = SharedPlaces(weights, values, np.zeros_like(weights), 1e-12).log_excess(
        [400], 0.0, one, two, 2e-3
    )
    assert same == theta
    assert shared == pytest.approx(plain, rel=1e-9, abs=0.0)
