"""Dummies that cancel: what the numbers of messages for a value, and against it, tell together.

Both hide the value's count by noise of their own, and both hide behind the same number of pairs
that cancel (docs/proofs/counters.md, section 8).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from shuffledp.accounting.bounds.counters import Counter
from shuffledp.accounting.curves.ends import Ends
from shuffledp.accounting.randomizers.noise import Noise
from shuffledp.errors import RegimeError
from shuffledp.numerics.integer_laws import IntegerLaw, IntegerPair
from shuffledp.numerics.rounding import Array, down, roundings, up

_CUT = 1e-26
"""Masses below this, of the largest, belong to the rest: there are many outcomes."""
_OUTCOMES = 8_000_000


@dataclass(frozen=True)
class PairedCounter(Counter):
    """Messages for a value and against it: ``noise`` of either kind, and ``pairs`` of both."""

    noise: Noise
    pairs: Noise
    falls: bool = False

    @property
    def pure(self) -> float:
        return math.inf

    @property
    def rising(self) -> PairedCounter:
        return replace(self, falls=False)

    def worst(self, epsilons: Array) -> tuple[Ends, Ends]:
        return self.one(epsilons)

    def bounded(self, epsilons: Array) -> tuple[Ends, Ends]:
        return _both_numbers(self.noise, self.pairs).above(epsilons)

    def one(self, epsilons: Array) -> tuple[Ends, Ends]:
        return _both_numbers(self.noise, self.pairs).deltas(epsilons)


@lru_cache(maxsize=4)
def _both_numbers(noise: Noise, pairs: Noise) -> IntegerPair:
    """Rows by the difference of the two numbers, which a value moves by one; in a row the number
    against the value."""
    one, flood = _cut(noise.law()), _cut(pairs.law())
    size, length = one.low.size, flood.low.size
    if 2 * size * (size + length) > _OUTCOMES:
        raise RegimeError(
            f"at most {_OUTCOMES:,} outcomes of two numbers", f"{2 * size * (size + length):,}"
        )
    ends = []
    for law, pair, moved in ((one.low, flood.low, down), (one.high, flood.high, up)):
        rows = np.zeros((2 * size, size + length))
        for row, apart in enumerate(range(1 - size, size)):
            there, other = max(apart, 0), max(-apart, 0)
            run = size - abs(apart)
            mass = np.convolve(pair, law[there : there + run] * law[other : other + run])
            rows[row, other : other + mass.size] = mass
        ends.append(moved(rows, roundings(min(size, length) + 8.0)))
    rest = up(2.0 * one.rest + flood.rest, roundings(8))
    before, after = ends[0], ends[1]
    shifted = [np.roll(each, 1, axis=0) for each in (before, after)]  # the last row is empty
    return IntegerPair(
        (shifted[0].ravel(), shifted[1].ravel()), (before.ravel(), after.ravel()), rest, rest
    )


def _cut(law: IntegerLaw) -> IntegerLaw:
    there = np.flatnonzero(law.high > _CUT * law.high.max())
    first, last = int(there[0]), int(there[-1]) + 1
    cut = math.fsum(law.high[:first]) + math.fsum(law.high[last:])
    low, high = law.low[first:last], law.high[first:last]
    return IntegerLaw(law.start + first, low, high, up(law.rest + cut, roundings(8)))
