"""Chen, Cao, Ge 2024: the lemmas, the limit, the closeness, recomputed by slow obvious code."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from shuffledp import LDP, Shuffled
from shuffledp.research.reproduce.chen2024 import clone_laws, distances, figure

P = Fraction(2, 7)
TRIALS = 5


def _counts() -> dict[tuple[int, int, int], Fraction]:
    """The multinomial law of (n0, n1, n2), by enumeration."""
    law: dict[tuple[int, int, int], Fraction] = {}
    chances = (P / 2, P / 2, 1 - P)
    for drawn in itertools.product(range(3), repeat=TRIALS):
        at = (drawn.count(0), drawn.count(1), drawn.count(2))
        law[at] = law.get(at, Fraction(0)) + math.prod(chances[i] for i in drawn)
    return law


def _covariance(i: int, j: int) -> Fraction:
    law = _counts()
    means = [sum(m * at[k] for at, m in law.items()) for k in range(3)]
    return sum((m * (at[i] - means[i]) * (at[j] - means[j]) for at, m in law.items()), Fraction(0))


def test_lemma_a_6() -> None:
    law = _counts()
    mean = [sum(m * at[k] for at, m in law.items()) for k in range(3)]
    assert mean == [TRIALS * P / 2, TRIALS * P / 2, TRIALS * (1 - P)]
    printed = (
        (P / 2 * (1 - P / 2), -P * P / 4, -P * (1 - P) / 2),
        (-P * P / 4, P / 2 * (1 - P / 2), -P * (1 - P) / 2),
        (-P * (1 - P) / 2, -P * (1 - P) / 2, P * (1 - P)),
    )
    for i, j in itertools.product(range(3), repeat=2):
        assert _covariance(i, j) == TRIALS * printed[i][j]


def test_the_printed_inverse_and_equation_20() -> None:
    inverse = (((2 - P) / (P * (1 - P)), 1 / (1 - P)), (1 / (1 - P), (2 - P) / (P * (1 - P))))
    for i, j in itertools.product(range(2), repeat=2):
        product = sum(_covariance(i, k) * inverse[k][j] / TRIALS for k in range(2))
        assert product == (i == j)
    step = (-1, 1)
    square = sum(step[i] * inverse[i][j] * step[j] for i in range(2) for j in range(2))
    assert square == 4 / P


def test_lemma_a_2() -> None:
    """Q(a, b) / P(a, b) = a / b for P = (A, C-A+1), Q = (A+1, C-A)."""
    plain: dict[tuple[int, int], Fraction] = {}
    for (a, b, _), mass in _counts().items():
        plain[a, b] = plain.get((a, b), Fraction(0)) + mass
    for a, b in itertools.product(range(1, TRIALS + 1), repeat=2):
        if a + b <= TRIALS + 1:
            assert plain[a - 1, b] * b == plain[a, b - 1] * a


def test_lemma_a_4() -> None:
    """The likelihood-ratio test of two normal laws in the plane, by adding up a fine grid."""
    covariance = np.array([[1.0, -0.4], [-0.4, 0.6]])
    move = np.array([0.7, -0.3])
    x = np.linspace(-8.0, 8.0, 801)
    grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    p = stats.multivariate_normal(np.zeros(2), covariance).pdf(grid) * (x[1] - x[0]) ** 2
    q = stats.multivariate_normal(move, covariance).pdf(grid) * (x[1] - x[0]) ** 2
    mu = math.sqrt(move @ np.linalg.inv(covariance) @ move)
    for t in (0.5, 1.0, 2.0):
        rejected = q > t * p
        alpha, beta = p[rejected].sum(), q[~rejected].sum()
        assert beta == pytest.approx(stats.norm.cdf(stats.norm.ppf(1 - alpha) - mu), abs=2e-3)


def test_equation_18_is_not_an_equation() -> None:
    """The mixture of P and Q is strictly harder to tell apart."""
    p, q = clone_laws(1.0, 50)
    w = 1 / (1 + math.e)
    distance = 0.5 * np.abs(p - q).sum()
    mixed = 0.5 * np.abs((1 - 2 * w) * (p - q)).sum()
    assert mixed == pytest.approx(distance * math.tanh(0.5))


@pytest.mark.parametrize("eps0", [0.5, 2.0])
def test_rates(eps0: float) -> None:
    """Quadrupled n: the printed limit comes nearer by 2 (1/sqrt(n)), the right one by 8 (n^-1.5)."""
    near, far = distances(eps0, 400), distances(eps0, 100)
    assert far[1] / near[1] == pytest.approx(2.0, rel=0.03, abs=0.0)
    assert far[0] / near[0] > 7.0
    assert far[2] / near[2] > 7.0


@pytest.mark.parametrize("eps0", [0.5, 2.0, 5.0])
def test_the_limit_is_below_corollary_2(eps0: float) -> None:
    """n D -> 2 L E tanh(eps0/2)^2 for the pair of the theorem; the claim is 2 L E."""
    n, big, order = 10**8, math.exp(eps0), 3.0
    protocol = Shuffled(LDP(eps0), n)
    exact = n * protocol.bound("chen-2024-exact", order=order).value
    assert exact == pytest.approx(2 * order * big * math.tanh(eps0 / 2) ** 2, rel=1e-3, abs=0.0)
    assert n * protocol.bound("chen-2024-gdp", order=order).value > exact


def test_the_difference_from_the_lower_bound_is_not_negligible() -> None:
    result = figure("eps0", [(0.1, 0.1, 4.0), (2.0, 2.0, 4.0), (7.0, 7.0, 4.0)], [])
    rows = {row[0]: dict(zip(result.columns, row, strict=True)) for row in result.rows}
    assert rows[0.1]["Corollary 2 / lower"] == pytest.approx(442, rel=0.01, abs=0.0)
    assert rows[2.0]["Corollary 2 / lower"] == pytest.approx(5.35, abs=0.02)
    assert "5.35" in " ".join(result.remarks)
    assert rows[7.0]["verdict"] == "below the leak"
    assert not rows[2.0]["verdict"]
