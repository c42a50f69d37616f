"""Normal noise on whole numbers: the two ends are worst, and the accountant's numbers are right."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import DiscreteGaussian, Gaussian, ParameterError, RegimeError, Shuffled
from shuffledp.accounting.bounds.blanket import blanket_curve
from shuffledp.accounting.protocols.description import describe, restore
from shuffledp.accounting.randomizers import OneCoordinate


def _law(levels: int, variance: float, centre: int) -> np.ndarray:
    reach = math.ceil(12 * math.sqrt(variance))
    z = np.arange(-reach, levels + reach + 1.0)
    shape = np.exp(-0.5 * (z - centre) ** 2 / variance)
    return shape / np.exp(-0.5 * np.arange(-9 * reach, 9 * reach + 1.0) ** 2 / variance).sum()


@given(
    st.lists(st.floats(0.05, 1.0), min_size=1, max_size=12),
    st.integers(1, 8),
    st.floats(0.01, 20.0),
    st.floats(0.0, 20.0),
    st.data(),
)
@settings(max_examples=300, deadline=None)
def test_the_ends_are_worst_for_every_symmetric_falling_noise(
    falls: list[float], levels: int, c: float, k: float, data: st.DataObject
) -> None:
    """docs/proofs/devices.md, for the sum that decides convex order."""
    half = np.cumprod([1.0, *falls])
    reach = len(half) - 1

    def noise(distance: np.ndarray) -> np.ndarray:
        return np.where(distance <= reach, half[np.minimum(distance, reach)], 0.0)

    z = np.arange(-reach - levels, reach + 2 * levels + 1)
    blanket = noise(np.maximum(np.abs(z), np.abs(levels - z)))

    def loss(p: int, q: int) -> float:
        gain = noise(np.abs(z - p)) - c * noise(np.abs(z - q)) - k * blanket
        return float(np.maximum(gain, 0.0).sum())

    p, q = (data.draw(st.integers(0, levels)) for _ in range(2))
    assert loss(p, q) <= loss(0, levels) * (1 + 1e-12)


@pytest.mark.parametrize(("levels", "variance"), [(1, 0.5), (3, 2.0), (6, 9.0)])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
def test_one_user(levels: int, variance: float, epsilon: float) -> None:
    """n = 1: delta is the hockey-stick divergence of the two ends."""
    first, second = _law(levels, variance, 0), _law(levels, variance, levels)
    exact = float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())
    found = Shuffled(DiscreteGaussian(levels, variance), 1).delta(epsilon)
    assert found.lower <= exact * (1 + 1e-9)
    assert exact <= found.upper * (1 + 1e-9) <= exact * 1.01


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_two_users_at_every_pair_and_every_other(epsilon: float) -> None:
    levels, variance = 2, 2.0
    laws = [_law(levels, variance, x) for x in range(levels + 1)]
    claimed = blanket_curve(DiscreteGaussian(levels, variance), 2).delta(epsilon)
    worst = 0.0
    for a in laws:
        for b in laws:
            for r in laws:
                first = np.outer(a, r) + np.outer(r, a)
                second = np.outer(b, r) + np.outer(r, b)
                gap = np.maximum(first - math.exp(epsilon) * second, 0.0)
                worst = max(worst, 0.5 * float(gap.sum()))
    assert 0.0 < worst <= claimed


def test_a_fine_grid_is_nearly_continuous() -> None:
    fine = blanket_curve(DiscreteGaussian(32, 32.0**2), 2000)
    smooth = blanket_curve(Gaussian(1.0, 1.0, scalar=True), 2000)
    assert fine.delta(0.1) == pytest.approx(smooth.delta(0.1), rel=0.02, abs=0.0)


def test_words_and_refusals() -> None:
    asked = DiscreteGaussian(8, 16.0)
    assert str(asked) == "Gaussian noise on 0..8, sigma = 0.5 of the range"
    assert restore(describe(Shuffled(asked, 5))) == Shuffled(asked, 5)
    assert OneCoordinate(asked, 2).eps0 == math.inf
    with pytest.raises(RegimeError, match="sigma"):
        Shuffled(DiscreteGaussian(1000, 100.0), 9).bound("blanket", epsilon=1.0)
    with pytest.raises(ParameterError, match="on a line"):
        OneCoordinate(Gaussian(1.0), 2)
    for wrong in ({"levels": 0}, {"variance": 0.0}, {"variance": 1e9}, {"levels": 10**6}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            DiscreteGaussian(**({"levels": 4, "variance": 4.0} | wrong))  # type: ignore[arg-type]
