"""The pair is a choice: what other data sets leak."""

import itertools
import math

import numpy as np
import pytest

from shuffledp import CheckIn, Gaussian, Shuffled, Status
from shuffledp.accounting.bounds.shuffle_gaussian import GaussianPair


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
    assert at_zero == pytest.approx(
        GaussianPair(Gaussian(1.0, 1.0), 2).renyi(2.0).upper, rel=1e-9, abs=0.0
    )
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
    assert worst[0] == pytest.approx(diameter, rel=1e-4, abs=0.0)
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
    assert worst == pytest.approx(diameter, rel=1e-4, abs=0.0)


@pytest.mark.parametrize("seed", range(5))
def test_the_two_ends_are_the_worst_pair_on_a_line(seed: int) -> None:
    """docs/proofs/gaussian_pair.md: the stop-loss of V is largest for the two ends."""
    rng = np.random.default_rng(seed)
    y = np.arange(-16.0, 16.0, 1e-3)
    for _ in range(40):
        sigma = float(rng.uniform(0.2, 2.0))
        tau = sigma * float(rng.choice([1.0, rng.uniform(1.0, 3.0)]))
        c, k = float(np.exp(rng.uniform(-2.0, 2.0))), float(np.exp(rng.uniform(-6.0, 3.0)))

        def stop_loss(
            p: float, q: float, sigma: float = sigma, tau: float = tau, c: float = c, k: float = k
        ) -> float:
            a = np.exp(-((y - p) ** 2) / (2 * sigma**2)) / sigma
            b = np.exp(-((y - q) ** 2) / (2 * sigma**2)) / sigma
            w = np.exp(-((np.abs(y) + 0.5) ** 2) / (2 * tau**2)) / tau
            return float(np.maximum(a - c * b - k * w, 0.0).sum()) * 1e-3

        ends = stop_loss(-0.5, 0.5)
        for p, q in rng.uniform(-0.5, 0.5, size=(20, 2)):
            assert stop_loss(float(p), float(q)) <= ends + 1e-5


@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_numbers_on_a_line_leak_what_vectors_in_a_ball_do(rate: float) -> None:
    on_line, in_ball = Gaussian(2.0, 1.0, scalar=True), Gaussian(2.0, 1.0, ball=True)
    few = Shuffled(CheckIn(on_line, rate) if rate < 1.0 else on_line, 1000).epsilon(1e-6)
    many = Shuffled(CheckIn(in_ball, rate) if rate < 1.0 else in_ball, 1000).epsilon(1e-6)
    assert few.theorem in ("blanket", "swap-gaussian")
    assert few.status is Status.PROVEN
    assert few.lower == pytest.approx(many.lower, rel=1e-3, abs=0.0)
    assert few.lower <= few.upper < many.upper
