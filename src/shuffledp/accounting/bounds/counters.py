"""Counters: what an analyst sees who is given sums only, thresholded counts, or counts with
dummies.

The victim's change moves one of them, or two, up or down; all are independent. A counter knows the
profile of that move: guaranteed, the supremum over what all others hold, and leaked, what one
data set
shows. Both come from certified masses on the whole numbers (docs/proofs/counters.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from shuffledp.accounting.bounds.blanket import blanket, dataset_curve
from shuffledp.accounting.bounds.swap import swap
from shuffledp.accounting.bounds.tightest import Tightest
from shuffledp.accounting.curves.ends import Ends, PureEnd
from shuffledp.accounting.curves.losses import Samples
from shuffledp.accounting.randomizers import Channel, Randomizer
from shuffledp.accounting.randomizers.noise import Noise
from shuffledp.numerics.composed_losses import Losses
from shuffledp.numerics.integer_laws import IntegerPair, binomial
from shuffledp.numerics.rounding import SUMS, Array, roundings, up
from shuffledp.numerics.search import bisect_whole
from shuffledp.numerics.window import chernoff

_DEEPEST, _REVEALING, _LEAST_LEAK = 1e-30, 1e-22, 1e-14
"""Deltas at which grids end: of a pure counter, of another (the rest is revealing), of a leak."""
_BETWEEN = 2
"""Points put between two of the usual grid: counters are cheap to ask."""
_SHARE = 0.004
"""Of the variance of all others' bits: so much is revealed of a cell of data sets."""
_WIDEST = 60.0
"""Deviation of a sum of bits up to which every cell of data sets has its own law."""
_ENOUGH = 4.0
"""Sums of so many times the smallest variance leak far less than the worst."""
_SINGLES, _RUNS = 1500, 700
"""Numbers of holders of a thresholded value looked at one by one; runs of them if there are
more."""
_TRIED = 16
"""Of these, asked one by one where a question is about all of a curve."""
_NEVER, _TYPICAL = 1e-40, 1e-8
_OUTCOMES = 3000
"""A pair of laws on more numbers is joined from a grid of its profile."""
_EARLIER, _LARGEST = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0), 700.0
"""Where a guarantee that need not fall is looked at, too; exponents beyond are no larger."""
_WINDOW = 12_000.0
"""Deviation up to which the law of a binomial count is listed."""


class Counter(ABC):
    """A number that the victim's change moves up (``falls``: down)."""

    falls: bool

    @property
    @abstractmethod
    def pure(self) -> float:
        """The epsilon from which delta is 0, infinite if none is known."""

    @property
    def farthest(self) -> float:
        """Where a search for an epsilon stops if delta never vanishes."""
        return 200.0

    @abstractmethod
    def worst(self, epsilons: Array) -> tuple[Ends, Ends]:
        """Of the number with the victim against it without, and conversely: what some data set
        leaks at
        least at each epsilon, and what none exceeds."""

    def bounded(self, epsilons: Array) -> tuple[Ends, Ends]:
        """What no data set exceeds, as in ``worst``; what some leaks need not be known."""
        return self.worst(epsilons)

    @abstractmethod
    def one(self, epsilons: Array) -> tuple[Ends, Ends]:
        """The same for one data set, enclosed."""

    def datasets(self) -> Sequence[Counter]:
        """Of single data sets: those that may leak most."""
        return [self]

    @property
    @abstractmethod
    def rising(self) -> Counter:
        """The same counter, moved up, whatever data set leaks: what its guarantee depends on."""

    def parts(self) -> list[tuple[Counter, int]]:
        """Counters, each so many times, that together guarantee no more than this one."""
        return [(self, 1)]

    def guaranteed_losses(self, rounds: int = 1) -> tuple[Losses, Losses]:
        """Losses above every data set's, before the change against after, and conversely; about
        as exact as so many ``rounds`` need."""
        losses = _guaranteed(self.rising, rounds)
        return losses[::-1] if self.falls else losses

    def leaked_losses(self) -> tuple[Losses, Losses]:
        """Losses below the data set's, before the change against after, and conversely."""
        samples = Samples.take(
            lambda epsilons: self.one(np.array(epsilons)),
            PureEnd(self.pure),
            _LEAST_LEAK,
            between=_BETWEEN,
        )
        losses = samples.below(), samples.swapped().below()
        return losses[::-1] if self.falls else losses


@lru_cache(maxsize=64)
def _guaranteed(counter: Counter, rounds: int) -> tuple[Losses, Losses]:
    end = PureEnd(counter.pure)
    samples = Samples.take(
        lambda epsilons: counter.bounded(np.array(epsilons)),
        end,
        _DEEPEST if end.reached else _REVEALING,
        between=_BETWEEN,
        upper=True,
        rounds=rounds,
    )
    return samples.above(), samples.swapped().above()


def _largest(found: list[tuple[Ends, Ends]]) -> tuple[Ends, Ends]:
    """The largest of several profiles, at each epsilon and in each direction."""
    ends = [
        [np.max([each[way][end] for each in found], axis=0) for end in (0, 1)] for way in (0, 1)
    ]
    return (ends[0][0], ends[0][1]), (ends[1][0], ends[1][1])


@dataclass(frozen=True)
class NoisyCounter(Counter):
    """A sum with independent noise, moved by up to ``most``: no data set is worse than another."""

    noise: Noise
    most: int = 1
    falls: bool = False

    @property
    def pure(self) -> float:
        return self.noise.pure(self.most)

    @property
    def _pair(self) -> IntegerPair:
        return _shift_pair(self.noise, self.most)

    def worst(self, epsilons: Array) -> tuple[Ends, Ends]:
        return self.one(epsilons)

    def bounded(self, epsilons: Array) -> tuple[Ends, Ends]:
        return self._pair.above(epsilons)

    def one(self, epsilons: Array) -> tuple[Ends, Ends]:
        return self._pair.deltas(epsilons)

    def guaranteed_losses(self, rounds: int = 1) -> tuple[Losses, Losses]:
        """Of the pair itself, if it is one of few outcomes."""
        if self._pair.size > _OUTCOMES:
            return super().guaranteed_losses(rounds)
        return self._pair.losses(self.falls)[1], self._pair.losses(not self.falls)[1]

    def leaked_losses(self) -> tuple[Losses, Losses]:
        if self._pair.size > _OUTCOMES:
            return super().leaked_losses()
        return self._pair.losses(self.falls)[0], self._pair.losses(not self.falls)[0]

    @property
    def rising(self) -> NoisyCounter:
        return replace(self, falls=False)


@lru_cache(maxsize=64)
def _shift_pair(noise: Noise, most: int) -> IntegerPair:
    """The largest move is the worst (docs/proofs/counters.md, section 4)."""
    law = noise.law()
    return IntegerPair.of(law.shifted(most), law)


@dataclass(frozen=True)
class SplitCounter(Counter):
    """A noisy sum modulo ``modulus`` of which shuffled shares tell little more: they are within
    ``distance`` of shares that depend on the sum only (docs/proofs/split.md)."""

    noise: Noise
    most: int
    distance: float
    modulus: int
    falls: bool = False

    @property
    def pure(self) -> float:
        return math.inf if self.distance > 0.0 else self._sum.pure

    @property
    def _sum(self) -> NoisyCounter:
        return NoisyCounter(self.noise, self.most)

    def one(self, epsilons: Array) -> tuple[Ends, Ends]:
        return self.worst(epsilons)

    def worst(self, epsilons: Array) -> tuple[Ends, Ends]:
        # delta falls: what holds at a smaller epsilon, where shares count for less, holds
        earlier = self._earlier
        asked = np.concatenate([epsilons, earlier])
        t = np.exp(np.minimum(asked, _LARGEST))
        wraps = _wraps(self.noise, self.most, self.modulus)
        found = []
        for low, high in self._sum.worst(asked):
            high = np.minimum(up(high + (1.0 + t) * self.distance, roundings(8)), 1.0)
            known = np.where(earlier <= epsilons[:, None], high[epsilons.size :], 1.0)
            low = np.maximum(low - up((1.0 + t) * wraps, roundings(8)), 0.0)[: epsilons.size]
            found.append((low, np.minimum(high[: epsilons.size], known.min(axis=1))))
        return found[0], found[1]

    @property
    def _earlier(self) -> Array:
        pure = self._sum.pure
        return np.array([0.0, *_EARLIER, *([pure] if pure < _LARGEST else [])])

    def guaranteed_losses(self, rounds: int = 1) -> tuple[Losses, Losses]:
        """Those of the sum; what shares tell besides counts as revealing."""
        ends = self.worst(self._earlier)
        more = min(float(np.max([high for _, high in ends], axis=0).min()), 1.0)
        ahead, back = (
            replace(losses, revealing=min(up(losses.revealing + more, SUMS), 1.0))
            for losses in replace(self._sum, falls=self.falls).guaranteed_losses(rounds)
        )
        return ahead, back

    @property
    def rising(self) -> SplitCounter:
        return replace(self, falls=False)


@lru_cache(maxsize=64)
def _wraps(noise: Noise, most: int, modulus: int) -> float:
    """Above the probability that the noisy sum leaves a window as wide as the modulus."""
    law = noise.law()
    first = -((modulus - 1 - most) // 2)
    places = law.start + np.arange(law.low.size)
    outside = (places < first) | (places + most >= first + modulus)
    return up(math.fsum(law.high[outside]) + law.rest, SUMS)


@dataclass(frozen=True)
class Bits:
    """How likely a bit is 1, and 0, of one who holds the value, and of one who does not."""

    one: float
    zero: float
    other_one: float
    other_zero: float

    @property
    def variances(self) -> tuple[float, float]:
        """Of the bit of a holder, and of another."""
        return self.one * self.zero, self.other_one * self.other_zero

    def mirrored(self) -> Bits:
        """Zeros are counted: who does not hold the value is likelier to add one."""
        return Bits(self.other_zero, self.other_one, self.zero, self.one)

    def channel(self) -> Channel:
        """Row 1: the value is not held; row 2: it is."""
        return Channel(np.array([[self.other_zero, self.other_one], [self.zero, self.one]]))


@dataclass(frozen=True)
class BitCounter(Counter):
    """A sum of random bits of the victim and of ``others``, ``holders`` of whom hold the value
    in the
    data set that leaks."""

    bits: Bits
    others: int
    holders: int
    falls: bool = False

    @property
    def pure(self) -> float:
        bits = self.bits
        ratios = [bits.one / bits.other_one, bits.other_zero / bits.zero]
        # chances are known to some roundings each, and so are ratios near 1
        return up(math.log(max(ratios)), roundings(32)) + roundings(32)

    def worst(self, epsilons: Array) -> tuple[Ends, Ends]:
        leaks = [replace(self, holders=holders).one(epsilons) for holders in {0, self.others}]
        (_, most), (_, reverse_most) = self.bounded(epsilons)
        if not self._wide:
            pairs = _cell_pairs(self.bits, self.others)
            leaks += [pair.deltas(epsilons) for pair, exact in pairs if exact]
        (low, _), (reverse_low, _) = _largest(leaks)
        return (low, most), (reverse_low, reverse_most)

    def bounded(self, epsilons: Array) -> tuple[Ends, Ends]:
        if self._wide:
            ends = (
                np.zeros(epsilons.size),
                shuffled_bounds(self.bits.channel(), self.others + 1, epsilons),
            )
            return ends, ends
        pairs = _cell_pairs(self.bits, self.others)
        return _largest([pair.above(epsilons) for pair, _ in pairs])

    @property
    def _wide(self) -> bool:
        """Whether the sum has too many likely values to list them."""
        return self.others * min(self.bits.variances) > _WIDEST**2

    def datasets(self) -> Sequence[Counter]:
        return [replace(self, holders=holders) for holders in sorted({0, self.others})]

    def one(self, epsilons: Array) -> tuple[Ends, Ends]:
        if self.others * max(self.bits.variances) > _WINDOW**2:
            channel = self.bits.channel()
            scene = channel.datasets()[1 if self.holders else 0]
            curve = dataset_curve(scene, self.others + 1, PureEnd(channel.eps0))
            absent, present = curve.sampled(epsilons.tolist())
            return present, absent
        return _bit_pair(self.bits, self.holders, self.others - self.holders).deltas(epsilons)

    @property
    def rising(self) -> BitCounter:
        return replace(self, falls=False, holders=0)


@lru_cache(maxsize=64)
def _bit_pair(bits: Bits, holders: int, rest: int) -> IntegerPair:
    """The victim's bit on top of these others' bits."""
    others = binomial(holders, bits.one, bits.zero).plus(
        binomial(rest, bits.other_one, bits.other_zero)
    )
    return IntegerPair.of(
        others.tossed(bits.one, bits.zero), others.tossed(bits.other_one, bits.other_zero)
    )


@lru_cache(maxsize=8)
def _cell_pairs(bits: Bits, others: int) -> list[tuple[IntegerPair, bool]]:
    """Pairs of which one, for each number of holders, leaks at least as much; and whether just
    as much."""
    if bits.variances[0] < bits.variances[1]:
        mirrored = _cell_pairs(bits.mirrored(), others)
        return [(_exchanged(pair), exact) for pair, exact in mirrored]
    return [
        (_bit_pair(bits, first, others - last), first == last)
        for first, last in cells(bits, others)
    ]


def _exchanged(pair: IntegerPair) -> IntegerPair:
    return IntegerPair(pair.second, pair.first, pair.second_rest, pair.first_rest)


def cells(bits: Bits, others: int) -> list[tuple[int, int]]:
    """Runs of numbers of holders: first and last. Those between are revealed, which can only
    leak more.

    Holders' bits vary at least as much as others' here, so few holders are the worst: a run may
    be as
    long as what it takes away from its own first data set is little.
    """
    large, small = bits.variances
    found: list[tuple[int, int]] = []
    first = 0
    while first <= others:
        if first * large >= _ENOUGH * others * small:
            return [*found, (first, others)]
        variance = first * large + (others - first) * small
        last = min(first + math.floor(_SHARE * variance / small), others)
        found.append((first, last))
        first = last + 1
    return found


def shuffled_bounds(randomizer: Randomizer, n: int, epsilons: Array) -> Array:
    """The larger direction for shuffled reports, which tell no less than their sum, or than the
    same reports among dummies."""
    return _shuffled(randomizer, n).lowest(epsilons.tolist())


@lru_cache(maxsize=64)
def _shuffled(randomizer: Randomizer, n: int) -> Tightest:
    """What is known of them, which remembers what it was asked."""
    return Tightest.about([swap, blanket], randomizer, n)


@dataclass(frozen=True)
class ThresholdCounter(Counter):
    """Holders of a value report with probability ``rate``; a number below the threshold is not
    shown.

    The threshold is drawn from ``threshold``, ..., ``threshold + spread``, uniformly. At most
    ``most``
    others hold the value (None: any number); ``holders`` of them in the data set that leaks.
    """

    rate: float
    threshold: int
    spread: int = 0
    most: int | None = None
    holders: int = 0
    falls: bool = False

    @property
    def pure(self) -> float:
        return math.inf

    @property
    def rising(self) -> ThresholdCounter:
        return replace(self, falls=False, holders=0)

    def one(self, epsilons: Array) -> tuple[Ends, Ends]:
        return self._pair(self.holders, self.holders).deltas(epsilons)

    def datasets(self) -> Sequence[Counter]:
        starts = [first for first, _ in self._runs()[0]]
        some = starts[:: max(len(starts) // _TRIED, 1)]
        return [self.leakiest(), *(replace(self, holders=first) for first in some)]

    def _pair(self, first: int, last: int) -> IntegerPair:
        return _threshold_pair(self.rate, self.threshold, self.spread, first, last)

    def _runs(self) -> tuple[list[tuple[int, int]], int | None]:
        """Numbers of other holders, in runs, and the number from which on the threshold hardly
        matters."""
        top = self.threshold + self.spread
        far = math.ceil((top + 6.0 * math.sqrt(top) + 20.0) / self.rate)
        if self.most is None or self.most > far:
            last, beyond = far, far
        else:
            last, beyond = self.most, None
        return list(_pieces(self._fewest(last), last)), beyond

    def _fewest(self, last: int) -> int:
        """Fewer others' reports, and the victim's, are shown with a probability below
        ``_NEVER``."""

        def never(holders: int) -> bool:
            trials = float(holders + 1)
            if trials < self.threshold:
                return True
            above = self.threshold > trials * self.rate
            exponent = chernoff(self.threshold, trials, self.rate, 1.0 - self.rate)
            return above and exponent > -math.log(_NEVER)

        return 0 if not never(0) else bisect_whole(never, 0, last + 1).bad

    def worst(self, epsilons: Array) -> tuple[Ends, Ends]:
        runs = self._runs()[0]
        whole = [self._pair(*run).deltas(epsilons) for run in runs]
        firsts = [
            ends if first == last else self._pair(first, first).deltas(epsilons)
            for (first, last), ends in zip(runs, whole, strict=True)
        ]
        low, high = _largest([_never(epsilons), *firsts]), self._above(whole, epsilons)
        return (low[0][0], high[0][1]), (low[1][0], high[1][1])

    def bounded(self, epsilons: Array) -> tuple[Ends, Ends]:
        runs = self._runs()[0]
        return self._above([self._pair(*run).above(epsilons) for run in runs], epsilons)

    def _above(self, runs: list[tuple[Ends, Ends]], epsilons: Array) -> tuple[Ends, Ends]:
        """The largest of the runs, and of more holders, where the threshold hardly matters."""
        beyond = self._runs()[1]
        plain = [] if beyond is None else [_plain_pair(self.rate, beyond).above(epsilons)]
        return _largest([_never(epsilons), *runs, *plain])

    def leakiest(self) -> ThresholdCounter:
        """With the number of holders that leaks most: moved up, where delta is typical; moved
        down, where
        half of the largest loss is, for that is -ln(1 - rate) at most."""
        if self.falls:
            way, at = 1, -0.5 * math.log1p(-self.rate)
        else:
            epsilons = np.linspace(0.0, 4.0, 41)
            reached = self.worst(epsilons)[0][0] >= _TYPICAL
            way, at = 0, float(epsilons[max(int(np.argmin(reached)) - 1, 0)])
        counters = [replace(self, holders=first) for first, _ in self._runs()[0]] or [self]
        place = np.array([at])
        return max(counters, key=lambda counter: float(counter.one(place)[way][0][0]))


def _never(epsilons: Array) -> tuple[Ends, Ends]:
    """Of fewer holders than are ever shown."""
    ends = np.zeros(epsilons.size), np.full(epsilons.size, _NEVER)
    return ends, ends


def _pieces(first: int, last: int) -> Iterator[tuple[int, int]]:
    """One by one, or if there are too many in runs of equal length."""
    length = 1 if last - first < _SINGLES else -(-(last - first + 1) // _RUNS)
    for start in range(first, last + 1, length):
        yield start, min(start + length - 1, last)


@lru_cache(maxsize=16)
def _plain_pair(rate: float, holders: int) -> IntegerPair:
    """Reports of so many others, all shown, with the victim's and without."""
    others = binomial(holders, rate, 1.0 - rate)
    return IntegerPair.of(others.tossed(rate, 1.0 - rate), others)


@lru_cache(maxsize=4096)
def _threshold_pair(rate: float, threshold: int, spread: int, first: int, last: int) -> IntegerPair:
    """Shown counts with ``first`` other holders, told what the others of the run report.

    That leaks at least as much as each data set of the run (docs/proofs/counters.md, section 3).
    """
    others, told = binomial(first, rate, 1.0 - rate), binomial(last - first, rate, 1.0 - rate)

    def shown(count: Array) -> Array:
        return np.clip((count - threshold + 1.0) / (spread + 1.0), 0.0, 1.0)

    return IntegerPair.hidden(others.tossed(rate, 1.0 - rate), others, told, shown)
