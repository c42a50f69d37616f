"""The swap bound for normal noise of one's own level, hidden (docs/proofs/swap_gaussian.md, 6).

Numbers in an interval. Laws around all values of a small range, with deviations of a small range,
have much in common: a report is of this part, or never changes places. So others have few laws.

Symbols as in ``swap_gaussian``, lengths in units of the victim's noise; w: weights of the classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.bounds.swap import SwapCurve, falling
from shuffledp.accounting.bounds.swap_gaussian import chance_cells, levels_of, over_levels
from shuffledp.accounting.curves import NEVER, SearchLimit
from shuffledp.accounting.curves.gdp import gaussian_start
from shuffledp.accounting.randomizers.noise_ranges import Cover, Deviations, Pairs, cover
from shuffledp.errors import RegimeError
from shuffledp.numerics.common_parts import Cells, CommonPart, Plane, Range
from shuffledp.numerics.enclosure import COARSE
from shuffledp.numerics.ratio_laws import MASS_ERROR, Grid, tail
from shuffledp.numerics.rounding import FORMULA, SUMS, Array, down, up
from shuffledp.numerics.shared_places import SharedPlaces

_LEAST_DIAMETER, _MOST_DIAMETER, _LEAST_USERS = 1e-3, 1.0, 100
_SHARPEST, _NOISIEST = 0.8, 100.0
"""Of others' noise, in units of the victim's."""
_DEEP, _LARGE = 10.0, 0.01
"""Sharper users are left out if so deep in the tails g is larger than this share of T."""
_MOST_CLASSES = 6
_STEPS = {2e-3: 0.05, 1e-2: 0.1}
"""Cells of reports, for the widths of delta asked for."""
_FINE, _COARSE = _STEPS
_TOLERANCE = {_FINE: 4e-3, _COARSE: 8e-3}
_CHARGED, _DEAR, _TAME, _RAISED = 1e-4, 0.02, 12.0, 1e-5
_EASED, _ATTEMPTS = 0.6, 4
"""Where no window is left for T more is charged for it, so often."""
_SPARED = 0.1
"""How fast cells grow with what is spared."""
_TILTS = np.geomspace(0.2, 2.0, 16)
_MOST_EPSILON, _SETTLED = 20.0, 5e-3


@dataclass(frozen=True)
class NoiseClass:
    """So many users whose deviations are in a range, in units of the victim's."""

    deviations: Deviations
    count: int


@dataclass(frozen=True, eq=False)
class _Group:
    """What others may have beside a victim with such pairs, class by class."""

    pairs: Pairs
    along: Cells
    across: Cells
    parts: list[list[CommonPart]]

    @classmethod
    def of(
        cls, cell: tuple[Pairs, tuple[tuple[Range, ...], ...]], reach: float, step: float
    ) -> _Group:
        """Reports so many deviations beyond the victim's values are told apart."""
        pairs, classes = cell
        step = math.sqrt(step**2 + _SPARED * pairs.spare)
        along = Cells.of(pairs.near, reach, step)
        across = Cells.of(pairs.across, reach, max(step, 3.0 * step * pairs.far / pairs.across))
        return cls(
            pairs, along, across, [[CommonPart.of(x, along) for x in each] for each in classes]
        )

    def missed(self, reach: float) -> float:
        """Chance that the victim reports outside the cells."""
        victims = self.pairs.near, self.pairs.across
        return sum(tail(reach) + tail(reach + 2.0 * x) for x in victims)


class PersonalGaussianSwap:
    """delta(epsilon) of a victim among users of other noise."""

    def __init__(self, diameter: float, classes: tuple[NoiseClass, ...]) -> None:
        self.diameter, self.classes = diameter, classes
        self.counts = np.array([each.count for each in classes], dtype=np.float64)
        separations = np.array(self.cover(_COARSE).separations)
        self.power = 1.0 / float(self.counts @ (1.0 / separations))
        """mu^2, in the limit of many users."""
        self.mu = math.sqrt(self.power)
        weights = 1.0 / separations
        self.weights = weights * (self.counts.sum() / float(self.counts @ weights))
        self.own = float(self.weights.max())
        self.centre = self.own + float(self.counts @ self.weights)

    def cover(self, width: float) -> Cover:
        """Of what others may hold."""
        return cover(self.diameter, tuple(x.deviations for x in self.classes), _TOLERANCE[width])

    @lru_cache(maxsize=16)  # noqa: B019
    def groups(self, reach: float, width: float) -> list[_Group]:
        """Laws of which every user of a class has one."""
        return [_Group.of(cell, reach, _STEPS[width]) for cell in self.cover(width).cells]

    @lru_cache(maxsize=256)  # noqa: B019
    def delta(self, epsilon: float, width: float) -> float:
        """Upper bound, whatever all users hold."""
        if epsilon > _MOST_EPSILON:
            return 1.0
        depth = epsilon / self.mu
        log_charge = -0.5 * depth**2 - 2.0 * math.log1p(depth) + math.log(min(self.mu, 1.0))
        log_charge = max(log_charge + math.log(_CHARGED), -680.0)
        for _ in range(_ATTEMPTS):
            moved = _Moved(self, epsilon, log_charge, width)
            if moved.window > 2.0 * float(moved.caps.max()):
                return moved.delta()
            log_charge *= _EASED
        return 1.0


class _Moved:
    """The sum of W and of the victim's own V, for one epsilon and one window for T."""

    def __init__(
        self, swap: PersonalGaussianSwap, epsilon: float, log_charge: float, width: float
    ) -> None:
        self.swap, self.epsilon, self.e = swap, epsilon, math.exp(epsilon)
        self.log_charge, self.width = log_charge, width
        depth = -NormalDist().inv_cdf(max(math.exp(log_charge), 1e-305))
        self.reach = 0.5 * math.ceil(2.0 * depth + 1.0)  # few different ones
        self.groups = swap.groups(self.reach, width)
        self.caps = swap.weights * self._largest(lambda x: float(x.swap[1].max()))
        self.window = self._least()

    def _largest(self, of: Callable[[CommonPart], float]) -> Array:
        """For each class, over all its laws."""
        each = range(len(self.swap.classes))
        return np.array([max(of(x) for g in self.groups for x in g.parts[k]) for k in each])

    def _least(self) -> float:
        """T is at least this, but for a chance of exp(log_charge)."""
        swap, beyond = self.swap, 4.0 * tail(self.reach)
        spread = up(self._largest(lambda x: x.swap_mean) - 1.0 + 2.0 * beyond, SUMS)
        guess = math.sqrt(-2.0 * self.log_charge / float(swap.counts @ (swap.weights**2 * spread)))
        best = -math.inf
        for tilt in (guess * _TILTS).tolist():
            x = np.minimum(tilt, 30.0 / float(swap.weights.max())) * swap.weights
            rise = x * beyond + spread * (np.expm1(x) - x + 1e-15)
            falls = float(swap.counts @ up(np.log1p(rise), FORMULA)) - self.log_charge
            best = max(
                best, swap.centre - float(self.caps.max()) - falls * swap.own / float(x.max())
            )
        return down(best, SUMS)

    def delta(self) -> float:
        swap, window = self.swap, self.window
        places, rows, starts, excess = self._capped(*self._laws())
        least, most = (self._swap_at(np.array([0.0, self.reach])) / window).tolist()
        levels = levels_of(least / (1.0 + least), most)
        logs, thetas, theta = [], [], None
        counts = swap.counts.astype(int).tolist()
        for level in levels:
            moved = np.where(places < 0.0, down(-places, FORMULA) * (level - 1.0), places)
            values, nothing = np.broadcast_to(moved, rows.shape), np.zeros_like(rows)
            laws = SharedPlaces(rows, values, nothing, MASS_ERROR, starts)
            log, theta = laws.log_excess(counts, 0.0, np.zeros(1), np.ones(1), self.width, theta)
            logs.append(log)
            thetas.append(theta)
        value = excess + self._victim(levels, logs, thetas) / window
        missed = max(group.missed(self.reach) for group in self.groups)
        value += missed * (1.0 + swap.own / window) + math.exp(self.log_charge)
        return min(up(value, SUMS), 1.0)

    def _victim(self, levels: list[float], logs: list[float], thetas: list[float]) -> float:
        """E(V of the victim's place + sum of W)+; what arrives there decides C."""
        swap, half, top = self.swap, up(0.5 * self.swap.diameter, FORMULA), self.reach + 2.0
        z, chance = chance_cells(top)
        first, second = (np.exp(x * half * z - 0.5 * half**2) for x in (1.0, -1.0))
        own = swap.own * (first - self.e * second + FORMULA * (first + self.e * second))
        ratio = self._swap_at(np.array([_folded(x) for x in z.tolist()])) / self.window
        many = (swap.centre - swap.own) / (1.0 - float(self.caps.max()) / self.window)
        sums = over_levels(levels, logs, thetas, chance, own, ratio / (1.0 + ratio), many)
        return sum(sums) + swap.own * tail(top - half) + tail(top) * many

    @cached_property
    def _arrivals(self) -> tuple[Array, Array]:
        """Distances from the middle, and the most that g of any user is no farther than there."""
        away, most = [], []
        for group in self.groups:
            edges = np.abs(group.along.edges)
            away.append(np.minimum(edges[1:], edges[:-1]))
            classes = zip(self.swap.weights, group.parts, strict=True)
            most.append(np.maximum.reduce([w * x.swap[1] for w, each in classes for x in each]))
        near, g = np.concatenate(away), np.concatenate(most)
        order = np.argsort(near)
        return near[order], np.maximum.accumulate(g[order])

    def _swap_at(self, reach: Array) -> Array:
        """At least g of any user at reports at most so far from the middle."""
        away, g = self._arrivals
        found: Array = g[np.searchsorted(away, np.maximum(reach, away[0]), "right") - 1]
        return found

    def _laws(self) -> tuple[Array, Array, tuple[int, ...]]:
        """Places, weights of all laws there, and the first law of each class."""
        swap = self.swap
        planes = [Plane(group.along, group.across, self.e) for group in self.groups]
        laws: list[tuple[Array, Array]] = []
        starts = []
        for k, weight in enumerate(swap.weights.tolist()):
            starts.append(len(laws))
            for group, plane in zip(self.groups, planes, strict=True):
                found = (x.atoms(plane, self.window / weight) for x in group.parts[k])
                laws += [(weight * values, weights) for values, weights in found]
        scale = 1.5 * swap.mu * (swap.centre - swap.own) / math.sqrt(float(swap.counts.sum()))
        step = 0.8 * _STEPS[self.width]
        low, high = min(float(x.min()) for x, _ in laws), max(float(x.max()) for x, _ in laws)
        ends = (math.asinh(x / scale) / step for x in (low, high))
        grid = Grid(scale, step, math.floor(next(ends)) - 1, math.ceil(next(ends)) + 1)
        rows = np.stack([grid.split(x, w) for x, w in laws])
        rows[:, -grid.least] += 1.0 - rows.sum(axis=1)  # reports that never change places
        return grid.places, rows, tuple(starts)

    def _capped(
        self, places: Array, rows: Array, starts: tuple[int, ...]
    ) -> tuple[Array, Array, tuple[int, ...], float]:
        """The largest values cut off as far as that costs little, the least ones raised."""
        swap = self.swap
        above = np.cumsum(rows[:, :0:-1], axis=1)[:, ::-1]  # weight beyond each place
        over = np.cumsum((above * np.diff(places))[:, ::-1], axis=1)[:, ::-1]
        cost = swap.counts @ np.maximum.reduceat(over, starts, axis=0) / self.window
        cost = np.append(up(cost, SUMS), 0.0)
        delta = math.exp(self.log_charge) / _CHARGED
        tame = _TAME * swap.mu * swap.centre / (1.0 + self.epsilon / swap.mu)
        little, much = (int(np.argmax(cost <= share * delta)) for share in (_CHARGED, _DEAR))
        last = max(min(little, int(np.searchsorted(places, tame))), much)
        kept = rows[:, : last + 1].copy()
        kept[:, last] += rows[:, last + 1 :].sum(axis=1)
        below = np.cumsum(kept, axis=1)[:, :-1] * np.diff(places[: last + 1])
        least = _RAISED * min(self.epsilon, 1.0) * float(swap.weights.min()) + 1e-15
        first = int(np.searchsorted(np.cumsum(below, axis=1).max(axis=0), least))
        kept[:, first] += kept[:, :first].sum(axis=1)
        return places[first : last + 1], kept[:, first:], starts, float(cost[last])


def _folded(z: float) -> float:
    """t with Pr[|Z| > t] = Pr[Z > z], or more."""
    chance = max(0.25 * math.erfc(z / math.sqrt(2.0)), 1e-305)
    return up(max(-NormalDist().inv_cdf(chance), 0.0), SUMS) + SUMS


def _classes(
    strength: float, weakest: float, others: Array, counts: NDArray[np.int64], gone: int
) -> list[NoiseClass]:
    """Users in few classes, for a victim of any strength from the weakest on.

    A weaker victim, and all others with it, is one of the strength after noise was added to all
    reports: others had less noise before.
    """
    added = max(weakest**-2.0 - strength**-2.0, 0.0)
    most = strength / others
    least = strength * np.sqrt(np.maximum(others**-2.0 - added, 0.0))
    keep = (least >= _SHARPEST) & (most <= _NOISIEST)
    found = []
    if keep.any():
        least, most, users = least[keep], most[keep], counts[keep]
        cuts = np.unique(most)
        if cuts.size > _MOST_CLASSES:
            cuts = np.geomspace(most.min(), most.max(), _MOST_CLASSES + 1)[1:]
            cuts[-1] = most.max()
        at = np.searchsorted(cuts, most)
        for k in np.unique(at).tolist():
            mine = at == k
            count = int(users[mine].sum()) - gone
            if count > 0:
                ends = down(float(least[mine].min()), FORMULA), up(float(most[mine].max()), FORMULA)
                found.append(NoiseClass(ends, count))
    return found


def gaussian_classes_swap(
    strength: float, weakest: float, others: Array, counts: NDArray[np.int64], gone: int = 0
) -> PersonalGaussianSwap:
    """A victim whose strength, 1 / sigma, is at most this and at least the weakest.

    ``gone``: so many of the others, whoever they are, may be missing.
    """
    if not _LEAST_DIAMETER <= strength <= _MOST_DIAMETER:
        condition = f"sigma from {1.0 / _MOST_DIAMETER:.2g} to {1.0 / _LEAST_DIAMETER:g}"
        raise RegimeError(condition, 1.0 / strength)
    found = _classes(strength, weakest, others, counts, gone)
    while True:
        if sum(each.count for each in found) < _LEAST_USERS:
            condition = f"{_LEAST_USERS} others, at least about as noisy as the victim"
            raise RegimeError(condition, sum(each.count for each in found))
        swap = PersonalGaussianSwap(up(strength, FORMULA), tuple(found))
        sharpest = min(found, key=lambda each: each.deviations[0])
        k = sharpest.deviations[0]
        bend = 0.5 * (k**-2.0 - 1.0) * _DEEP**2 + strength * _DEEP / k**2
        weight = float(swap.weights[found.index(sharpest)])
        if k > 1.0 - SUMS or weight * math.exp(bend) < _LARGE * swap.centre:
            return swap
        found.remove(sharpest)


def gaussian_classes_curve(swap: PersonalGaussianSwap, coarse: bool) -> SwapCurve:
    """What it says at every epsilon; always ``coarse`` where much is lost already."""

    def delta(epsilon: float, width: float) -> float:
        return swap.delta(epsilon, _COARSE if coarse or width >= COARSE else _FINE)

    guess = partial(gaussian_start, min(swap.mu, 100.0))
    limit = SearchLimit(_MOST_EPSILON)
    return SwapCurve(falling(delta, swap.mu), NEVER, guess=guess, limit=limit, settled=_SETTLED)
