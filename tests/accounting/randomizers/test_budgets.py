"""No object has more of a budget than asked for, nor accounts for less than it has."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath as mp
import pytest
from flint import arb

from shuffledp import Channel, ParameterError, optimised_unary, rappor
from shuffledp.accounting.randomizers.unary import UnaryEncoding
from tests.oracles.balls import precise


@precise
def real_budget(unary: UnaryEncoding) -> arb:
    """ln(keep (1 - flip) / (flip lose)) of the probabilities the object holds."""
    flip, lose = arb(unary.flip), arb(unary.lose)
    return ((1 - lose) * (1 - flip) / (flip * lose)).log()


def budgets() -> list[float]:
    rng = random.Random(4)
    small = [10.0 ** rng.uniform(-13.0, -3.0) for _ in range(600)]
    return [*small, *(10.0 ** rng.uniform(-3.0, 2.477) for _ in range(600)), 1e-13, 1.0, 299.9]


@pytest.mark.parametrize("make", [rappor, optimised_unary])
def test_unary_encodings_keep_their_budget(make) -> None:  # type: ignore[no-untyped-def]
    for eps0 in budgets():
        unary = make(3, eps0)
        real = real_budget(unary)
        assert real <= arb(unary.eps0), eps0
        assert unary.eps0 <= eps0, eps0
        assert unary.eps0 >= eps0 * (1.0 - 1e-12) - 1e-14


@precise
def test_probabilities_next_to_each_other() -> None:
    """keep - flip of a few units in the last place is not lost."""
    for keep, flip in ((0.3, math.nextafter(0.3, 0.0)), (0.7, math.nextafter(0.7, 0.0))):
        unary = UnaryEncoding(2, keep, flip)
        k, f = arb(keep), arb(flip)
        assert arb(unary.eps0) >= (k * (1 - f) / (f * (1 - k))).log()


@pytest.mark.parametrize("make", [rappor, optimised_unary])
def test_a_budget_too_small_for_bits(make) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError, match="1e-13"):
        make(3, 1e-17)


def test_a_channel_is_accounted_for_with_rows_that_sum_to_one() -> None:
    """a + fl(1 - a) = 1 + 2^-54: the budget of the normalised rows is larger by as much."""
    a = 0.5 / math.exp(1e-4)
    channel = Channel([[0.5, 0.5], [a, 1.0 - a]])
    rows = [[Fraction(x) for x in row] for row in channel.matrix.tolist()]
    laws = [[x / sum(row) for x in row] for row in rows]
    ratio = max(x / y for one in laws for other in laws for x, y in zip(one, other, strict=True))
    with mp.workdps(50):
        assert mp.mpf(channel.eps0) >= mp.log(mp.mpf(ratio.numerator) / ratio.denominator)
