"""The swap bound for Laplace noise of budgets of one's own (docs/proofs/swap.md, section 10).

A Laplace law around any value of a small cell is at least e^(-rate half the width) times the one
around its centre: what is left over is marked, and never changes places. So other users have few
laws; the victim's second value, in a cell too, moves each likelihood ratio within a known range.

Symbols as in ``swap``; the victim's values are 0 and d, distances in lengths of the interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shuffledp.accounting.bounds.swap import (
    SwapCurve,
    charge_aimed,
    deviation,
    expected_charge,
    exponentials,
    falling_curve,
)
from shuffledp.accounting.bounds.swap_laplace import (
    laplace_delta,
    log_integral,
    many_enough,
    skewness,
)
from shuffledp.accounting.randomizers.swaps import OtherLaw
from shuffledp.errors import RegimeError
from shuffledp.numerics.rounding import Array, down, roundings, up

_LEAST_BUDGET, _MOST_BUDGET, _LEAST_USERS, _MOST_CLASSES = 0.01, 6.0, 100, 6

_APART, _GROWTH, _WIDEST = 0.004, 0.4, 0.1
"""Widths of cells of values, over the rate: where most is told, how fast they grow, the widest."""
_PARTS = 8
"""Of each stretch between two kinks."""
_TAIL = np.array([1.0, 0.92, 0.84, 0.76, 0.68, 0.6, 0.52, 0.44, 0.36, 0.28, 0.2, 0.12, 0.05])
"""Likelihood ratios at the edges of cells outside, in units of the first."""
_SUMMED, _FORMULA = 1e-9, 1e-11
_STEEPEST = 3.0
"""theta |V| is kept below: moments bound nothing beyond."""
_ATTEMPTS = 3


def distances(rate: float) -> list[tuple[float, float]]:
    """Cells of the distance of the victim's values: the farther, the finer."""
    ends = [1.0]
    while ends[-1] > 0.0:
        width = (_APART + _GROWTH * (1.0 - ends[-1])) / max(rate, 1.0)
        ends.append(max(ends[-1] - min(width, _WIDEST), 0.0))
    return list(zip(ends[1:], ends[:-1], strict=True))


def _centres(near: float, rate: float) -> tuple[Array, Array]:
    """Centres and half widths of cells of all others' values, [near - 1, 1], fine at both ends."""
    edges, length = [0.0], 2.0 - near
    while edges[-1] < 0.5 * length:
        step = (_APART + 0.1 * (1.0 - near) + _GROWTH * edges[-1]) / max(rate, 1.0)
        edges.append(min(edges[-1] + min(step, _WIDEST), 0.5 * length))
    found = np.array(edges)
    found = np.unique(np.concatenate([found, length - found])) - (1.0 - near)
    return 0.5 * (found[1:] + found[:-1]), 0.5 * up(np.diff(found), _FORMULA)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Of reports, for each cell of others' values: mass, ranges of ratios and of their means."""

    mass: Array
    first: tuple[Array, Array]
    second: tuple[Array, Array]
    swap: tuple[Array, Array]
    first_mean: Array
    second_mean: tuple[Array, Array]
    swap_mean: Array


def _mass(rate: float, away: Array) -> Array:
    """Of a Laplace law between neighbouring edges, so far away; outside all of them too."""
    near = np.minimum(away[:, :-1], away[:, 1:])
    inner = 0.5 * np.exp(-rate * near) * -np.expm1(-rate * np.abs(np.diff(away, axis=1)))
    ends = 0.5 * np.exp(-rate * away[:, [0, -1]])
    return np.concatenate([ends[:, :1], inner, ends[:, 1:]], axis=1)


def _edges(victim: float, rate: float, near: float, far: float) -> tuple[Array, Array, Array]:
    """Centres and half widths of cells of others' values, and for each the edges of reports'."""
    place, half = _centres(near, rate)
    one = np.ones_like(place)
    fixed = [x * one for x in (0.0, near, 0.5 * (near + far), far, 0.5 * far)]
    kinks = np.sort(np.stack([*fixed, place], axis=1))
    share = np.arange(_PARTS) / _PARTS
    inner = kinks[:, :-1, None] + np.diff(kinks, axis=1)[:, :, None] * share
    out = -np.log(_TAIL) / max(victim - rate, 0.05 * rate)
    parts = [kinks[:, :1] - out[:0:-1], inner.reshape(len(place), -1), kinks[:, -1:] + out]
    return place[:, None], half[:, None], np.concatenate(parts, axis=1)


@lru_cache(maxsize=256)
def _cells(victim: float, rate: float, near: float, far: float) -> _Cells:
    """The victim's rate and theirs, not larger; the victim's values are near to far apart."""
    place, half, edges = _edges(victim, rate, near, far)
    theirs = np.abs(edges - place)
    mass = np.exp(-rate * half) * _mass(rate, theirs)
    scale = victim / rate * np.exp(rate * half)

    def ratios(away: Array, largest: bool) -> Array:
        """The least or largest ratio of a law of the victim's rate to theirs, from the edges."""
        logs = rate * theirs - victim * away
        outside = np.full((len(edges), 1), -np.inf)
        first, last = (
            (logs[:, :1], logs[:, -1:]) if largest or rate == victim else (outside, outside)
        )
        pick = np.maximum if largest else np.minimum
        between = pick(logs[:, :-1], logs[:, 1:])
        found: Array = scale * np.exp(np.concatenate([first, between, last], axis=1))
        return up(found, _FORMULA) if largest else down(found, _FORMULA)

    own, central = np.abs(edges), np.abs(edges - 0.5 * far)
    ones, twos = np.abs(edges - near), np.abs(edges - far)
    closest = np.maximum(np.maximum(near - edges, edges - far), 0.0)
    first, swap = ((ratios(x, False), ratios(x, True)) for x in (own, central))
    second = ratios(np.maximum(ones, twos), False), ratios(closest, True)
    seen = mass > 0.0
    safe = np.where(seen, mass, 1.0)

    def mean(masses: Array, ends: tuple[Array, Array]) -> Array:
        found: Array = np.clip(np.where(seen, masses / safe, ends[0]), *ends)
        return found

    seconds = _mass(victim, ones), _mass(victim, twos)
    # between the two ends of the distance a mass may be largest at one inside
    inside = np.pad((edges[:, :-1] >= near) & (edges[:, 1:] <= far), ((0, 0), (1, 1)))
    low = np.where(inside, second[0], mean(np.minimum(*seconds), second))
    high = np.where(inside, second[1], mean(np.maximum(*seconds), second))
    return _Cells(
        mass,
        first,
        second,
        swap,
        mean(_mass(victim, own), first),
        (low, high),
        mean(_mass(victim, central), swap),
    )


@dataclass(frozen=True)
class LaplaceClass:
    """So many users of one rate, and how readily the victim's report changes places with theirs."""

    rate: float
    count: int
    weight: float


class _Tilted:
    """One class of others, one cell of the victim's distance: W and g of all cells of reports."""

    def __init__(
        self, cells: _Cells, users: LaplaceClass, e: float, window: float, most: float
    ) -> None:
        w = users.weight
        self.e, self.weight, self.mass = e, w, cells.mass
        blur = 1e-13 * w * (cells.first[1] + e * cells.second[1])
        low = w * (cells.first[0] - e * cells.second[1]) - blur
        high = w * (cells.first[1] - e * cells.second[0]) + blur
        means = [w * (cells.first_mean - e * x) for x in cells.second_mean[::-1]]
        self.means = [
            np.clip(x + s * blur, low, high) for x, s in zip(means, (-1.0, 1.0), strict=True)
        ]
        self.ends = low, high
        self.swap = w * cells.swap[0]
        raised = 1.0 / (1.0 - w * cells.swap[1] / window)
        lowered = 1.0 / (1.0 + (most - self.swap) / window)
        self.moved = tuple(np.where(v > 0.0, v * raised, v * lowered) for v in (low, high))
        gone = np.maximum(high, 0.0) * (raised - 1.0) + np.maximum(-low, 0.0) * (1.0 - lowered)
        self.excess = up((self.mass * gone).sum(axis=1), _SUMMED)
        size = np.maximum(np.abs(self.moved[0]), np.abs(self.moved[1]))
        self.size = up((self.mass * size).sum(axis=1), _SUMMED)  # at least E |W|
        self.widest = float(size.max())

    def rise(self, theta: float, lam: float) -> Array:
        """At least M - 1 for the values of each cell."""
        low, high = self.ends
        below, above = (np.expm1(theta * x - lam * self.swap) for x in self.moved)
        gap = np.maximum(high - low, 1e-300)
        slope = (above - below) / gap
        extra = np.maximum(*((slope - theta) * x for x in self.means))
        terms = self.mass * (below - slope * low + extra)
        total: Array = terms.sum(axis=1) + theta * self.weight * (1.0 - self.e)
        total += 1e-12 * theta * (self.size + self.weight * self.e) + roundings(64.0)
        return total

    def log_ends(self, theta: float, lam: float, most: float) -> tuple[float, float, float]:
        """The largest K = log M, the least variance of W once normal noise has lifted each law to
        it, and the largest E (W - W')^4 / 24, all tilted (docs/proofs/swap.md, section 6).
        """
        w, e = self.weight, self.e
        top = math.log1p(float(self.rise(theta, lam).max()))
        grown = [np.abs(x) * np.exp(theta * np.maximum(x, 0.0)) for x in self.moved]
        moments = []
        for _ in range(3):
            grown = [g * np.abs(x) for g, x in zip(grown, self.moved, strict=True)]
            moments.append(up((self.mass * np.maximum(*grown)).sum(axis=1), _SUMMED))
        second, third, fourth = moments
        cubic = up((self.mass * skewness(-theta * self.moved[0])).sum(axis=1), _SUMMED)
        drift = w * (1.0 - e) + self.excess + lam * most * self.size
        least = np.exp(-theta * (w * (e - 1.0) + self.excess) - lam * w)
        mean = (w * (e - 1.0) + self.excess + lam * most * self.size + theta * second) / least
        lifted = top + lam * w - 0.5 * lam * lam * w * most - theta * drift - cubic
        spread = 2.0 / theta**2 * lifted - mean**2 - max(top, 0.0) * second
        quartic = (2.0 * fourth + 8.0 * mean * third) / least + 6.0 * (second / least) ** 2
        return top, float(spread.min()), up(float(quartic.max()) / 24.0, _SUMMED)


def _deviations(
    cells: list[_Cells], users: list[LaplaceClass], most: float, log_chance: float
) -> tuple[float, float]:
    """How far sums of g stay below and above their mean, by the widest law of that variance."""
    below: list[tuple[int, tuple[OtherLaw, ...]]] = []
    above: list[tuple[int, tuple[OtherLaw, ...]]] = []
    for each, cell in zip(users, cells, strict=True):
        w, (low, high) = each.weight, cell.swap
        square = cell.mass * (cell.swap_mean * (low + high) - low * high)
        variance = up(w * w * float((square.sum(axis=1)).max()), _SUMMED) - w * w
        variance = max(variance, 1e-9 * w * w)
        top = up(most - w, _FORMULA)
        for found, far in ((below, -w), (above, top)):
            chance = variance / (variance + far * far)
            values = np.array([w + far, w - variance / far])
            one = np.ones(2)
            law = OtherLaw(np.array([chance, 1.0 - chance]), one, one, values, w)
            found.append((each.count, (law,)))
    return deviation(below, log_chance, -1.0), deviation(above, log_chance, 1.0)


def laplace_classes_delta(victim: float, users: list[LaplaceClass], epsilon: float) -> float:
    """Upper bound on delta(epsilon), whatever all users hold in the interval.

    ``users``: the others, none of a larger rate than the victim's.
    """
    first, *others = distances(victim)
    log_charge, worst = expected_charge(_square(victim, users), epsilon), 1.0
    theta = _best_theta(victim, users, epsilon)
    for _ in range(_ATTEMPTS):  # until the charge for T outside its window suits the farthest pairs
        value = _distance_delta(victim, users, epsilon, first, theta, log_charge)
        worst = min(worst, value)
        aim = charge_aimed(value)
        if value >= 1.0 or aim - 10.0 <= log_charge <= aim + 3.0:
            break
        log_charge = aim
    for ends in others:
        if worst < 1.0:
            value = _distance_delta(victim, users, epsilon, ends, theta, log_charge)
            worst = max(worst, value) if value >= 0.0 else 1.0
    return min(worst, 1.0)


def power(victim: float, rate: float) -> float:
    """About the largest of int (a - b)^2 / r over their values."""
    cells = _cells(victim, rate, *distances(victim)[0])
    gap = cells.first_mean - 0.5 * (cells.second_mean[0] + cells.second_mean[1])
    return float((cells.mass * gap**2).sum(axis=1).max())


def _square(victim: float, users: list[LaplaceClass]) -> float:
    """The square of mu, in the limit of many users."""
    spread = math.fsum(u.count * u.weight**2 * power(victim, u.rate) for u in users)
    return spread / math.fsum(u.count * u.weight for u in users) ** 2


def laplace_classes_curve(victim: float, rates: list[float], counts: list[int]) -> SwapCurve:
    """A victim of this rate among so many others of each rate; sharper ones do not hide it."""
    known = [(rate, count) for rate, count in zip(rates, counts, strict=True) if rate <= victim]
    many = sum(count for _, count in known)
    if not (_LEAST_BUDGET <= victim <= _MOST_BUDGET and known and known[0][0] >= _LEAST_BUDGET):
        raise RegimeError(
            f"Laplace noise of budgets from {_LEAST_BUDGET:g} to {_MOST_BUDGET:g}", f"{victim:g}"
        )
    if many < _LEAST_USERS or len(known) > _MOST_CLASSES:
        condition = f"{_LEAST_USERS} others of at most {_MOST_CLASSES} budgets, none larger"
        raise RegimeError(condition, f"{many} others, {len(known)} budgets")
    own = power(victim, victim)
    equals = 1 + sum(count for rate, count in known if rate == victim)
    users = [LaplaceClass(rate, count, own / power(victim, rate)) for rate, count in known]

    @lru_cache(maxsize=256)
    def delta(epsilon: float) -> float:
        found = laplace_classes_delta(victim, users, epsilon)
        if many_enough(
            victim, 1.0, equals
        ):  # among these alone it is hidden less, but known better
            found = min(found, laplace_delta(victim, 1.0, equals, epsilon))
        return found

    return falling_curve(lambda epsilon, _: delta(epsilon), _square(victim, users), victim)


def _distance_delta(
    victim: float,
    users: list[LaplaceClass],
    epsilon: float,
    ends: tuple[float, float],
    theta: float,
    log_charge: float,
) -> float:
    """For values at a distance between the two ends; any theta > 0."""
    e = math.exp(epsilon)
    cells = [_cells(victim, each.rate, *ends) for each in users]
    most = max(
        each.weight * float(cell.swap[1].max()) for each, cell in zip(users, cells, strict=True)
    )
    centre = 1.0 + math.fsum(each.count * each.weight for each in users)
    below, above = _deviations(cells, users, most, log_charge - math.log(2.0))
    low = down(max(centre - below - most, 1.0), _FORMULA)
    high = up(centre + above + most, _FORMULA)
    if not low > 2.0 * most:
        return 1.0
    laws = [_Tilted(cell, each, e, low, most) for cell, each in zip(cells, users, strict=True)]
    counts = [each.count for each in users]
    span = up((1.0 + e) * math.exp(0.5 * victim * ends[1]), _FORMULA)  # of V_1
    value = math.exp(log_charge)
    for factor, lam in zip(*(x.tolist() for x in exponentials(low, high)), strict=True):
        found = [law.log_ends(theta, lam, most) for law in laws]
        top, spread, quartic = (
            math.fsum(m * x for m, x in zip(counts, column, strict=True))
            for column in zip(*found, strict=True)
        )
        size = math.fsum(m * abs(each[0]) for m, each in zip(counts, found, strict=True))
        log = log_integral(theta, spread, quartic) + top + _SUMMED + roundings(64.0) * size
        log += theta * (1.0 - e) + 0.125 * theta * theta * span * span - down(lam, _FORMULA)
        value += math.exp(min(log + math.log(factor), 600.0))
    return up(value, _SUMMED)


def _best_theta(victim: float, users: list[LaplaceClass], epsilon: float) -> float:
    """About the best theta for the farthest pairs, by the row of most spread of each class."""
    e = math.exp(epsilon)
    centre = 1.0 + sum(each.count * each.weight for each in users)
    rows = []
    for each in users:
        cells = _cells(victim, each.rate, *distances(victim)[0])
        value = each.weight * (cells.first_mean - e * cells.second_mean[0])
        value -= (cells.mass * value).sum(axis=1, keepdims=True) - each.weight * (1.0 - e)
        at = int(np.argmax((cells.mass * value**2).sum(axis=1)))
        rows.append((each.count, cells.mass[at], value[at], each.weight * cells.swap[0][at]))
    widest = max(float(np.abs(value).max()) for _, _, value, _ in rows)
    low, high = math.log(1e-3 / (centre * widest)), math.log(_STEEPEST / widest)

    def cost(u: float) -> float:
        theta, total = math.exp(u), -1.7 * u
        for m, p, v, g in rows:
            total += m * math.log1p(max(float(p @ np.expm1(theta * v - g / centre)), -0.9))
        return total

    for _ in range(25):
        one, two = low + 0.382 * (high - low), low + 0.618 * (high - low)
        low, high = (low, two) if cost(one) <= cost(two) else (one, high)
    return math.exp(0.5 * (low + high))
