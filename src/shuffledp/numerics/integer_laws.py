"""Certified laws on the whole numbers, and what tells two of them apart.

A law is a run of masses, each between two numbers, and a rest of known mass that may lie anywhere.
One law is made from the ratios of neighbouring masses, so no factorial is needed; sums of
independent numbers are convolutions, whose terms are all positive: relative errors stay small
however small a mass is (docs/proofs/counters.md, section 5).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shuffledp.errors import RegimeError
from shuffledp.numerics.composed_losses import Losses
from shuffledp.numerics.rounding import Array, all_orders, down, roundings, up

_FLOOR = 1e-60
"""Masses smaller than this, of the largest, belong to the rest."""
_LARGEST_EXPONENT = 700.0
_CUT = 1e-9
"""Share by which the highest ratios are lowered where a law has a rest."""
_LONGEST = 4_000_000
_LONGEST_SUM = 1 << 16
"""Longest runs of masses, of one law and of a law that is convolved with another."""
_WIDE, _WIDE_SUM = 8.0, 200.0
"""Variances of discrete Gaussian numbers, of each and of all, whose sum is nearly one of them."""

Ratio = Callable[[Array], Array]
"""k -> mass of k + 1 over mass of k, to eight roundings."""
Ends = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class IntegerLaw:
    """Masses of start, start + 1, ... between ``low`` and ``high``, and at most ``rest``
    anywhere."""

    start: int
    low: Array
    high: Array
    rest: float = 0.0

    def shifted(self, by: int) -> IntegerLaw:
        """The law of X + by."""
        return IntegerLaw(self.start + by, self.low, self.high, self.rest)

    def mirrored(self) -> IntegerLaw:
        """The law of -X."""
        last = self.start + self.low.size - 1
        return IntegerLaw(-last, self.low[::-1], self.high[::-1], self.rest)

    def plus(self, other: IntegerLaw) -> IntegerLaw:
        """The law of X + Y, independent."""
        short, long = sorted((self.low.size, other.low.size))
        if short > 1 and long > _LONGEST_SUM:
            raise RegimeError(f"sums of laws on at most {_LONGEST_SUM:,} numbers", f"{long:,}")
        error = roundings(short + 4.0)
        low = down(np.convolve(self.low, other.low), error)
        high = up(np.convolve(self.high, other.high), error)
        return _trimmed(self.start + other.start, low, high, self.rest + other.rest)

    def times(self, count: int) -> IntegerLaw:
        """The law of the sum of ``count`` independent copies."""
        total, power = point(0), self
        while count:
            if count & 1:
                total = total.plus(power)
            if count := count >> 1:
                power = power.plus(power)
        return total

    def tossed(self, heads: float, tails: float) -> IntegerLaw:
        """The law of X + 1 with probability ``heads``, of X with ``tails``; they sum to 1."""
        return IntegerLaw(
            self.start,
            down(_joined(self.low, heads, tails), roundings(4)),
            up(_joined(self.high, heads, tails), roundings(4)),
            self.rest,
        )


def _joined(masses: Array, heads: float, tails: float) -> Array:
    return np.asarray(np.append(tails * masses, 0.0) + np.append(0.0, heads * masses))


def _trimmed(start: int, low: Array, high: Array, rest: float) -> IntegerLaw:
    """Without the smallest masses at both ends."""
    there = np.flatnonzero(high > _FLOOR * high.max())
    first, last = int(there[0]), int(there[-1]) + 1
    cut = math.fsum(high[:first]) + math.fsum(high[last:])
    rest = up(rest + cut, roundings(8)) if rest + cut else 0.0
    return IntegerLaw(start + first, low[first:last], high[first:last], rest)


def point(place: int) -> IntegerLaw:
    """Certainty."""
    return IntegerLaw(place, np.ones(1), np.ones(1))


def from_ratios(
    ratio: Ratio, mode: int, limit: float = 0.0, least: int | None = None
) -> IntegerLaw:
    """The law with these ratios; beyond any k above ``mode`` they stay below max(ratio(k),
    limit) < 1.

    Below the mode masses fall just as regularly, to ``least`` at most.
    """
    above, lost_above = _falling(lambda j: ratio(mode + j), None, limit)
    room = None if least is None else mode - least

    def downwards(j: Array) -> Array:
        with np.errstate(divide="ignore", over="ignore"):
            return 1.0 / ratio(mode - 1.0 - j)

    below, lost_below = _falling(downwards, room, limit)
    masses = np.concatenate([below[:0:-1], above])
    steps = np.concatenate([np.arange(below.size - 1, 0, -1), np.arange(above.size)])
    error = all_orders(roundings(12.0 * steps + 512.0))
    lost = up(lost_above + lost_below, 1e-6)
    least_total = math.fsum(down(masses, error))
    most_total = math.fsum(up(masses, error)) + lost
    return IntegerLaw(
        mode - (below.size - 1),
        down(masses / most_total, error + roundings(8)),
        up(masses / least_total, error + roundings(8)),
        lost / least_total,
    )


def _falling(ratio: Ratio, room: int | None, limit: float) -> tuple[Array, float]:
    """Products of ratios, beginning with 1, and a bound on the sum of those that follow."""
    masses, length = np.ones(1), 64
    while True:
        size = length if room is None else min(length, room)
        masses = np.append(1.0, np.cumprod(ratio(np.arange(size, dtype=np.float64))))
        if room is not None and size == room:
            return masses[masses > 0.0], 0.0
        if masses[-1] < _FLOOR:
            kept = max(int(np.argmax(masses < _FLOOR)), 1)
            last = float(ratio(np.array([float(kept)]))[0])
            most = up(max(last, limit), roundings(16))
            if most < 1.0:
                return masses[:kept], up(float(masses[kept]), 1e-6) / (1.0 - most)
        if length > _LONGEST:
            raise RegimeError(f"a law on at most {_LONGEST:,} numbers", f"more than {length:,}")
        length *= 2


def poisson(mean: float) -> IntegerLaw:
    """Poisson numbers."""
    return from_ratios(lambda k: mean / (k + 1.0), math.floor(mean), least=0)


def binomial(trials: int, p: float, q: float) -> IntegerLaw:
    """Heads of so many coins; p + q = 1."""
    if trials == 0 or p == 0.0:
        return point(0)
    odds = p / q
    mode = min(math.floor((trials + 1) * p), trials)
    return from_ratios(lambda k: np.maximum(trials - k, 0.0) / (k + 1.0) * odds, mode, least=0)


def negative_binomial(shape: float, ratio: float) -> IntegerLaw:
    """Mass proportional to Gamma(k + shape) / k! ratio^k; the shape need not be whole."""
    mode = max(math.floor((shape - 1.0) * ratio / (1.0 - ratio)), 0)
    return from_ratios(lambda k: ratio * (k + shape) / (k + 1.0), mode, limit=ratio, least=0)


def two_sided_geometric(ratio: float) -> IntegerLaw:
    """Mass proportional to ratio^|k|: discrete Laplace noise."""
    return from_ratios(
        lambda k: np.where(k >= 0.0, ratio, 1.0 / ratio), 0, limit=up(ratio, roundings(8))
    )


def truncated_laplace(centre: int, scale: float) -> IntegerLaw:
    """Mass proportional to exp(-|k - centre| / scale) on 0, ..., 2 centre."""
    ratio = math.exp(-1.0 / scale)
    reach = min(centre, math.ceil(-math.log(_FLOOR) * scale) + 1)
    if reach > _LONGEST:
        raise RegimeError(f"a law on at most {_LONGEST:,} numbers", f"{reach:,}")

    def inside(k: Array) -> Array:
        away = k - centre
        return np.where(away >= centre, 0.0, np.where(away >= 0.0, ratio, 1.0 / ratio))

    return from_ratios(inside, centre, limit=up(ratio, roundings(8)), least=0)


def polya(shape: float, ratio: float) -> IntegerLaw:
    """The difference of two negative binomial numbers of that shape and ratio.

    The ratios of its masses obey a continued fraction, whose errors shrink on the way to the middle
    (docs/proofs/counters.md, section 5).
    """
    depth = 60.0 - math.log(_FLOOR)
    deviation = math.sqrt(2.0 * shape * ratio) / (1.0 - ratio)
    farthest = (depth + 2.0 * shape) / -math.log(ratio)  # what of many falls as normal numbers do
    farthest = min(farthest, 2.0 * depth / -math.log(ratio) + math.sqrt(2.0 * depth) * deviation)
    length = math.ceil(farthest) + 64
    if length > _LONGEST:
        raise RegimeError(f"a law on at most {_LONGEST:,} numbers", f"more than {length:,}")
    least, most = _polya_ratios(shape, ratio, length)
    return _symmetric(least, most, up(ratio, roundings(8)))


def _symmetric(least: Array, most: Array, limit: float) -> IntegerLaw:
    """The law, the same on both sides of 0, whose ratios from there on lie between these; beyond
    any of them they stay below it, or below ``limit``."""
    length = least.size
    steps = roundings(2.0 * np.arange(length, dtype=np.float64) + 4.0)
    low, high = (np.cumprod(np.append(1.0, each[:-1])) for each in (least, most))
    low, high = down(low, all_orders(steps)), up(high, all_orders(steps))
    kept = int(np.argmax(high < _FLOOR * high.max())) or length - 1
    beyond = max(limit, float(most[kept]))
    lost = up(2.0 * float(high[kept]), 1e-6) / (1.0 - beyond)
    least_total = down(2.0 * math.fsum(low[1:kept]) + 1.0, roundings(8))
    most_total = up(2.0 * math.fsum(high[1:kept]) + 1.0 + lost, roundings(8))
    return IntegerLaw(
        1 - kept,
        down(np.concatenate([low[kept - 1 : 0 : -1], low[:kept]]) / most_total, roundings(8)),
        up(np.concatenate([high[kept - 1 : 0 : -1], high[:kept]]) / least_total, roundings(8)),
        lost / least_total,
    )


def _polya_ratios(shape: float, ratio: float, length: int) -> Ends:
    """Ends of mass(k + 1) / mass(k) for k = 0, ..., length - 1."""
    far = length + 64
    q, square = ratio, up(1.0, roundings(4)) + ratio * ratio
    square_low = down(1.0 + ratio * ratio, roundings(4))
    ends = sorted((q, q * (far + shape) / (far + 1.0)))
    low, high = down(ends[0], roundings(16)), up(ends[1], roundings(16))
    lows, highs = np.empty(length), np.empty(length)
    smaller, larger = 1.0 - roundings(16), 1.0 + roundings(16)
    for k in range(far, 0, -1):  # from the ratio at k to that at k - 1
        weight, top = q * (k + 1.0 - shape), q * (k - 1.0 + shape)
        first, second = (low, high) if weight >= 0.0 else (high, low)
        # differences: what cancels is a share of the first term
        slack = roundings(16) * (square * k + abs(weight) * high)
        low = smaller * top / (square * k - weight * first + slack)
        rest = square_low * k - weight * second - slack
        high = larger * top / rest if rest > 0.0 else math.inf
        if k <= length:
            lows[k - 1], highs[k - 1] = low, high
    return lows, highs


def skellam(mean: float) -> IntegerLaw:
    """The difference of two Poisson numbers of this mean, by the ratios of its masses."""
    deviation = math.sqrt(2.0 * mean)
    length = math.ceil(20.0 * deviation - 2.0 * math.log(_FLOOR)) + 64
    if length > _LONGEST:
        raise RegimeError(f"a law on at most {_LONGEST:,} numbers", f"more than {length:,}")
    lows, highs = np.empty(length), np.empty(length)
    low, high = 0.0, min(mean / (length + 65.0), 1.0)
    smaller, larger = 1.0 - roundings(16), 1.0 + roundings(16)
    for k in range(length + 64, 0, -1):  # from the ratio at k to that at k - 1
        low, high = smaller / (k / mean + high), larger / (k / mean + low)
        if k <= length:
            lows[k - 1], highs[k - 1] = low, high
    return _symmetric(lows, np.minimum(highs, 1.0), 0.0)


def discrete_gaussian(variance: float) -> IntegerLaw:
    """Mass proportional to exp(-k^2 / (2 variance))."""
    return from_ratios(lambda k: np.exp(-(k + 0.5) / variance), 0)


def discrete_gaussians(variance: float, copies: int) -> IntegerLaw:
    """The sum of so many of them: nearly one of them where each is wide
    (docs/proofs/counters.md, section 5)."""
    together = copies * variance
    if copies == 1 or variance < _WIDE or together < _WIDE_SUM:
        return discrete_gaussian(variance).times(copies)
    one = discrete_gaussian(together)
    apart = 4.0 * copies * math.exp(-(math.pi**2) * variance)
    off = up(apart + math.exp(-together), 1e-6)  # of any mass
    rest = up(one.rest + off * one.low.size, 1e-6)
    return IntegerLaw(one.start, np.maximum(one.low - off, 0.0), one.high + off, rest)


@dataclass(frozen=True, eq=False)
class IntegerPair:
    """Two laws of what is seen, aligned: certified masses of both, and what is known of neither."""

    first: Ends
    second: Ends
    first_rest: float
    second_rest: float

    @classmethod
    def of(cls, first: IntegerLaw, second: IntegerLaw) -> IntegerPair:
        """Both numbers are seen as they are."""
        start = min(first.start, second.start)
        stop = max(first.start + first.low.size, second.start + second.low.size)

        def placed(law: IntegerLaw, masses: Array) -> Array:
            whole = np.zeros(stop - start)
            whole[law.start - start : law.start - start + masses.size] = masses
            return whole

        return cls(
            (placed(first, first.low), placed(first, first.high)),
            (placed(second, second.low), placed(second, second.high)),
            first.rest,
            second.rest,
        )

    @classmethod
    def hidden(
        cls,
        first: IntegerLaw,
        second: IntegerLaw,
        told: IntegerLaw,
        shown: Callable[[Array], Array],
    ) -> IntegerPair:
        """``told`` is known; its sum with the other number is shown with a chance, or one sees
        it is not."""
        start, plain = min(first.start, second.start), cls.of(first, second)
        known = told.start + np.arange(told.low.size, dtype=np.float64)[:, None]
        chance = shown(start + known + np.arange(plain.first[0].size))

        def outcomes(law: Ends) -> Ends:
            ends = []
            for moved, weights, masses in (
                (down, told.low, law[0]),
                (up, told.high, law[1]),
            ):
                each = weights[:, None] * masses
                unseen = moved(((1.0 - chance) * each).sum(axis=1), roundings(masses.size + 8.0))
                ends.append(np.append(unseen, moved(chance * each, roundings(8)).ravel()))
            return ends[0], ends[1]

        rests = [up(rest + told.rest, roundings(8)) for rest in (first.rest, second.rest)]
        return cls(outcomes(plain.first), outcomes(plain.second), *rests)

    @cached_property
    def _forward(self) -> _Ranked:
        return _Ranked(self.first, self.second, self.first_rest, self.second_rest)

    @cached_property
    def _reverse(self) -> _Ranked:
        return _Ranked(self.second, self.first, self.second_rest, self.first_rest)

    @property
    def size(self) -> int:
        """Number of outcomes."""
        return self.first[0].size

    def deltas(self, epsilons: Array) -> tuple[Ends, Ends]:
        """Ends of H(first || second) and of H(second || first)."""
        return self._forward.deltas(epsilons), self._reverse.deltas(epsilons)

    def above(self, epsilons: Array) -> tuple[Ends, Ends]:
        """The same where only upper ends matter: half of the work; 0 is below."""
        none = np.zeros(epsilons.size)
        return (none, self._forward.above(epsilons)), (none, self._reverse.above(epsilons))

    def losses(self, falls: bool = False) -> tuple[Losses, Losses]:
        """Losses below and above those of the first law against the second (``falls``:
        conversely)."""
        ranked = self._reverse if falls else self._forward
        return ranked.losses_below(), ranked.losses_above()


class _Ranked:
    """sum of (first - t second)+ for any t: outcomes ranked by their ratio, then sums of the
    highest.

    The rest of the first law counts wholly above, that of the second wholly below.
    """

    def __init__(self, first: Ends, second: Ends, first_rest: float, second_rest: float) -> None:
        self.rests = first_rest, second_rest
        self._first, self._second = first, second
        self.error = roundings(2.0 * first[0].size + 64.0)

    @cached_property
    def most(self) -> tuple[Array, Array, Array]:
        """The first law at its most, the second at its least."""
        return _ranked(self._first[1], self._second[0])

    @cached_property
    def least(self) -> tuple[Array, Array, Array]:
        """Conversely."""
        return _ranked(self._first[0], self._second[1])

    def above(self, epsilons: Array) -> Array:
        """Upper ends (docs/proofs/counters.md, section 5)."""
        t = np.exp(np.minimum(epsilons, _LARGEST_EXPONENT))  # delta falls: beyond it is no larger
        ratios, first, second = self.most
        place = np.searchsorted(ratios, -down(t, roundings(32)), side="right")
        high = up(first[place], self.error) - down(t * second[place], self.error)
        return np.minimum(up(high + self.rests[0], roundings(8)) + 1e-300, 1.0)

    def deltas(self, epsilons: Array) -> Ends:
        """Lower and upper ends."""
        high = self.above(epsilons)
        t = np.exp(np.minimum(epsilons, _LARGEST_EXPONENT))
        ratios, first, second = self.least
        place = np.searchsorted(ratios, -t, side="right")
        low = down(first[place], self.error) - up(t * (second[place] + self.rests[1]), self.error)
        low = np.where(epsilons > _LARGEST_EXPONENT, 0.0, np.maximum(low, 0.0))
        return np.minimum(low, high), high

    def losses_above(self) -> Losses:
        """One loss per outcome; what has no second mass, and the rest, is revealing."""
        ratios, first, second = self.most
        masses = np.diff(second)
        finite = (masses > 0.0) & (ratios < 0.0)
        values = np.log(-ratios[finite])
        values = values + roundings(64) * (1.0 + np.abs(values))
        known = math.fsum(np.diff(first)[masses <= 0.0]) + self.rests[0]
        return _rising(values, masses[finite] * (1.0 + self.error), min(up(known, self.error), 1.0))

    def losses_below(self) -> Losses:
        """The same; the highest losses are cut, by as much as outweighs the rest of the second
        law."""
        ratios, first, second = self.least
        masses, known = np.diff(second), 0.0
        kept = (masses > 0.0) & (ratios < 0.0)
        values = np.log(-ratios[kept])
        if self.rests[1] > 0.0:
            cuts = -ratios[np.isfinite(ratios)] * (1.0 - _CUT)
            place = np.searchsorted(ratios, -cuts, side="right")
            over = down(first[place], self.error)
            enough = over >= up(cuts * (second[place] + self.rests[1]), self.error)
            highest = float(cuts[np.argmax(enough)]) if enough.any() else 0.0
            values = np.minimum(values, math.log(highest) if highest > 0.0 else -math.inf)
        else:
            known = down(math.fsum(np.diff(first)[masses <= 0.0]), self.error)
        values = values - roundings(64) * (1.0 + np.abs(values))
        there = np.isfinite(values)
        return _rising(values[there], masses[kept][there] * (1.0 - self.error), known)


def _rising(values: Array, masses: Array, revealing: float) -> Losses:
    order = np.argsort(values, kind="stable")
    return Losses(values[order], masses[order], revealing)


def _ranked(first: Array, second: Array) -> tuple[Array, Array, Array]:
    """Ratios, negative and rising, and sums of both laws over the outcomes before each place."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(first > 0.0, first / second, 0.0)
    order = np.argsort(-ratios, kind="stable")
    sums = [np.append(0.0, np.cumsum(law[order])) for law in (first, second)]
    return -ratios[order], sums[0], sums[1]
