"""Privacy losses of one round, from what is known of its profile at a grid of slopes.

t = exp(epsilon). A profile is convex in t, so the lower hull of upper values lies above it, and
chords extended beyond their ends lie below (docs/proofs/composition.md). Either way the result is a
piecewise-linear profile, that is, finitely many losses: more private rounds compose to less loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.curves.ends import Ends, PureEnd
from shuffledp.accounting.curves.tradeoff.hull import lower_hull
from shuffledp.numerics.composed_losses import Losses
from shuffledp.numerics.logs import complement_above
from shuffledp.numerics.rounding import FORMULA, SUMS, Array, down, roundings, up

_UNITS = np.concatenate(
    [np.arange(1, 31) * 0.1, 3.0 + np.arange(1, 21) * 0.15, 6.0 + np.arange(1, 21) * 0.3]
)
"""Grid in standard deviations of a loss; beyond, it grows by a tenth."""
_PARTS, OFTEN = (3.0, 6.0), (3.0, 6.0, 7.5, 9.0, 10.5)
"""Where the grid may end early; more often where what lies beyond is left out."""
_DEEP, _AROUND, _COARSER = 9.0, 1.5, 6.0
"""At least how many deviations away a sum is as rare as 1e-15; how many deviations more of a round
matter where it is one of many; how much coarser the grid gets beyond."""
_THIN = 3e-3
"""Share of its profile that a loss of three deviations has left at most, if hardly any is larger:
a thousandth where they are normal."""
_FAR = 200.0
_FURTHER, _AT_ONCE = 8, 32
"""Points asked for together beyond the grid: of counters, that are quick to ask for many, more."""
_LARGEST_TILT = 700.0
_NARROWEST = 1e-100
"""On a finer grid products of differences, which the hull is made of, underflow."""
_OUTWARD = roundings(16)
"""How far slopes and mirrored values are moved (docs/proofs/composition.md, sections 2 and 3)."""
_MOST_SIDES = 400
"""Of a polygon of tests."""

Profiles = Callable[[list[float]], tuple[Ends, Ends]]
"""epsilons -> ends of H(P||Q) and of H(Q||P)."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Enclosures of the profile at increasing slopes exp(epsilon), the first of them 1."""

    epsilons: Array
    forward: Ends
    reverse: Ends

    @classmethod
    def take(
        cls,
        profiles: Profiles,
        pure: PureEnd,
        deepest: float = 1e-30,
        every: int = 1,
        between: int = 0,
        parts: tuple[float, ...] = _PARTS,
        upper: bool = False,
        rounds: int = 1,
    ) -> Samples:
        """Dense where the profile bends, until it falls below ``deepest`` or vanishes.

        ``every`` second point and the like will do where a profile is dear; where it is cheap, some
        more ``between`` two points join the losses more closely. ``parts``: where it may end; if
        only ``upper`` ends matter, it ends where they fall no more. Of many ``rounds`` together
        large losses of one hardly matter: there the grid is coarser.
        """
        start = profiles([0.0])
        sd = max(_NARROWEST, *(2.5 * float(side[1][0]) for side in start))
        top, end = pure.epsilon, min(pure.epsilon, _FAR)
        more = _AT_ONCE if upper else _FURTHER
        epsilons, found = [0.0], [start]

        def waits(units: Array) -> list[list[float]]:
            cuts = np.searchsorted(units, np.array(parts) + 1e-9)
            grids = [part[every - 1 :: every] for part in np.split(sd * units, cuts)]
            if between:
                ends = [0.0, *(float(part[-1]) for part in grids)]
                grids = [_filled(*part, between) for part in zip(grids, ends, strict=False)]
            inside = [[x for x in part.tolist() if x < down(end, SUMS)] for part in grids]
            return [part for part in inside if part]

        waiting = waits(_UNITS)
        farthest: list[float] = []
        while True:
            if waiting:
                grid = waiting.pop(0)
            else:
                far = epsilons[-1] * 1.1 ** np.arange(1, more + 1)
                grid = [x for x in far.tolist() if 0.0 < x < end * 0.99]
                grid = grid if len(grid) == more else [*grid, end]
            found.append(profiles(grid))
            epsilons += grid
            least = [float(side[1][-1]) for side in found[-1]]
            if rounds > 1 and len(found) == 2 and waiting and _thin(start, found[-1]):
                waiting = waits(_of_many(rounds))[1:]
            if epsilons[-1] == end or max(least) <= deepest:
                break
            flat = all(side[1][0] == low for side, low in zip(found[-1], least, strict=True))
            if upper and flat and end < top and len(grid) > 1:
                farthest = farthest or [float(side[1][0]) for side in profiles([end])]
                if farthest == least:  # what is left is revealing
                    break
        if end == top and epsilons[-1] < top:
            epsilons.append(top)
            found.append(start)
        ends = [
            np.concatenate([part[side][i] for part in found]) for side in (0, 1) for i in (0, 1)
        ]
        if end == top:  # nothing is revealing
            for values in ends:
                values[-1] = 0.0
        return cls(np.array(epsilons), (ends[0], ends[1]), (ends[2], ends[3]))

    def swapped(self) -> Samples:
        """The two data sets exchanged."""
        return Samples(self.epsilons, self.reverse, self.forward)

    def above(self) -> Losses:
        """Losses whose profile is nowhere below the true one."""
        # a profile falls: a value may be moved to a larger slope
        right = up(np.expm1(self.epsilons), _OUTWARD)
        left = -up(-np.expm1(-self.epsilons[:0:-1]), _OUTWARD)
        upper = np.minimum(up(self.reverse[1][:0:-1], _OUTWARD), 1.0)
        x = np.concatenate([[-1.0], left, right])
        y = np.concatenate([[1.0], _mirrored(left, upper) + _OUTWARD, self.forward[1]])
        keep = np.append(True, (np.diff(x) > 0.0) & (x[1:] > -1.0))  # the farthest round to t = 0
        x, y = lower_hull(x[keep], y[keep])
        masses, revealing = _masses(np.diff(x), y)
        factor, revealing = _shortfall(np.diff(x), y, masses, revealing)
        losses = np.log1p(x[1:])
        losses = losses + roundings(8) * np.abs(losses) + 1e-300
        return _losses_of(losses, masses[1:] * factor, min(revealing * factor, 1.0))

    def below(self, whole: bool = True) -> Losses:
        """Losses whose profile is nowhere above the true one.

        Unless ``whole``, the ends need not belong to one pair of laws in both directions, only to a
        convex function in each: no chord is then extended beyond t = 1.
        """
        x = down(np.expm1(self.epsilons), _OUTWARD)
        forward = self._at_smaller_slope(x, *self.forward)
        reverse = self._at_smaller_slope(x, *self.reverse)
        left = -down(-np.expm1(-self.epsilons[:0:-1]), _OUTWARD)
        low = _mirrored(left, reverse[0][:0:-1]) - _OUTWARD
        high = _mirrored(left, reverse[1][:0:-1]) + _OUTWARD
        at = np.concatenate([[-1.0], left, x])
        lower = np.concatenate([[1.0], low, forward[0]])
        upper = np.concatenate([[1.0], high, forward[1]])
        lower[-1] = 0.0
        one = len(left) + 1
        upper[one] = max(upper[one], reverse[1][0])
        apart = np.append(np.diff(at) > 0.0, True)  # the farthest slopes on the left may round to 0
        at, lower, upper, one = at[apart], lower[apart], upper[apart], int(apart[:one].sum())
        knots, values = chords_below(at, np.maximum(lower, 0.0), upper, None if whole else one)
        knots, values = lower_hull(knots, np.maximum(values, np.maximum(-knots, 0.0)))
        masses, revealing = _masses(np.diff(knots), values)
        long = _profile(np.diff(knots), masses, revealing)
        factor = float(np.max(long / np.maximum(values, 1e-300), initial=1.0, where=values > 0.0))
        factor = down(1.0, roundings(4.0 * (len(knots) + 8))) / max(factor, 1.0)
        losses = np.log1p(knots[1:])
        # budgets are known from above: the last knot may lie a few roundings beyond the true end
        losses = losses - roundings(64) * np.abs(losses) - 1e-300
        return _losses_of(losses, masses[1:] * factor, 0.0)

    def _at_smaller_slope(self, x: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Moved to slopes smaller by a rounding:
        the chord before bounds what the upper end gains."""
        steep = np.zeros_like(high)
        steep[1:] = high[:-1] / np.maximum(np.diff(x), 1e-300)
        return low, np.minimum(high + 4.0 * _OUTWARD * x * steep, 1.0)


def _thin(start: tuple[Ends, Ends], found: tuple[Ends, Ends]) -> bool:
    """Whether hardly any losses are larger than the last deviation of these."""
    pairs = zip(start, found, strict=True)
    return all(float(after[1][-1]) <= _THIN * float(before[1][0]) for before, after in pairs)


@lru_cache(maxsize=64)
def _of_many(rounds: int) -> Array:
    """The grid with longer steps where the losses of one of so many rounds hardly matter."""
    far, last = _DEEP / math.sqrt(rounds) + _AROUND, float(_UNITS[-1])
    units = [x for x in _UNITS.tolist() if x <= max(far, _PARTS[0] + 1e-9)]
    while units[-1] < last:
        x = units[-1]
        step = float(np.interp(x, _UNITS[1:], np.diff(_UNITS)))
        units.append(min(x + step * min(math.exp(0.5 * max(x - far, 0.0)), _COARSER), last))
    return np.array(units)


def _filled(points: Array, before: float, between: int) -> Array:
    """The points, and so many more in each gap, the one before the first included."""
    gaps = np.diff(points, prepend=max(2.0 * points[0] - points[1], before))
    shares = np.arange(between, -1.0, -1.0) / (between + 1.0)
    return np.asarray(points[:, None] - gaps[:, None] * shares).ravel()


def _mirrored(x: Array, delta: Array) -> Array:
    """H_t(P||Q) = 1 - t + t H_(1/t)(Q||P) at t = 1 + x < 1."""
    return np.asarray(-x + (1.0 + x) * delta)


def _masses(gaps: Array, y: Array) -> tuple[Array, float]:
    """Second masses at the knots of a convex profile, and its last value."""
    slopes = np.append(np.diff(y) / gaps, 0.0)
    masses = np.zeros_like(y)
    masses[1:] = np.maximum(np.diff(slopes), 0.0)
    return masses, float(y[-1])


def _profile(gaps: Array, masses: Array, revealing: float) -> Array:
    """sum over later knots of mass times distance, by positive terms only."""
    tails = np.cumsum(masses[::-1])[::-1]
    steps = np.append(gaps * tails[1:], revealing)
    return np.asarray(np.cumsum(steps[::-1])[::-1])


def chords_below(x: Array, low: Array, high: Array, apart: int | None) -> tuple[Array, Array]:
    """Knots of a function below every profile that lies between ``low`` and ``high`` at x.

    Between two points the chord of the two before, extended, and that of the two after both lie
    below; they cross at one more knot. Before the first point 1 - t stands for the chord, after the
    last one 0, its lower end. No chord is extended beyond the point ``apart``: slopes lie between
    -1 and 0 anyway. A crossing known to a rounding only takes the smaller of both chords there: the
    larger one, joined to the next knot, would lie above them on the way.
    """
    rise = np.full_like(x, -1.0)
    rise[1:] = np.maximum((low[1:] - high[:-1]) / np.diff(x), -1.0)  # slope for t >= x_i
    fall = np.zeros_like(x)
    fall[:-1] = np.minimum((high[1:] - low[:-1]) / np.diff(x), 0.0)  # slope for t <= x_i
    if apart is not None:
        rise[apart], fall[apart] = -1.0, 0.0
    a, b = slice(None, -1), slice(1, None)
    gap = fall[b] - rise[a]
    with np.errstate(divide="ignore", invalid="ignore"):
        at = (low[a] - low[b] + fall[b] * x[b] - rise[a] * x[a]) / gap
    inside = (gap > 0.0) & (at > x[a]) & (at < x[b])
    place = at[inside]
    left = low[a][inside] + rise[a][inside] * (place - x[a][inside])
    right = low[b][inside] + fall[b][inside] * (place - x[b][inside])
    slack = roundings(8) * (low[a][inside] + np.abs(rise[a][inside] * (place - x[a][inside])))
    knots = np.concatenate([x, place])
    # the smaller one: straight lines to both neighbours then lie below both chords
    values = np.concatenate([low, np.maximum(np.minimum(left, right) - slack, 0.0)])
    rank = np.argsort(knots, kind="stable")
    knots, values = knots[rank], values[rank]
    keep = np.append(np.diff(knots) > 0.0, True)
    return knots[keep], values[keep]


def _losses_of(losses: Array, masses: Array, revealing: float) -> Losses:
    keep = masses > 0.0
    return Losses(losses[keep], masses[keep], revealing)


def tested_losses(power: Array, size: Array) -> tuple[Losses, Losses]:
    """Losses, in both directions, of a pair that tests tell apart no better than these do.

    Each test of the first law against the second has at least that power at a size of at most that:
    their concave hull is a polygon below the best tests; its sides are outcomes
    (docs/proofs/composition.md, section 3).
    """
    x, y = lower_hull(*_staircase(np.clip(size, 0.0, 1.0), np.clip(power, 0.0, 1.0)))
    chosen = np.unique(np.linspace(0, x.size - 1, min(_MOST_SIDES, x.size)).astype(int))
    x, y = x[chosen], y[chosen]
    gaps, rises = np.diff(x), np.diff(-y)
    keep = (gaps > 0.0) & (rises > 0.0)
    gaps, rises = gaps[keep], rises[keep]
    values = np.log(rises / gaps)
    less = roundings(64) * (1.0 + np.abs(values)) + 1e-300
    ahead = _losses_of((values - less)[::-1], down(gaps, roundings(8))[::-1], 0.0)
    return ahead, _losses_of(-values - less, down(rises, roundings(8)), 0.0)


def _staircase(size: Array, power: Array) -> tuple[Array, Array]:
    """Sizes that increase and their best powers, negative, from (0, 0) to (1, -1)."""
    rank = np.lexsort((-power, size))
    x, y = np.append(0.0, size[rank]), np.append(0.0, np.maximum.accumulate(power[rank]))
    first = np.append(True, np.diff(x) > 0.0)
    first &= x < 1.0
    return np.append(x[first], 1.0), -np.append(y[first], 1.0)


def tradeoffs(losses: Losses, alphas: Array, upper: bool) -> Array:
    """Smallest type II errors at these type I errors, rounded up or down.

    1 - (profile at t) - t alpha is largest at a knot, or at t = 0.
    """
    knots = np.append(0.0, np.exp(losses.values))
    profile = _profile(np.diff(knots), np.append(0.0, losses.masses), losses.revealing)
    best = np.max(1.0 - profile - np.multiply.outer(alphas, knots), axis=-1)
    most = complement_above(alphas) if upper else 1.0 - alphas
    return np.asarray(np.clip(best + (FORMULA if upper else -FORMULA), 0.0, most))


def renyi_above(losses: Losses, order: float, pure: float) -> float:
    """Upper bound of the Rényi divergence of a round whose profile lies below that of these losses.

    ``pure``, its pure budget, is one too: the answer where the losses have none.
    """
    if losses.revealing > 0.0 or order * pure > _LARGEST_TILT:
        return pure
    value, error = losses.second.log_mgf(order)
    return min(up(max(value + error, 0.0) / (order - 1.0), roundings(4)), pure)


def stated_losses(epsilon: float, delta: float) -> Losses:
    """The worst (epsilon, delta)-DP mechanism (Kairouz, Oh, Viswanath 2015)."""
    shrink = math.exp(-epsilon)
    more, less = (1.0 - delta) / (1.0 + shrink), (1.0 - delta) * shrink / (1.0 + shrink)
    if epsilon == 0.0:
        return Losses(np.zeros(1), np.array([up(1.0 - delta, _OUTWARD)]), up(delta, _OUTWARD))
    return Losses(
        np.array([-down(epsilon, roundings(8)), up(epsilon, roundings(8))]),
        up(np.array([more, less]), _OUTWARD),
        min(up(delta, _OUTWARD), 1.0),
    )


def on_lattice(
    step: float, counts: NDArray[np.int64], upper: Array
) -> tuple[NDArray[np.int64], Array, float]:
    """Multiples of ``step``, their first masses, and the revealing mass: a profile from above.

    ``upper`` bounds the larger of both directions at slopes exp(step counts), counts 0, 1, ... The
    losses are exact, masses are rounded up (docs/proofs/composition.md, section 2).
    """
    last = len(counts) - 1
    multiples = np.concatenate([-counts[:0:-1], counts])
    x = np.expm1(step * multiples)
    mirrored = np.minimum(_mirrored(x[:last], upper[:0:-1]) + _OUTWARD, 1.0)
    x, y = np.append(-1.0, x), np.concatenate([[1.0], mirrored, upper])
    apart = np.append(True, np.diff(x) > 0.0)  # the farthest slopes on the left may round to 0
    knots, y = lower_hull(x[apart], y[apart])
    found = multiples[np.flatnonzero(apart)[np.searchsorted(x[apart], knots[1:])] - 1]
    slopes = np.exp(step * found)
    gaps = np.append(slopes[0], slopes[:-1] * np.expm1(step * np.diff(found)))
    masses, revealing = _masses(gaps, y)
    factor, revealing = _shortfall(gaps, y, masses, revealing, 1.0 + step * float(counts[-1]))
    return found, masses[1:] * slopes * factor, min(revealing * factor, 1.0)


def _shortfall(
    gaps: Array, y: Array, masses: Array, revealing: float, blur: float = 1.0
) -> tuple[float, float]:
    """Factor for the masses whose profile shall reach ``y`` at the knots, and what reveals then.

    The gaps between knots may be off by 32 ``blur`` roundings. Where second masses underflow, what
    they stood for counts as revealing.
    """
    lost = y > 2.0 * _profile(gaps, masses, revealing)
    revealing += float(np.max(y, initial=0.0, where=lost))
    short = _profile(gaps, masses, revealing)
    ratio = float(np.max(y / np.maximum(short, 1e-300), initial=1.0, where=y > 0.0))
    return up(max(ratio, 1.0), roundings(4.0 * (len(y) + 8.0 * blur))), revealing
