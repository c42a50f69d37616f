"""Lower convex hulls keep their vertices, however small everything is."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.accounting.curves.tradeoff import hull
from shuffledp.accounting.curves.tradeoff.hull import lower_hull


def _exact(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    chain: list[tuple[Fraction, Fraction]] = []
    for c in [(Fraction(x), Fraction(y)) for x, y in points]:
        while len(chain) > 1:
            (ax, ay), (bx, by) = chain[-2:]
            if (by - ay) * (c[0] - bx) < (c[1] - by) * (bx - ax):
                break
            chain.pop()
        chain.append(c)
    return [(float(x), float(y)) for x, y in chain]


def test_a_bend_whose_products_underflow_is_kept() -> None:
    x = np.array([-1.0, -1e-15, -3e-100, -5e-102, 0.0, 2e-271, 5e-102, 3e-100, 0.65])
    y = np.maximum(-x, 0.0)
    y[4] = 2e-271
    at, height = lower_hull(x, y)
    assert float(np.interp(1e-50, at, height)) <= 1e-100  # 0.39 where the bend is lost
    assert float(np.interp(0.0, at, height)) <= 2e-271


magnitudes = st.floats(-200.0, 0.0).map(lambda u: 10.0**u)


@given(st.lists(st.tuples(magnitudes, magnitudes | st.just(0.0)), min_size=3, max_size=12))
def test_never_above_the_hull_of_the_points(drawn: list[tuple[float, float]]) -> None:
    points = sorted(dict(drawn).items())
    x, y = map(np.array, zip(*points, strict=True))
    exact = _exact(points)
    for sweeps in (hull._ROUNDS, 0):
        at, height = _hull_by(sweeps, x, y)
        for px, py in exact:
            here = float(np.interp(px, at, height))
            assert here <= py + 1e-12 * max(height.max(), 0.0) * (px / at[-1]) + 1e-12 * py + 1e-290


def _hull_by(sweeps: int, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    before, hull._ROUNDS = hull._ROUNDS, sweeps
    try:
        return lower_hull(x, y)
    finally:
        hull._ROUNDS = before
