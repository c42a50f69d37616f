"""The pair is a choice: what other data sets leak."""

import itertools
import math

import numpy as np
import pytest

from shuffledp.bounds.shuffle_gaussian import GaussianPair
from shuffledp.randomizers import Gaussian


def _density(points: np.ndarray, centres: tuple[float, ...], sigma: float) -> np.ndarray:
    """Density of the shuffled reports of len(centres) users on a grid of points per report."""
    one = [
        np.exp(-((points - c) ** 2) / (2.0 * sigma**2)) / (sigma * math.sqrt(2.0 * math.pi))
        for c in centres
    ]
    total = np.zeros((len(points),) * len(centres))
    for order in itertools.permutations(range(len(centres))):
        term = one[order[0]]
        for i in order[1:]:
            term = np.multiply.outer(term, one[i])
        total += term
    return total / math.factorial(len(centres))


def _renyi(others: tuple[float, ...], a: float, b: float, sigma: float, order: float) -> float:
    """D_order of victim at a against victim at b, by the trapezoidal rule."""
    step = 0.3 * sigma
    reach = 2.0 * order + 8.0 * sigma  # the integrand peaks up to 2 order - 1 away
    points = np.arange(-reach, reach + step, step)
    first, second = (_density(points, (*others, v), sigma) for v in (a, b))
    logs = order * np.log(first) + (1.0 - order) * np.log(second)
    moment = float(np.sum(np.exp(logs))) * step ** (len(others) + 1)
    return math.log(moment) / (order - 1.0)


def test_without_loss_of_generality_is_not() -> None:
    """n = 2, sigma = 1, order 2, victim 0 -> 1: the other user at 0 or, within the ball, at -1."""
    at_zero = _renyi((0.0,), 1.0, 0.0, 1.0, 2.0)
    assert at_zero == pytest.approx(0.620, abs=5e-4)
    assert at_zero == pytest.approx(GaussianPair(Gaussian(1.0, 1.0), 2).renyi(2.0).upper, rel=1e-9)
    assert _renyi((-1.0,), 1.0, 0.0, 1.0, 2.0) == pytest.approx(0.951, abs=5e-4)


@pytest.mark.parametrize("sigma", [0.7, 1.0, 2.0])
@pytest.mark.parametrize("order", [2.0, 4.0])
def test_no_data_set_of_two_users_in_the_unit_ball_beats_the_diameter_pair(
    sigma: float, order: float
) -> None:
    diameter = GaussianPair(Gaussian(sigma, 2.0), 2).renyi(order).upper
    grid = np.linspace(-1.0, 1.0, 7)
    worst = max(
        (_renyi((other,), a, b, sigma, order), other, a, b)
        for other in grid.tolist()
        for a in grid.tolist()
        for b in grid.tolist()
        if a != b
    )
    assert worst[0] <= diameter * (1.0 + 1e-6)
    assert worst[0] == pytest.approx(diameter, rel=1e-4)
    assert abs(worst[2] - worst[3]) == 2.0
    assert worst[1] == worst[3]  # the other user sits where the victim of the denominator does


def test_three_users() -> None:
    diameter = GaussianPair(Gaussian(1.0, 2.0), 3).renyi(2.0).upper
    grid = (-1.0, 0.0, 1.0)
    worst = max(
        _renyi(others, a, b, 1.0, 2.0)
        for others in itertools.combinations_with_replacement(grid, 2)
        for a in grid
        for b in grid
        if a != b
    )
    assert worst == pytest.approx(diameter, rel=1e-4)
