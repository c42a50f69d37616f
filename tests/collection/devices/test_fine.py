"""Fine noise against its exact law, digit by digit. False alarms below 1e-6 each."""

import math
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from shuffledp.collection.devices import secure
from shuffledp.collection.devices.fine import FINE_NOISE, Chance, FineNoise
from tests.collection.devices.test_coins import Script

ALARM = 1e-6
SIZE = 100_000


@pytest.mark.parametrize("fine", [0, 1])
def test_the_law_of_every_integer(fine: int) -> None:
    """On a coarse grid the probability of every integer is visible."""
    noise, support, scale = FineNoise(fine), np.arange(-60, 60), 2.0**fine
    for draw, log in (
        (noise.laplace, -np.abs(support + 0.5) / scale),
        (noise.gaussian, -((support + 0.5) ** 2) / (2 * scale**2)),
    ):
        law = np.exp(log - np.logaddexp.reduce(log)) * SIZE
        counts = np.bincount(draw(SIZE, secure()) + 60, minlength=120)
        seen = law > 20.0
        expected = np.append(law[seen], SIZE - law[seen].sum())
        observed = np.append(counts[seen], SIZE - counts[seen].sum())
        assert stats.chisquare(observed, expected).pvalue > ALARM
        assert stats.chisquare(np.roll(observed, 1), expected).pvalue < ALARM


def test_the_fine_grid_is_used() -> None:
    """Low bits are uniform, the scale is 2^40."""
    for draw, law in ((FINE_NOISE.laplace, stats.laplace), (FINE_NOISE.gaussian, stats.norm)):
        drawn = draw(SIZE, secure())
        assert stats.chisquare(np.bincount(drawn & 15, minlength=16)).pvalue > ALARM
        assert stats.kstest(drawn / 2.0**40, law.cdf).pvalue > ALARM
        assert stats.kstest(drawn / 2.0**40 * 1.1, law.cdf).pvalue < ALARM


def test_digits_of_a_probability() -> None:
    """floor(2^b / e) for b up to 300, by a series of integers."""
    third = Chance(lambda: Decimal(-1).exp())
    for bits in (1, 16, 80, 300):
        scale = 1 << (bits + 64)
        series = sum((-1) ** j * scale // math.factorial(j) for j in range(120))
        assert third.floor(bits) == series >> 64


@pytest.mark.parametrize(("last", "expected"), [(-1, True), (0, True), (1, False)])
def test_ties_go_on_to_the_next_digits(last: int, expected: bool) -> None:
    chance = Chance(lambda: Decimal(-1).exp())
    first, more = chance.floor(16), chance.floor(80) & (2**64 - 1)
    rest = chance.floor(144) & (2**64 - 1)
    script = first.to_bytes(2, "little") + (more + last).to_bytes(8, "little")
    script += (rest - 1).to_bytes(8, "little")
    assert chance.draw(1, Script(script)).tolist() == [expected]
