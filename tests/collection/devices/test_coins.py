"""Bytes of coins: the table holds exactly the law, and draws follow it."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from shuffledp.collection.analysis.support import _count_bits
from shuffledp.collection.devices import Stream, secure
from shuffledp.collection.devices.coins import Coins
from tests.oracles.device_laws import misfit

ONE = 1 << 48
N = 200_000
NUMERATORS = [0, 1, 255 << 40, 12345678912345, 3 << 44, ONE // 2, ONE - 1, ONE]


def _mass(numerator: int, byte: int) -> Fraction:
    p, ones = Fraction(numerator, ONE), byte.bit_count()
    return p**ones * (1 - p) ** (8 - ones)


@pytest.mark.parametrize("numerator", NUMERATORS)
def test_every_byte_owns_exactly_its_probability(numerator: int) -> None:
    coins = Coins(numerator)
    owned = Counter(coins.cells[: coins.sure].tolist())
    start = 0
    for byte, end in enumerate(coins.ends):
        held = owned[byte] + Fraction(end - start, 1 << 368)
        assert held / 65536 == _mass(numerator, byte)
        start = end
    assert coins.sure + Fraction(start, 1 << 368) == 65536


@pytest.mark.parametrize("numerator", NUMERATORS)
def test_drawn_bytes_follow_the_law(numerator: int) -> None:
    drawn = Counter(Coins(numerator).draw(N, secure()).tolist())
    expected = {byte: float(_mass(numerator, byte)) for byte in range(256)}
    assert not misfit(drawn, {byte: p for byte, p in expected.items() if p}, N)
    if 0 < numerator < ONE:
        other = numerator * 7 // 10 + (1 << 40)
        assert misfit(drawn, {byte: float(_mass(other, byte)) for byte in range(256)}, N)


def test_all_digits_of_the_probability_count() -> None:
    """2^-10 + 2^-12 differs from 2^-10 only where cells are shared."""
    size = 1_000_000
    ones = int(np.unpackbits(Coins((1 << 38) + (1 << 36)).draw(size, secure())).sum())
    seen, p = Counter({1: ones, 0: 8 * size - ones}), 2.0**-10 + 2.0**-12
    assert not misfit(seen, {1: p, 0: 1 - p}, 8 * size)
    assert misfit(seen, {1: 2.0**-10, 0: 1 - 2.0**-10}, 8 * size)


class Script(Stream):
    """Hands out given bytes."""

    def __init__(self, script: bytes) -> None:
        self._script = script

    def fill(self, target: NDArray[np.uint8]) -> None:
        target[...] = np.frombuffer(self._script[: target.size], np.uint8)
        self._script = self._script[target.size :]


@pytest.mark.parametrize(("past", "expected"), [(-1, 100), (0, 101)])
def test_a_draw_at_the_end_of_a_share_is_decided_by_the_last_digit(
    past: int, expected: int
) -> None:
    coins = Coins(12345678912345)
    place = coins.ends[100] + past
    cell, rest = coins.sure + (place >> 368), place & ((1 << 368) - 1)
    script = cell.to_bytes(2, "little") + (rest >> 312).to_bytes(8, "little")
    script += (rest & ((1 << 312) - 1)).to_bytes(39)
    assert coins.draw(1, Script(script)).tolist() == [expected]


@pytest.mark.parametrize(("rows", "columns"), [(0, 2), (1, 1), (17, 3), (1000, 13), (12345, 2)])
def test_counting_bits(rows: int, columns: int) -> None:
    reports = secure().words(rows * columns, np.uint8).reshape(rows, columns)
    plain = np.unpackbits(reports, axis=1).sum(axis=0)
    assert np.array_equal(_count_bits(reports), plain)
