"""k-ary randomized response among dummies: what the counts of the victim's two values tell.

Uniform reports, of users who drew one and of the shuffler, hide which of the two values the victim
has: however many fall on either, each is as likely one as the other (docs/proofs/counters.md,
section 7).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from shuffledp.accounting.bounds.counters import Counter, shuffled_bounds
from shuffledp.accounting.curves.ends import Ends
from shuffledp.accounting.randomizers import KRR
from shuffledp.numerics.integer_laws import IntegerLaw, IntegerPair, binomial, poisson
from shuffledp.numerics.rounding import Array, down, roundings, up

_SHARE = 0.004
"""Of the reports that hide: so many are revealed of a run of their numbers."""
_LISTED = 1000.0
"""Expected reports on both values up to which both counts are listed, not their difference."""

_MOST = 2e6


@dataclass(frozen=True)
class RandomizedCounter(Counter):
    """Reports of the victim and of ``others`` among Poisson numbers of dummies, of mean ``rate``
    per value."""

    randomizer: KRR
    others: int
    rate: float
    falls: bool = False

    @property
    def pure(self) -> float:
        return self.randomizer.eps0

    @property
    def rising(self) -> RandomizedCounter:
        return replace(self, falls=False)

    def worst(self, epsilons: Array) -> tuple[Ends, Ends]:
        (low, _), (reverse_low, _) = self.one(epsilons)
        most = self._most(epsilons)
        return (np.minimum(low, most), most), (np.minimum(reverse_low, most), most)

    def bounded(self, epsilons: Array) -> tuple[Ends, Ends]:
        ends = np.zeros(epsilons.size), self._most(epsilons)
        return ends, ends

    def _most(self, epsilons: Array) -> Array:
        """What no data set exceeds, with dummies, or without: that takes longer and is not asked
        where it is no less at either end."""

        def plain(asked: Array) -> Array:
            return shuffled_bounds(self.randomizer, self.others + 1, asked)

        if not self._listed:  # among very many reports dummies hardly matter
            return plain(epsilons)
        most = _hidden(self.randomizer, self.others, self.rate).above(epsilons)[0][1]
        ends = [0, -1]
        if epsilons.size > 2 and (plain(epsilons[ends]) >= most[ends]).all():
            return most
        return np.minimum(most, plain(epsilons))

    def one(self, epsilons: Array) -> tuple[Ends, Ends]:
        if self._listed:
            return _leaking(self.randomizer, self.others, self.rate).deltas(epsilons)
        nothing = np.zeros(epsilons.size), np.ones(epsilons.size)
        return nothing, nothing

    @property
    def _listed(self) -> bool:
        """Whether the reports on two values are few enough to list their counts."""
        return 2.0 * (self.others * _chances(self.randomizer)[1] + self.rate) <= _MOST


def _chances(randomizer: KRR) -> tuple[float, float, float]:
    """Of the victim's value, of another given one, and of all that are neither of two."""
    keep = 1.0 / (1.0 + (randomizer.k - 1.0) * math.exp(-randomizer.eps0))
    flip = keep * math.exp(-randomizer.eps0)
    return keep, flip, (randomizer.k - 2.0) * flip


def _hiding(randomizer: KRR, others: int, rate: float) -> IntegerLaw:
    """How many uniform reports fall on two values."""
    _, flip, _ = _chances(randomizer)
    return binomial(others, 2.0 * flip, 1.0 - 2.0 * flip).plus(poisson(2.0 * rate))


def _halves(reports: int) -> IntegerLaw:
    return binomial(reports, 0.5, 0.5)


def _joined(
    parts: Sequence[tuple[Array, Array, Array, Array]], rests: tuple[float, float]
) -> IntegerPair:
    """One pair of outcomes from many."""
    first_low, first_high, second_low, second_high = (
        np.concatenate(each) for each in zip(*parts, strict=True)
    )
    wide = roundings(64)
    return IntegerPair(
        (down(first_low, wide), up(first_high, wide)),
        (down(second_low, wide), up(second_high, wide)),
        *rests,
    )


@lru_cache(maxsize=32)
def _hidden(randomizer: KRR, others: int, rate: float) -> IntegerPair:
    """Told how many reports hide, and whether the victim's is on one of the two values: no data
    set leaks more."""
    keep, flip, neither = _chances(randomizer)
    law, inside = _hiding(randomizer, others, rate), keep + flip
    parts = [(np.array([neither]),) * 4]
    rest = law.rest
    at = 0
    while at < law.low.size:
        stop = at + 1 + math.floor(_SHARE * (law.start + at))
        low, high = (inside * math.fsum(end[at:stop]) for end in (law.low, law.high))
        both = _halves(law.start + at)
        one = both.tossed(keep / inside, flip / inside)
        two = both.tossed(flip / inside, keep / inside)
        parts.append((low * one.low, high * one.high, low * two.low, high * two.high))
        rest += both.rest * high
        at = stop
    return _joined(parts, (up(rest, roundings(64)),) * 2)


@lru_cache(maxsize=32)
def _leaking(randomizer: KRR, others: int, rate: float) -> IntegerPair:
    """The counts of the victim's two values, if all others hold a third one."""
    keep, flip, neither = _chances(randomizer)
    if randomizer.k == 2:  # all others hold the second value: the first one's count alone
        count = binomial(others, flip, 1.0 - flip).plus(poisson(rate))
        return IntegerPair.of(count.tossed(keep, flip), count.tossed(flip, keep))
    if 2.0 * (others * flip + rate) > _LISTED:  # the difference of both counts alone
        step = IntegerLaw(-1, *(np.array([flip, 1.0 - 2.0 * flip, flip]),) * 2)
        half = poisson(rate)
        apart = _moved(step).times(others).plus(half).plus(half.mirrored())
        own = IntegerLaw(-1, *(np.array([flip, neither, keep]),) * 2)
        one = apart.plus(_moved(own))
        return IntegerPair.of(one, one.mirrored())
    law = _hiding(randomizer, others, rate)
    parts, rest = [], law.rest
    for at in range(law.low.size + 1):
        ends = []
        for masses, end in ((law.low, 0), (law.high, 1)):
            # the victim's report is elsewhere, or one of these
            out = neither * masses[at] if at < masses.size else 0.0
            into = masses[at - 1] if at else 0.0
            number = law.start + at
            all_others, fewer = _row(number, end), _row(max(number - 1, 0), end)
            up_one, same = np.append(0.0, fewer), np.append(fewer, 0.0)
            if number == 0:
                up_one = same = np.zeros(1)
            ends.append(out * all_others + into * (keep * up_one + flip * same))
            ends.append(out * all_others + into * (flip * up_one + keep * same))
        parts.append((ends[0], ends[2], ends[1], ends[3]))
        rest += law.high[at] * _halves(law.start + at).rest if at < law.low.size else 0.0
    return _joined(parts, (up(rest, roundings(64)),) * 2)


def _moved(law: IntegerLaw) -> IntegerLaw:
    """Its masses are known to some roundings only."""
    return IntegerLaw(law.start, down(law.low, roundings(64)), up(law.high, roundings(64)))


@lru_cache(maxsize=4096)
def _row(reports: int, end: int) -> Array:
    """Masses of 0, ..., reports: how many of them are on the first value."""
    law = _halves(reports)
    row = np.zeros(reports + 1)
    row[law.start : law.start + law.low.size] = (law.low, law.high)[end]
    return row
