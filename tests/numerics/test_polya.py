"""Differences of negative binomial numbers: the continued fraction against the convolution."""

import math

import numpy as np
import pytest

from shuffledp import PolyaNoise
from shuffledp.errors import RegimeError
from shuffledp.numerics import integer_laws
from shuffledp.numerics.integer_laws import IntegerLaw, IntegerPair


def _shared(one: IntegerLaw, two: IntegerLaw) -> tuple[slice, slice]:
    first = max(one.start, two.start)
    last = min(one.start + one.low.size, two.start + two.low.size)
    a, b = (slice(first - law.start, last - law.start) for law in (one, two))
    return a, b


@pytest.mark.parametrize(
    ("shape", "scale"),
    [(0.9, 2.0), (0.01, 3.0), (1e-6, 5.0), (1.0, 4.0), (1.3, 4.0), (60.0, 2.0), (0.5, 0.1)],
)
def test_both_ways_agree(shape: float, scale: float) -> None:
    ratio = math.exp(-1.0 / scale)
    one = integer_laws.negative_binomial(shape, ratio)
    plain, found = one.plus(one.mirrored()), integer_laws.polya(shape, ratio)
    a, b = _shared(plain, found)
    # what the convolution has cut off may lie anywhere
    assert np.all(plain.low[a] <= found.high[b])
    assert np.all(found.low[b] <= plain.high[a] + plain.rest)
    assert np.max(found.high / found.low) < 1.0 + 1e-9
    assert found.low.sum() <= 1.0 <= found.high.sum() + found.rest
    assert found.rest < 1e-55


def test_wide_laws_are_listed_and_wider_ones_refused() -> None:
    wide = integer_laws.polya(0.9, math.exp(-1.0 / 1500.0))
    assert wide.high.sum() - wide.low.sum() < 1e-5
    with pytest.raises(RegimeError):
        integer_laws.polya(0.9, math.exp(-1e-5))


@pytest.mark.parametrize("shape", [0.02, 0.3, 0.95, 1.0, 2.5])
def test_the_largest_move_is_the_worst(shape: float) -> None:
    """Of symmetric laws that fall from the middle, peaked ones too."""
    law, epsilons = PolyaNoise(shape, 4.0).law(), np.linspace(0.0, 4.0, 17)
    before = np.zeros((2, epsilons.size))
    for move in range(1, 12):
        found = IntegerPair.of(law.shifted(move), law).deltas(epsilons)
        low, high = np.array([ends[0] for ends in found]), np.array([ends[1] for ends in found])
        assert np.all(before <= high * (1.0 + 1e-9))
        before = low
