"""Wide laws without convolutions: Skellam numbers, sums of discrete Gaussian ones."""

import numpy as np
import pytest

from shuffledp import Aggregated, DiscreteGaussianNoise, NoiseShare, PolyaNoise, SkellamNoise
from shuffledp.numerics import integer_laws
from shuffledp.numerics.integer_laws import IntegerLaw
from tests.numerics.test_polya import _shared


def _agree(plain: IntegerLaw, found: IntegerLaw) -> None:
    a, b = _shared(plain, found)
    # what either has cut off may lie anywhere
    assert np.all(plain.low[a] <= found.high[b] + found.rest)
    assert np.all(found.low[b] <= plain.high[a] + plain.rest)
    assert found.low.sum() <= 1.0 <= found.high.sum() + found.rest
    middle = slice(found.low.size // 4, -found.low.size // 4)
    assert np.max(found.high[middle] / found.low[middle]) < 1.0 + 1e-8


@pytest.mark.parametrize("mean", [1e-3, 0.7, 12.0, 900.0])
def test_skellam_numbers(mean: float) -> None:
    one = integer_laws.poisson(mean)
    _agree(one.plus(one.mirrored()), integer_laws.skellam(mean))


@pytest.mark.parametrize(("spread", "copies"), [(8.0, 25), (8.0, 400), (20.0, 10)])
def test_sums_of_discrete_gaussian_numbers(spread: float, copies: int) -> None:
    plain = integer_laws.discrete_gaussian(spread).times(copies)
    found = integer_laws.discrete_gaussians(spread, copies)
    _agree(plain, found)
    assert 0.0 < found.rest < 1e-24


def test_few_or_narrow_numbers_are_convolved() -> None:
    for spread, copies in ((7.9, 100), (8.0, 20), (9.0, 1)):
        found = integer_laws.discrete_gaussians(spread, copies)
        plain = integer_laws.discrete_gaussian(spread).times(copies)
        assert np.array_equal(found.high, plain.high)


def test_all_normal_noise_tells_the_same() -> None:
    """Skellam, Pólya and discrete Gaussian noise of one large variance, moved by a deviation."""
    noises = [SkellamNoise(50.0), DiscreteGaussianNoise(100.0), PolyaNoise(100.0, 0.5)]
    told = []
    for noise in noises:
        users = round(10_000 / noise.variance)
        told.append(Aggregated(NoiseShare(noise, levels=100), users).delta(1.0))
        assert told[-1].gap < 1e-6
    assert told[0].upper == pytest.approx(told[1].upper, rel=0.02, abs=0.0)
    assert told[0].upper == pytest.approx(told[2].upper, rel=0.05, abs=0.0)
