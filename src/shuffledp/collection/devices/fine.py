"""Laplace and normal noise on a grid of 2^-40 of its scale, exactly.

For sums and vectors, where a coarse grid would move neighbouring values apart. The bits of a
geometric variable are independent, so it is drawn bit by bit; normal noise is what is kept of
Laplace noise, after Canonne, Kamath, Steinke 2020. Probabilities are compared with random digits,
as many as it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.devices.stream import Stream

FINE = 40
"""Bits of grid below the scale of the noise."""
_TAIL = 6
"""Bits above it that are drawn one by one; the rest, beyond 64 scales, block by block."""

Integers = NDArray[np.int64]


class Chance:
    """An irrational probability, known to as many digits as are asked for."""

    def __init__(self, formula: Callable[[], Decimal]) -> None:
        self._formula = formula

    def floor(self, bits: int) -> int:
        """The first binary digits, as an integer."""
        precision = bits // 3 + 20
        while True:
            with localcontext(prec=precision):
                value = self._formula() * 2**bits
                doubt = value.scaleb(10 - precision)  # each operation errs by one last digit
                if int(value - doubt) == int(value + doubt):
                    return int(value)
            precision *= 2

    @cached_property
    def _first(self) -> int:
        return self.floor(16)

    def draw(self, size: int, stream: Stream) -> NDArray[np.bool_]:
        """Independent coins that show True with this probability."""
        drawn = stream.words(size, np.uint16)
        out = np.asarray(drawn < self._first)
        for i in np.flatnonzero(drawn == self._first):
            out[i] = self.above(int(drawn[i]), 16, stream)
        return out

    def above(self, drawn: int, bits: int, stream: Stream) -> bool:
        """Whether it is above a uniform number that starts with these bits."""
        while drawn == (limit := self.floor(bits)):
            drawn, bits = drawn << 64 | int(stream.words(1)[0]), bits + 64
        return drawn < limit


class FineNoise:
    """Noise whose scale is 2^fine steps of the grid."""

    def __init__(self, fine: int = FINE) -> None:
        self._scale = 1 << fine
        self._bits = [Chance(self._bit(1 << place)) for place in range(fine + _TAIL)]
        self._block = Chance(lambda: Decimal(-(1 << _TAIL)).exp())

    def _bit(self, step: int) -> Callable[[], Decimal]:
        return lambda: 1 / (1 + (Decimal(step) / self._scale).exp())

    def laplace(self, size: int, stream: Stream) -> Integers:
        """Integers k with probability proportional to exp(-|k + 1/2| / scale)."""
        distance = np.zeros(size, np.int64)
        for place, chance in enumerate(self._bits):
            distance |= chance.draw(size, stream).astype(np.int64) << place
        further = np.flatnonzero(self._block.draw(size, stream))
        while further.size:
            distance[further] += 1 << len(self._bits)
            further = further[self._block.draw(further.size, stream)]
        return np.where(stream.bits(size, 1).astype(np.bool_), -1 - distance, distance)

    def gaussian(self, size: int, stream: Stream) -> Integers:
        """Integers k with probability proportional to exp(-(k + 1/2)^2 / (2 scale^2))."""
        kept: list[Integers] = []
        missing = size
        while missing > 0:
            proposed = self.laplace(int(missing * 1.35) + 16, stream)
            chance = np.exp(-0.5 * (np.abs(proposed + 0.5) / self._scale - 1.0) ** 2) * 2.0**64
            drawn = stream.words(proposed.size)
            keep = drawn < chance
            for i in np.flatnonzero(np.abs(drawn - chance) < 2.0**18):  # doubles cannot tell
                keep[i] = self._kept(int(proposed[i])).above(int(drawn[i]), 64, stream)
            kept.append(proposed[keep][:missing])
            missing -= kept[-1].size
        return np.concatenate(kept) if kept else np.zeros(0, np.int64)

    def _kept(self, proposed: int) -> Chance:
        distance = abs(2 * proposed + 1) - 2 * self._scale
        return Chance(lambda: (-Decimal(distance**2) / (8 * self._scale**2)).exp())


FINE_NOISE = FineNoise()
