"""Little noise: likelihood ratios and slopes beyond 1e300 still give sound numbers."""

import numpy as np
import pytest

from shuffledp import CheckIn, Gaussian, Shuffled
from shuffledp.accounting.bounds.identity import delta_lower, delta_upper
from shuffledp.accounting.randomizers.outcomes import Outcomes


@pytest.mark.parametrize("epsilon", [1.0, 100.0, 590.0])
def test_ratios_beyond_the_largest_number(epsilon: float) -> None:
    outcomes = Outcomes(
        np.array([0.5, 0.5, 1e-250]), np.array([1e-250, 0.5, 0.5]), np.array([1e-250, 1.0, 1e-250])
    )
    lower = delta_lower(outcomes, 3, epsilon, 1e-3)
    upper = delta_upper(outcomes, 3, epsilon, 1e-3)
    assert 0.0 <= lower <= 0.5  # the first outcome alone has at most this
    assert upper >= 0.5 * (1.0 - 1e-6) or epsilon >= 575.0
    assert lower <= upper


@pytest.mark.parametrize("n", [1, 2, 1000])
def test_what_a_rare_report_gives_away_is_added(n: int) -> None:
    """Two outcomes that nobody else has decide alone: taken out of the base, they still count."""
    rare = np.array([4e-11, 6e-11])
    outcomes = Outcomes.discrete([1.0 - 1e-10, *rare], [1.0, 0.0, 0.0], [1.0, 1e-40, 1e-40])
    for epsilon in (0.5, 5.0, 30.0):
        assert 0.99e-10 < delta_lower(outcomes, n, epsilon, 1e-3) <= 1e-10
        assert 1e-10 * (1.0 - 1e-9) <= delta_upper(outcomes, n, epsilon, 1e-3) <= 1.05e-10


def test_a_cell_without_a_largest_ratio_is_added_whole() -> None:
    first, second, base = np.array([0.7, 0.3]), np.array([0.9, 0.1]), np.array([0.8, 0.2])
    low = (np.array([0.8, 0.0]), np.array([1.1, 0.0]))
    high = (np.array([0.9, np.inf]), np.array([1.2, 2.0]))
    outcomes = Outcomes(first, second, base, low, high)
    assert 0.3 <= delta_upper(outcomes, 1, 0.0, 1e-3) < 0.4


def test_noise_of_a_thousandth() -> None:
    found = Shuffled(Gaussian(1e-3), 10_000).epsilon(1e-5)
    assert found.lower > 100.0
    assert found.upper >= found.lower


def test_little_noise_checked_in() -> None:
    found = Shuffled(CheckIn(Gaussian(0.1), 0.1), 10_000)
    assert found.epsilon(1e-5).lower > 20.0
    assert found.delta(3.0).lower == pytest.approx(0.1, rel=1e-3, abs=0.0)
