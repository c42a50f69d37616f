"""The mean product of k of n lognormal variables, from its largest few and the sum of the others.

R = e_k(X) / C(n, k), e_k the sum of all products of k of them. Given the largest variables and the
sum of the others, Maclaurin's inequality bounds R above and the bound of the others by the largest
bounds it below; both are convex in all that is left, so laws of finitely many values enclose
E(R - e)+ (docs/proofs/allocation.md, section 2). For k up to 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shuffledp.accounting.curves.losses import chords_below
from shuffledp.accounting.curves.tradeoff.hull import lower_hull
from shuffledp.numerics.excesses import expected_excesses
from shuffledp.numerics.frequencies import Measure
from shuffledp.numerics.lognormal_cells import LognormalCells, lognormal_edges
from shuffledp.numerics.normal import CELL_ERROR
from shuffledp.numerics.ratio_laws import tail
from shuffledp.numerics.rounding import FORMULA, SUMS, Array, down, roundings, up

MOST = 3
"""Of k, and of the variables that are told."""
_LEVEL, _PER_LEVEL, _NARROW, _TOP = 1.2, 8, 0.125, 8.5
"""Levels are so wide, in units in which chances of the largest fall by e, of so many cells; cells
of the largest variables about so wide; up to so many deviations."""
_WIDE, _LOWEST, _FORGOTTEN, _RARE = 0.48, -9.0, 1e-16, 5e-3
"""Where levels begin, and end: what the largest are missing below; others expected above."""
_RARELY, _LITTLE_NOISE = 3, 8.0
_WIDTH, _BIN, _DROPPED = 2e-3, 4e-3, 1e-24
NODES_BELOW = (0.5 - math.sqrt(1.0 / 12.0), 0.5 + math.sqrt(1.0 / 12.0))
RULES_ABOVE = ((1 / 6, 2 / 3, 1 / 6), (0.1532, 1 / 3, 0.0135), (0.1652, 1 / 6, 0.0015))
RULES_BELOW = ((0.4999999, 0.4999999), (0.43, 0.07), (1 / 3, 0.0))
"""Rules for the integral of (1 - v)^r v^j over [0, 1], r = 0, 1, 2, for all j at once: above, with
the nodes 0, 1/2, 1; below, with the two of Gauss."""


@dataclass(frozen=True, eq=False)
class LargeRatios:
    """Values of R, from 1 on: discrete laws below and above that of R."""

    lower: Array
    lower_mass: Array
    upper: Array
    upper_mass: Array
    missing: float
    """At least E[R; what the law above leaves out]."""

    def above(self, gains: Array) -> Array:
        """At least E(R - 1 - gain)+ at each gain >= 0."""
        beyond = np.append(np.cumsum(self.upper_mass[::-1])[::-1], 0.0)
        hinges = np.append(_hinges(np.diff(self.upper), self.upper_mass), 0.0)
        place = np.searchsorted(self.upper, 1.0 + gains)
        left = np.append(self.upper, 0.0)[place] - 1.0 - gains
        found = hinges[place] + np.maximum(left, 0.0) * beyond[place]
        return np.asarray(np.minimum(up(found, SUMS) + self.missing, 1.0))

    def tests(self) -> tuple[Array, Array]:
        """Powers and sizes of which no difference, power - t size, is more than E(R - t)+."""
        size = np.cumsum(self.lower_mass[::-1])
        power = np.cumsum((self.lower * self.lower_mass)[::-1])
        return down(power, SUMS), np.minimum(up(size, SUMS), 1.0)


class _Epoch:
    """Cells of z, levels of them, and the variables of one epoch."""

    def __init__(self, h: float, n: int, k: int) -> None:
        self.h, self.n, self.k = h, n, k
        self.told = min(MOST, n - 1)
        self.rest = n - self.told
        s = math.sqrt(h)
        self.first, self.forgotten = self._begin(s)
        wide = self._level_width()
        fine = wide / _PER_LEVEL
        self.per_point = 4 if 4.0 * fine <= _NARROW else 2
        self.levels = math.ceil((s + _TOP - self.first) / wide)
        inner: Array = self.first + fine * np.arange(self.levels * _PER_LEVEL + 1.0)
        bulk = lognormal_edges(h)
        self.edges = np.append(bulk[bulk < self.first - 0.5 * fine], inner)
        self.start = self.edges.size - inner.size
        self.cells = LognormalCells.of(h, self.edges)
        self.points = LognormalCells.of(h, inner[:: self.per_point])
        expected = [self.rest * tail(float(z)) for z in inner[::_PER_LEVEL]]
        self.last = min(int(np.argmax(np.array(expected) < _RARE)), self.levels - 1)

    def _level_width(self) -> float:
        """Narrower where chances fall faster: about the largest of all variables."""
        z = _WIDE
        while self.rest * tail(z) > 1.0:
            z += _WIDE
        return min(_LEVEL / z, _WIDE)

    def _begin(self, s: float) -> tuple[float, float]:
        """Where the levels begin, and at least Pr[fewer than told are above, k of them moved]."""

        def missing(z: float) -> float:
            plain, moved = tail(-z), tail(s - z)  # below z
            above = tail(z), tail(z - s)
            total = 0.0
            for i in range(self.told):
                for j in range(min(self.told - i, self.k + 1)):
                    if i <= self.n - self.k:
                        ways = math.comb(self.n - self.k, i) * math.comb(self.k, j)
                        fewer = plain ** (self.n - self.k - i) * moved ** (self.k - j)
                        total += ways * above[0] ** i * above[1] ** j * fewer
            return up(total, SUMS)

        z = 8.0
        while z > _LOWEST and missing(z) > _FORGOTTEN:
            z -= 0.05
        return z, missing(z)

    def kept(self, level: int, share: float) -> Array:
        """Of each cell: what may be among the others if the least told is in that level, a share
        of which is before it."""
        from_here = self.start + level * _PER_LEVEL + 1
        found = np.ones(self.cells.mass.size)
        found[from_here:] = 0.0
        found[from_here : from_here + _PER_LEVEL] = share
        return found

    def others(self, kept: Array, knots: Array, *, above: bool) -> tuple[Array, Array]:
        """Values and masses, above or below the law of the sum of the others in the increasing
        convex order, each of them in the part that is ``kept``."""
        values, weights = self.cells.part(kept, above=above)
        values, weights = values[weights > 0.0], weights[weights > 0.0]
        lost = math.fsum((self.cells.mass * (1.0 - kept)).tolist())
        whole = math.fsum(weights.tolist())
        log_all = math.log1p(-lost) if lost < 0.5 else math.log(whole)
        slack = 8.0 * CELL_ERROR * (self.rest * min(lost, 1.0) + self.told + 4.0) + SUMS
        part = Measure(values, weights / whole, 0.0, 16.0 * CELL_ERROR)
        mean = self.rest * float(values @ part.w)
        ends = _excesses(part, self.rest, knots[1:])
        low = np.append(down(mean, SUMS), np.minimum(ends[0], down(mean, SUMS)))
        high = np.append(up(mean, SUMS), np.minimum(ends[1], up(mean, SUMS)))
        at, found = _spread_to(knots, high) if above else _drawn_to(knots, low, high)
        chance = math.exp(self.rest * log_all)
        return at, found * (up(chance, slack) if above else down(chance, slack))

    def told_laws(self, level: int, *, above: bool) -> tuple[Array, Array, Array]:
        """Values of a told variable, their masses in this level and in those beyond it."""
        first = 1 + level * _PER_LEVEL // self.per_point
        kept = np.zeros((2, self.points.mass.size))
        kept[0, first : first + _PER_LEVEL // self.per_point] = 1.0
        kept[1, first + _PER_LEVEL // self.per_point :] = 1.0
        (values, here), (_, beyond) = (self.points.part(part, above=above) for part in kept)
        return values, here, beyond

    def levels_above(self, knots: Array) -> Iterator[tuple[Array, Array]]:
        """Of each level: sums of the others, masses at them for r = 0, 1, 2 told in the level."""
        tables: dict[tuple[int, float], Array] = {}

        def table(level: int, share: float) -> Array:
            if (level, share) not in tables:
                tables[level, share] = self.others(self.kept(level, share), knots, above=True)[1]
            return tables[level, share]

        for level in range(self.levels):
            if level < self.last:
                found = [table(level, 0.0), table(level, 0.5), table(level + 1, 0.0)]
            else:  # with any of the next ones, too
                further = -(-(level + 1 - self.last) // _RARELY) * _RARELY
                found = [table(min(self.last + further, self.levels), 0.0)] * 3
            yield knots, np.array(RULES_ABOVE) @ np.array(found)

    def levels_below(self, knots: Array) -> Iterator[list[tuple[Array, Array]]]:
        """The same from below, for each node."""
        rare = self.others(self.kept(self.last, 0.0), knots, above=False)
        for level in range(self.levels):
            if level >= self.last:
                yield [(rare[0], np.multiply.outer([1.0, 0.5, 1.0 / 3.0], rare[1]))]
                continue
            found = [self.others(self.kept(level, v), knots, above=False) for v in NODES_BELOW]
            rules = np.array(RULES_BELOW).T
            yield [
                (at, np.multiply.outer(rule, x)) for (at, x), rule in zip(found, rules, strict=True)
            ]

    def products(self, sums: Array, level: int, *, above: bool) -> Array:
        """What j told variables are multiplied by, j = 0, ..., k: products of others, at most or at
        least, over all sets of k."""
        most = float(self.edges[self.start + min(level + 1, self.last) * _PER_LEVEL])
        most = up(math.exp(math.sqrt(self.h) * most - 0.5 * self.h), SUMS)
        found = np.zeros((self.k + 1, sums.size))
        for j in range(self.k + 1):
            r = self.k - j
            if math.comb(self.rest, r) == 0:
                continue
            ways = math.comb(self.rest, r) / math.comb(self.n, self.k)
            found[j] = ways * (sums / self.rest) ** r
            if not above:
                each = [np.maximum(sums - i * most, 0.0) / (i + 1.0) for i in range(r)]
                found[j] = np.prod([np.ones(sums.size), *each], axis=0) / math.comb(self.n, self.k)
        return up(found, SUMS) if above else down(found, SUMS)

    def knots(self) -> Array:
        """Where sums of the others may be put."""
        ends = []
        for level in (0, self.last):
            values, weights = self.cells.part(self.kept(level, 1.0), above=True)
            mean = float(values @ weights) / float(weights.sum())
            square = float(values**2 @ weights) / float(weights.sum()) - mean**2
            ends.append((self.rest * mean, math.sqrt(self.rest * max(square, 1e-12))))
        (low, little), (high, much) = ends
        step = max(0.5 * little, 0.15 * much)
        inside = np.arange(low - 4.5 * little, high + 0.5 * much, step)
        top = up(self.rest * float(self.cells.x[-1]), SUMS)
        rise, far = 1.2 * step, [float(inside[-1])]
        while far[-1] < top:
            far.append(far[-1] + rise)
            rise *= 1.7 if self.h < _LITTLE_NOISE else 2.5
        found = np.concatenate([[0.0], inside[inside > 0.1 * low], far[1:-1], [top]])
        return np.unique(found[found <= top])


def _excesses(part: Measure, n: int, knots: Array) -> tuple[Array, Array]:
    """Ends of the excesses of a sum over the knots."""
    if n > 1:
        low, high = expected_excesses(part, n, knots, _WIDTH)
        return low, np.minimum(high, up(n * float(part.v[-1]), SUMS))
    found = np.maximum(part.v - knots[:, None], 0.0) @ part.w
    return down(found, SUMS), up(found, SUMS)


def _spread_to(knots: Array, high: Array) -> tuple[Array, Array]:
    """Probabilities whose excesses over the knots are at least these: convex, 0 at the last."""
    high = np.maximum.accumulate(high[::-1])[::-1]
    high[-1] = 0.0
    gaps = np.diff(knots)
    slopes = np.minimum.accumulate((np.diff(high) / gaps)[::-1])[::-1]
    masses = np.diff(np.append(np.maximum(slopes, -1.0), 0.0), prepend=-1.0)
    made = _hinges(gaps, masses)
    short = float(np.max(high / np.maximum(made, 1e-300), initial=1.0, where=high > 1e-290))
    return knots, up(masses * short, roundings(8.0 * knots.size))


def _drawn_to(knots: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Knots and probabilities whose excesses are nowhere more than those of the sum."""
    low = low.copy()
    low[-1] = 0.0
    at, values = chords_below(knots, low, high, None)
    at, values = lower_hull(at, values)
    gaps = np.diff(at)
    slopes = np.clip(np.append(np.diff(values) / gaps, 0.0), -1.0, 0.0)
    masses = np.maximum(np.diff(slopes, prepend=-1.0), 0.0)
    made = _hinges(gaps, masses)
    long = float(np.max(made / np.maximum(values, 1e-300), initial=1.0, where=values > 0.0))
    return at, down(masses / long, roundings(8.0 * at.size))


def _hinges(gaps: Array, masses: Array) -> Array:
    """Excesses of the masses over each of the knots."""
    beyond = np.cumsum(masses[::-1])[::-1]
    return np.append(np.cumsum((gaps * beyond[1:])[::-1])[::-1], 0.0)


def _company(values: Array, here: Array, beyond: Array, count: int) -> tuple[Array, Array]:
    """Told variables but the least: masses if r of them are in its level, elementary sums."""
    held = (here + beyond) > 0.0
    x, a, b = values[held], here[held], beyond[held]
    if count == 1:
        return np.array([b, a]), np.array([np.ones(x.size), x])
    i, j = np.triu_indices(x.size)
    both = np.where(i == j, 1.0, 2.0)
    masses = both * np.array([b[i] * b[j], a[i] * b[j] + b[i] * a[j], a[i] * a[j]])
    return masses, np.array([np.ones(i.size), x[i] + x[j], x[i] * x[j]])


class _Histogram:
    """Masses and means of R by its logarithm."""

    def __init__(self) -> None:
        self.mass, self.gain, self.dropped = np.zeros(1), np.zeros(1), 0.0

    def add(self, ratio: Array, mass: Array) -> None:
        place = np.floor(np.log(np.maximum(ratio, 1e-9)) / _BIN).astype(np.int64) + 1
        place = np.maximum(place, 0).ravel()
        size = max(int(place.max()) + 1, self.mass.size)
        for name, values in (("mass", mass), ("gain", mass * ratio)):
            found = np.bincount(place, values.ravel(), size)
            found[: getattr(self, name).size] += getattr(self, name)
            setattr(self, name, found)


def _gather(
    made: _Histogram, epoch: _Epoch, level: int, sums: Array, masses: Array, above: bool
) -> None:
    """All values of R if the least of the told variables is in this level."""
    values, here, beyond = epoch.told_laws(level, above=above)
    company, elementary = _company(values, here, beyond, epoch.told - 1)
    ways = epoch.n * math.comb(epoch.n - 1, epoch.told - 1)
    powers = epoch.products(sums, level, above=above)
    weights = company.T @ masses[: epoch.told]
    for x, mass in zip(values[here > 0.0], here[here > 0.0], strict=True):
        terms = np.vstack([elementary, np.zeros(elementary.shape[1])])
        terms[1:] += x * elementary
        held = terms[: epoch.k + 1].T
        size = ways * mass * np.einsum("ij,ij->i", weights, held @ powers[: held.shape[1]])
        keep = size >= _DROPPED
        made.dropped += float(size[~keep].sum())
        if keep.any():
            made.add(held[keep] @ powers[: held.shape[1]], ways * mass * weights[keep])


@lru_cache(maxsize=16)
def large_ratios(h: float, n: int, k: int) -> LargeRatios:
    """Of k = 2 or 3 of n > k variables, Var(ln X) = h."""
    epoch = _Epoch(h, n, k)
    knots = epoch.knots()
    above, below = _Histogram(), _Histogram()
    for level, (sums, masses) in enumerate(epoch.levels_above(knots)):
        _gather(above, epoch, level, sums, masses, True)
    for level, nodes in enumerate(epoch.levels_below(knots)):
        for sums, masses in nodes:
            _gather(below, epoch, level, sums, masses, False)
    held = below.mass[1:] > 0.0
    lower_mass = below.mass[1:][held]
    edges = up(np.append(0.0, np.exp(_BIN * np.arange(above.mass.size))), FORMULA)
    mean = above.gain / np.maximum(above.mass, 1e-300)
    share = np.clip((mean - edges[:-1]) / np.diff(edges) + SUMS, 0.0, 1.0)
    upper_mass = np.append(above.mass * (1.0 - share), 0.0)
    upper_mass[1:] += above.mass * share
    last = n * tail(float(epoch.edges[-1])) + 2.0 * k * epoch.points.beyond
    missing = up(epoch.forgotten + last + above.dropped, SUMS)
    return LargeRatios(below.gain[1:][held] / lower_mass, lower_mass, edges, upper_mass, missing)
