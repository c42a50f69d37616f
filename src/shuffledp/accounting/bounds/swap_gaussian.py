"""The swap bound for normal noise on vectors of any dimension (docs/proofs/swap_gaussian.md).

Symbols as there: e = exp(epsilon); the victim's values are c + d and c - d, another user's c - m,
in units of sigma; g = rho / r with rho the normal law around c; T near n is 1 + the sum of g;
C = G / (1 + G) with G = g at the victim's slot over T: how far a negative V is made less of.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from shuffledp.accounting.bounds.scopes import gaussian_round
from shuffledp.accounting.bounds.shuffle_gaussian import gaussian_pair
from shuffledp.accounting.bounds.swap import SwapCurve
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import NEVER, Curve, ProfileCurve, SearchLimit
from shuffledp.accounting.curves.gdp import gaussian_start
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.accounting.randomizers.triples import (
    TripleClass,
    triple_classes,
    worst_separation,
)
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.enclosure import COARSE, Enclosure
from shuffledp.numerics.ratio_laws import MASS_ERROR, Grid, Ratios, combined, quadratic, tail
from shuffledp.numerics.rounding import FORMULA, SUMS, Array, down, up
from shuffledp.numerics.search import bisect
from shuffledp.numerics.shared_places import SharedPlaces

_LEAST_DIAMETER, MOST_DIAMETER, _LEAST_USERS, _LEAST_RATE = 1e-4, 1.5, 10, 1e-6
_TOLERANCE, _ROUGHEST, _MOST_ROWS, _FEW_ROWS = 4e-3, 0.2, 420, 180
"""How much more than the worst triple rows may separate, and more where they would be too many."""
_MOST_EPSILON = 20.0
_DEEPEST, _FAR, _STEPS, _USUAL = 36.0, 5.0, (1.1, 1.5), 20.0
"""Depths in deviations; steps of epsilons; how far delta may be above that of a normal sum."""
_SMALLEST_CHARGE, _LARGEST_CHARGE = -680.0, -7.0
"""Logarithms."""
_CHARGED, _LEAST_CHARGE, _ATTEMPTS = 1e-4, 1e-300, 3
"""Share of delta that is charged for rare reports, about."""
_AGAIN, _LIKE, _LONGEST = 2, 1.2, 6.0
"""Looks where a nearby epsilon is known; logarithms: what is about the same, the longest step."""
_LITTLE = 0.6
"""A delta below such a power of the least charge is not sought at smaller epsilons, too."""
_BESIDE = 0.05
"""Epsilons so near each other, relatively, have the same charges."""
_FARTHER, _NARROW = 3.0, -14.0
"""Where the delta of a normal sum is so many powers of the least charge, the search begins nearer
to that, more so if its logarithm is hardly less than this."""
_WIDENED = 0.25
"""How much more is charged where the sum costs too much, in logarithms."""
_SHARE_RARE = 0.3
"""Of delta: when rare reports cost more, less is charged for them."""
_DEAR, _TAME = 0.05, 12.0
"""The largest W are cut off at up to this share of delta, above so many units of 1 / theta."""
_STEP, _COARSE_STEP = 0.1, 0.15
"""Cells of normal variables."""
_FINE, _COARSE, _SETTLED = 2e-3, 1e-2, 5e-3
_MOST_SHARE = 0.1
"""Largest C told apart from 1."""
_RAISED = 1e-5
"""The mean of W rises by at most this share of epsilon where its least values are cut off."""
_LEVELS = 8.0
"""Ratio of neighbouring levels of C."""
_TILTS = np.geomspace(0.2, 2.0, 16)
_USUAL_DELTA, _SEVERAL = 1e-6, 5.0
"""A search may begin at no more than so many times the epsilon of the limit at this delta."""


@dataclass(frozen=True)
class _Crowd:
    """Who reports: each of n users at a rate, or a number of them drawn."""

    n: int
    rate: float
    drawn: int | None

    @property
    def others(self) -> int:
        """Reports beside the victim's slot that are not surely silent."""
        return self.n - 1 if self.drawn is None else min(self.drawn, self.n - 1)

    @property
    def silent(self) -> int:
        """Slots that are surely silent."""
        return self.n - 1 - self.others

    @property
    def participation(self) -> float:
        return self.rate if self.drawn is None else self.drawn / self.n


@dataclass(frozen=True)
class _Window:
    """For one class of triples: where T and g are taken to lie, and what that costs."""

    least: float
    """T is at least this."""
    cap: float
    """g of a report exchanged is at most this."""
    log_cost: float

    @classmethod
    def of(cls, triples: TripleClass, crowd: _Crowd, log_chance: float) -> _Window | None:
        """Each of the two failures has at most this chance."""
        third, half = triples.third, triples.half
        depth = -NormalDist().inv_cdf(max(math.exp(log_chance), 1e-305))
        exponent = third * (depth + 0.5 * third + half)
        if exponent > 300.0:
            return None
        cap = up(math.exp(exponent), FORMULA)
        spread = up(crowd.rate * math.expm1(third**2), FORMULA)
        beyond = crowd.rate * tail((math.log(cap) + 0.5 * third**2) / third)
        guess = math.sqrt(-2.0 * log_chance / (crowd.others * spread))
        least = -math.inf
        for tilt in np.minimum(guess * _TILTS, 30.0).tolist():
            rise = spread * (math.expm1(tilt) - tilt + 1e-15)
            rise += beyond * math.exp(tilt * (1.0 - cap))
            falls = crowd.others * up(math.log1p(rise), FORMULA) - log_chance
            least = max(least, crowd.n - cap - up(falls / tilt, FORMULA))
        if not least > 2.0 * cap:
            return None
        missed = crowd.participation * tail((math.log(cap) / third) - 0.5 * third - half)
        return cls(down(least, FORMULA), cap, math.log(math.exp(log_chance) + missed))


@lru_cache(maxsize=64)
def _finest(
    domain: str, diameter: float, most_rows: int, tolerance: float
) -> tuple[float, tuple[TripleClass, ...]]:
    """Classes of at most so many rows, and their tolerance: this one or a larger one."""
    while tolerance <= _ROUGHEST:
        if found := triple_classes(domain, diameter, tolerance, most_rows):
            return tolerance, found
        tolerance *= 2.0
    return tolerance, triple_classes(domain, diameter, tolerance)


class _Parts(NamedTuple):
    """What delta is made of."""

    inside: float
    """Sums of W, and rare reports."""
    cut: float
    """The largest W, cut off."""
    rare: float
    """Rare reports alone, about."""

    @property
    def total(self) -> float:
        return min(up(self.inside + self.cut, SUMS), 1.0)


class _Look(NamedTuple):
    """What was found at an epsilon, and with what charged and cut off."""

    epsilon: float
    total: float
    log_charge: float
    log_aim: float
    further: tuple[float, float]
    """Both where to begin at larger ones."""


@dataclass(frozen=True, eq=False)
class GaussianSwap:
    """delta(epsilon) for values in a domain of a diameter, both in units of sigma."""

    domain: str
    diameter: float
    crowd: _Crowd
    _looks: list[_Look] = field(default_factory=list, init=False, repr=False)
    """Where hardly a window is left."""

    def classes(self, width: float) -> tuple[TripleClass, ...]:
        """As fine as many rows allow."""
        tolerance, found = _finest(self.domain, self.diameter, _MOST_ROWS, _TOLERANCE)
        few = sum(len(each.triples) for each in found) <= _FEW_ROWS or tolerance > _ROUGHEST
        if width < _COARSE or few:
            return found
        return _finest(self.domain, self.diameter, _FEW_ROWS, 2.0 * tolerance)[1]

    @property
    def power(self) -> float:
        """n times the square of mu, in the limit of many users."""
        return self.crowd.participation * worst_separation(self.domain, self.diameter)

    @property
    def mu(self) -> float:
        """Of the limiting Gaussian pair."""
        return math.sqrt(self.power / self.crowd.n)

    def delta(self, epsilon: float, width: float) -> float:
        """Upper bound, whatever all users hold.

        Where single reports that tell much matter more than the sum of all, the bound may rise with
        epsilon, which delta does not: then a smaller epsilon answers.
        """
        depth = min(epsilon / self.mu, _DEEPEST)
        hard = self._aim(min(epsilon, depth * self.mu)) < self._least_charge
        if (hard or width >= _COARSE) and depth > _FAR:
            depth = _below(depth, _STEPS[0])
        smaller = min(epsilon, down(depth * self.mu, FORMULA))
        if hard:
            best = self._balanced(smaller)
            normal = math.log(best) < _LITTLE * self._least_charge
        else:
            best = self._at(smaller, width)
            normal = best <= _USUAL * math.exp(self._log_delta(epsilon))
        if width < _COARSE and not normal:
            return min(best, self.delta(epsilon, _COARSE))
        while not normal and depth > 1.0:
            depth = _below(0.999 * depth, _STEPS[1])
            smaller = down(depth * self.mu, FORMULA)
            if self._aim(smaller) < self._least_charge:
                value = self._balanced(smaller)
            else:
                value = self._at(smaller, width)
            normal = value >= best and value <= _USUAL * math.exp(self._log_delta(smaller))
            best = min(best, value)
        return best

    def _log_delta(self, epsilon: float) -> float:
        """About what it is, by the central limit theorem."""
        depth = epsilon / self.mu
        return -0.5 * depth**2 - 2.0 * math.log1p(depth) + math.log(min(self.mu, 1.0))

    @lru_cache(maxsize=256)  # noqa: B019
    def _at(self, epsilon: float, width: float) -> float:
        if epsilon > _MOST_EPSILON or self._least_charge >= _LARGEST_CHARGE:
            return 1.0
        rough, log_charge = self._rough(epsilon)
        if width >= _COARSE:
            return rough
        return min(rough, self._charged(epsilon, log_charge, width).total)

    @lru_cache(maxsize=256)  # noqa: B019
    def _rough(self, epsilon: float) -> tuple[float, float]:
        """Of a coarse look, and log of what was charged for rare reports."""
        log_charge, attempts = self._aim(epsilon), 1 if epsilon > _FAR * self.mu else _ATTEMPTS
        found: list[tuple[float, float]] = []
        for _ in range(attempts):
            total = self._charged(epsilon, log_charge, _COARSE).total
            found.append((total, log_charge))
            aim = max(math.log(max(_CHARGED * total, _LEAST_CHARGE)), self._least_charge)
            if total >= 1.0 or aim - 2.0 <= log_charge <= aim + 0.7:
                break
            log_charge = aim
        return min(found)

    def _balanced(self, epsilon: float) -> float:
        """Where hardly a window is left: the least known at this epsilon or a smaller one."""
        if epsilon > _MOST_EPSILON or self._least_charge >= _LARGEST_CHARGE:
            return 1.0
        if all(look.epsilon != epsilon for look in self._looks):
            self._looks.append(self._look(epsilon))
        return min(look.total for look in self._looks if look.epsilon <= epsilon)

    def _look(self, epsilon: float) -> _Look:
        """Rare reports, the largest W cut off and the sum of others are to cost about the same."""
        least = self._least_charge
        beside = min(self._looks, key=lambda x: abs(x.epsilon - epsilon), default=None)
        if beside is not None and abs(beside.epsilon - epsilon) <= _BESIDE * epsilon:
            parts = self._charged(epsilon, beside.log_charge, _COARSE, beside.log_aim)
            return beside._replace(epsilon=epsilon, total=parts.total)
        before = max((x for x in self._looks if x.epsilon < epsilon), default=None)
        enough = _LIKE
        if before is not None:  # with the same charges less is left at a larger epsilon
            log_charge, log_aim, attempts = *before.further, _AGAIN
        else:
            far = self._aim(epsilon) < _FARTHER * least
            log_charge = min(0.8 * least, 0.5 * (least + _LARGEST_CHARGE))
            log_aim = log_charge - math.log(_CHARGED)
            if far:
                log_charge = least + max(0.25 * (_NARROW - least), 0.3)
                log_aim = log_charge + max(0.3 * (_NARROW - log_charge), 3.0)
            attempts, enough = _ATTEMPTS + 1, 0.5 * _LIKE
        found, tried = list[tuple[float, float, float]](), list[tuple[float, float]]()
        for _ in range(attempts):
            parts = self._charged(epsilon, log_charge, _COARSE, log_aim)
            found.append((parts.total, log_charge, log_aim))
            bulk = min(max(parts.inside - parts.rare, 1e-4 * parts.inside), 1.0)
            off = math.log(max(parts.cut, _LEAST_CHARGE) / max(bulk, _LEAST_CHARGE))
            tried.append((off, log_aim))
            share = parts.rare / (_SHARE_RARE * parts.total)
            if share <= 1.0 and abs(off) <= enough:
                break
            most = log_charge - math.log(_CHARGED)
            if off < 0.0 and log_aim >= most:  # too narrow a window, not too much cut off
                log_charge = min(log_charge - _WIDENED * off, 0.5 * (least + _LARGEST_CHARGE))
                log_aim, tried = log_charge - math.log(_CHARGED), []
                continue
            log_aim = min(_next_aim(tried), most)
            if share > 1.0:
                log_charge = max(log_charge - 1.0 - math.log(share), least)
        return _Look(epsilon, *min(found), (log_charge, log_aim))

    def _aim(self, epsilon: float) -> float:
        """log of what rare reports should cost, about."""
        return max(self._log_delta(epsilon) + math.log(_CHARGED), _SMALLEST_CHARGE)

    @cached_property
    def _least_charge(self) -> float:
        """log of about the least cost that leaves a window for every class of triples."""
        classes = self.classes(_COARSE)

        def open_(log_charge: float) -> bool:
            return _windows(classes, self.crowd, log_charge) is not None

        if open_(_SMALLEST_CHARGE) or not open_(_LARGEST_CHARGE):
            return _SMALLEST_CHARGE if open_(_SMALLEST_CHARGE) else _LARGEST_CHARGE
        return bisect(open_, _LARGEST_CHARGE, _SMALLEST_CHARGE, share=0.02).good

    def _charged(
        self, epsilon: float, log_charge: float, width: float, log_aim: float | None = None
    ) -> _Parts:
        """``log_aim``: of about what delta is, of which the largest W may cost a part."""
        classes = self.classes(width)
        windows = _windows(classes, self.crowd, log_charge)
        if windows is None:
            return _Parts(1.0, 0.0, 0.0)
        log_aim = log_charge - math.log(_CHARGED) if log_aim is None else log_aim
        known = list(zip(classes, windows, strict=True))
        return _Moved(self, epsilon, known, log_charge, width, log_aim).delta()


def _next_aim(tried: list[tuple[float, float]]) -> float:
    """Where as much is cut off as is left, from logarithms of their ratio at some aims."""
    much = min((x for x in tried if x[0] > 0.0), default=None)
    little = max((x for x in tried if x[0] <= 0.0), default=None)
    if much is None or little is None:
        off, log_aim = tried[-1]
        return max(log_aim - min(max(0.5 * off, -_LONGEST), _LONGEST), _SMALLEST_CHARGE)
    share = much[0] / (much[0] - little[0])
    return much[1] + share * (little[1] - much[1])


def _windows(
    classes: tuple[TripleClass, ...], crowd: _Crowd, log_charge: float
) -> list[_Window] | None:
    """One for each class, if there are."""
    found: list[_Window] = []
    for each in classes:
        window = _Window.of(each, crowd, log_charge - 1.5)
        if window is None:
            return None
        found.append(window)
    return found


@lru_cache(maxsize=16)
def _ratios(classes: tuple[TripleClass, ...], reach: float, least: float) -> list[list[Ratios]]:
    """Laws of the rows, coarser where there is room."""

    def of(each: TripleClass) -> list[Ratios]:
        step = math.sqrt(least**2 + each.spare)
        rows = each.triples
        return [Ratios.of(x.along + x.half, x.along - x.half, x.across, reach, step) for x in rows]

    return [of(each) for each in classes]


class _Moved:
    """The sum of W and of the victim's own V, for one epsilon and one set of windows."""

    def __init__(
        self,
        swap: GaussianSwap,
        epsilon: float,
        known: list[tuple[TripleClass, _Window]],
        log_charge: float,
        width: float,
        log_aim: float,
    ) -> None:
        self.swap, self.epsilon, self.e, self.known = swap, epsilon, math.exp(epsilon), known
        self.crowd, self.aim, self.width = swap.crowd, math.exp(log_aim), width
        depth = -NormalDist().inv_cdf(max(math.exp(log_charge), 1e-305))
        self.reach = 2.0 * math.ceil(0.5 * depth + 0.5)  # few different ones
        self.unit = max(window.least for _, window in known)
        """W is divided by the least T of its class, in units of this: no factor is below 1."""
        self.step = _STEP if width < _COARSE else _COARSE_STEP
        self.levels = self._levels()
        self.v = _term(swap.diameter**2)
        self.steep = float(quadratic(np.ones(1), np.ones(1), self.v)[0])

    def delta(self) -> _Parts:
        places, rows, cut = self._rows()
        logs, thetas = self._excesses(places, rows)
        worst = max(self._class_delta(*each, logs, thetas) for each in self.known)
        rare = max(math.exp(window.log_cost) for _, window in self.known)
        return _Parts(worst, cut, rare)

    def _curvature(self, triples: TripleClass, window: _Window) -> float:
        """k of the quadratic term that bounds what positive V gain."""
        k = math.exp(0.5 * triples.half**2 - 0.5 * self.epsilon) / (window.least - window.cap)
        return up(k / (1.0 - self.levels[-1]), FORMULA)

    def _rows(self) -> tuple[Array, Array, float]:
        """Places of W, weights of each triple's law, and what is charged for the largest W."""
        crowd = self.crowd
        laws, excess = [], 0.0
        tables = _ratios(tuple(x for x, _ in self.known), self.reach, self.step)
        for (triples, window), table in zip(self.known, tables, strict=True):
            k = self._curvature(triples, window)
            scale = self.unit / window.least
            for ratios in table:
                laws.append(combined(ratios, self.e, k, self.v, scale))
                over = crowd.rate * (ratios.excess + k * self.steep * ratios.square)
                excess = max(excess, up(over * crowd.others / window.least, FORMULA))
        sd = math.sqrt(worst_separation(self.swap.domain, self.swap.diameter))
        step = 0.6 * self.step
        low, high = min(float(x.min()) for x, _ in laws), max(float(x.max()) for x, _ in laws)
        scale = 1.5 * sd
        grid = Grid(
            scale,
            step,
            math.floor(math.asinh(low / scale) / step) - 1,
            math.ceil(math.asinh(high / scale) / step) + 1,
        )
        rows = np.stack([grid.split(x, w) for x, w in laws])
        return self._capped(grid.places, rows, excess)

    def _capped(self, places: Array, rows: Array, excess: float) -> tuple[Array, Array, float]:
        """The largest values of each W cut off as far as that costs little."""
        above = np.cumsum(rows[:, :0:-1], axis=1)[:, ::-1]  # weight beyond each place
        over = np.cumsum((above * np.diff(places))[:, ::-1], axis=1)[:, ::-1]
        cost = up(over * self.crowd.rate * self.crowd.others / self.unit, SUMS)
        cost = np.append(cost, np.zeros((len(rows), 1)), axis=1)
        depth = self.epsilon / self.swap.mu
        little, much = (np.argmax(cost <= share * self.aim, axis=1) for share in (_CHARGED, _DEAR))
        # a sum of values below this has about as many deviations as a normal one
        tame = _TAME * math.sqrt(self.swap.power * self.crowd.n) / (1.0 + depth)
        last = np.maximum(np.minimum(little, np.searchsorted(places, tame)), much)
        who = np.arange(len(rows))
        kept = np.where(np.arange(places.size) <= last[:, None], rows, 0.0)
        kept[who, last] += (rows - kept).sum(axis=1)
        # the least values raised, where hardly any weight is
        below = np.cumsum(np.cumsum(kept, axis=1)[:, :-1] * np.diff(places), axis=1).max(axis=0)
        first = int(np.searchsorted(below, _RAISED * min(self.epsilon, 1.0) + 1e-15))
        kept[:, first] += kept[:, :first].sum(axis=1)
        used = slice(first, int(last.max()) + 1)
        return places[used], kept[:, used], excess + float(cost[who, last].max())

    def _levels(self) -> list[float]:
        """Values of C, from the least to the largest told apart from 1."""
        least = 1.0 / (1.0 + max(window.least for _, window in self.known))
        most = max(
            min(math.exp(min(x.third * (self.reach + 0.5 * x.third), 600.0)) / w.least, 1e3)
            for x, w in self.known
        )
        return levels_of(least, most)

    def _excesses(self, places: Array, rows: Array) -> tuple[list[float], list[float]]:
        """For each level log E(sum of W)+ but for the victim's own factor, and theta."""
        crowd = self.crowd
        count = len(rows)
        logs, thetas, theta = [], [], None
        for level in self.levels:
            moved = np.where(places < 0.0, down(-places, FORMULA) * (level - 1.0), places)
            weights, values = crowd.rate * rows, moved
            quiet = down((self.e - 1.0) * (1.0 - level), 4.0 * FORMULA)
            if crowd.rate < 1.0:
                weights = np.append(weights, np.full((count, 1), 1.0 - crowd.rate), axis=1)
                values = np.append(values, -quiet)
            laws = SharedPlaces(
                weights, np.broadcast_to(values, weights.shape), np.zeros_like(weights), MASS_ERROR
            )
            first = np.array([-crowd.silent * quiet])
            log, theta = laws.log_excess([crowd.others], 0.0, first, np.ones(1), self.width, theta)
            logs.append(log)
            thetas.append(theta)
        return logs, thetas

    def _class_delta(
        self,
        triples: TripleClass,
        window: _Window,
        logs: list[float],
        thetas: list[float],
    ) -> float:
        crowd, e, half = self.crowd, self.e, triples.half
        scale = self.unit / window.least
        top = self.reach + 2.0
        z, chance = chance_cells(top)
        own = np.exp(half * z - 0.5 * half**2) - e * np.exp(-half * z - 0.5 * half**2)
        ratio = np.exp(np.maximum(0.0, triples.third * (z + 0.5 * triples.third))) / window.least
        share = np.append(ratio / (1.0 + ratio), 1.0 / (1.0 + window.least))
        chance = np.append(crowd.participation * chance, 1.0 - crowd.participation)
        own = np.append(own, 1.0 - e)
        own = scale * own + FORMULA * (np.abs(own) + e)
        # C = 1: at most the sum of positive parts; E a / r = 1, E (a / r)^2 <= e^(diameter^2)
        square = self._curvature(triples, window) * self.steep * math.exp(self.swap.diameter**2)
        many = crowd.others * crowd.rate * (1.0 + square)
        sums, at_one = over_levels(self.levels, logs, thetas, chance, own, share, many)
        value = math.exp(window.log_cost) + sums / self.unit + at_one / window.least
        rest = crowd.participation * (tail(top - half) + tail(top) * many)
        return up(value + rest / window.least, SUMS)


def levels_of(least: float, most: float) -> list[float]:
    """Values of C from the least to the largest told apart from 1, for G of at most ``most``."""
    found = [least]
    top = min(max(most / (1.0 + most), 1.5 * least), max(_MOST_SHARE, 2.0 * least))
    while found[-1] < top:
        found.append(min(found[-1] * _LEVELS, top))
    return found


@lru_cache(maxsize=32)
def chance_cells(top: float) -> tuple[Array, Array]:
    """The right ends of cells of a normal variable up to ``top``, and at least their chances."""
    edges = np.append(-top, np.arange(-4.0, top, 0.1))
    edges = np.append(edges, top)
    chance = np.array([tail(x) for x in edges.tolist()])
    lost = 4.0 * FORMULA * chance[:-1]
    return edges[1:], np.append(1.0 - chance[1], chance[1:-1] - chance[2:]) + lost


def over_levels(
    levels: list[float],
    logs: list[float],
    thetas: list[float],
    chance: Array,
    own: Array,
    share: Array,
    many: float,
) -> tuple[float, float]:
    """E(own + sum of W)+ where C is ``share``, from its logarithms at the levels and at C = 1.

    The sum is convex in C, so below its chords: hat functions of the levels. At C = 1 it is at most
    ``many`` and what is positive of the victim's own.
    """
    nodes = np.array([*levels, 1.0])
    at = np.clip(np.searchsorted(nodes, share, "right") - 1, 0, nodes.size - 2)
    part = np.clip((share - nodes[at]) / (nodes[at + 1] - nodes[at]), 0.0, 1.0)
    part = np.minimum(up(part, SUMS) + 1e-14, 1.0)
    value = 0.0
    for i, (log, theta) in enumerate(zip(logs, thetas, strict=True)):
        weight = np.where(at == i, chance * (1.0 - part), 0.0)
        weight += np.where(at + 1 == i, chance * part, 0.0)
        moment = float((weight * np.exp(np.minimum(theta * own, 600.0))).sum())
        value += math.exp(min(log + math.log(max(moment, 1e-305)), 600.0))
    last = np.where(at + 1 == nodes.size - 1, chance * part, 0.0)
    return value, float((last * (many + np.maximum(own, 0.0))).sum())


def _below(x: float, ratio: float) -> float:
    """The power of the ratio next below: few different places."""
    return ratio ** math.floor(math.log(x) / math.log(ratio))


def _term(p: float) -> float:
    """v of the smaller quadratic term, about: log(a / r) has variance p, b = r."""
    spread = math.expm1(p)
    v = math.sqrt(0.5 * spread / (1.0 + spread))
    mean = 0.25 * (2.0 * v * (1.0 + spread) + spread + 0.8 * math.sqrt(spread))
    return v if mean < 0.385 * (1.0 + spread) else math.inf


def _in_regime(randomizer: Randomizer) -> Randomizer:
    """One round with noise about as large as the sensitivity, or larger."""
    pair = gaussian_pair(gaussian_round(randomizer), sys.maxsize)
    if not (_LEAST_DIAMETER**2 <= pair.h <= MOST_DIAMETER**2 and pair.check_in >= _LEAST_RATE):
        condition = (
            f"sigma from {1.0 / MOST_DIAMETER:.2g} to {1.0 / _LEAST_DIAMETER:g} sensitivities,"
            f" check-in of at least {_LEAST_RATE:g}"
        )
        raise RegimeError(condition, str(randomizer))
    return randomizer


class _GaussianCurve(SwapCurve):
    """delta hardly falls any more where rare reports tell most: no search may begin there."""

    def expecting(self, epsilon: float) -> ProfileCurve:
        limit = self.guess(_USUAL_DELTA) if self.guess is not None else None
        near = limit is not None and epsilon < _SEVERAL * limit.x
        return super().expecting(epsilon) if near else self


def limiting_mu(randomizer: Randomizer, n: int) -> float:
    """The distance of two normal laws as hard to tell apart in the limit of many users; infinite
    where the bound does not speak."""
    try:
        swap = _swap(_in_regime(randomizer), n)
    except RegimeError:
        return math.inf
    return swap.mu


def _swap(randomizer: Randomizer, n: int) -> GaussianSwap:
    if n < _LEAST_USERS:
        raise RegimeError(f"n >= {_LEAST_USERS}", str(n))
    pair = gaussian_pair(randomizer, n)
    crowd = _Crowd(n, pair.check_in, pair.drawn)
    return GaussianSwap(pair.gaussian.space, up(math.sqrt(pair.h), FORMULA), crowd)


@bound(
    Theorem(
        id="swap-gaussian",
        citation="our own",
        statement="the swap bound for normal noise: only the plane of the victim's two values and"
        " another's matters, and larger triangles dominate smaller ones",
        validity="Gaussian reports of all users, checked in or drawn, in any dimension; sigma from"
        " 0.67 to 1e4 sensitivities, n >= 10; reports depend on the own value of a user alone,"
        " not on other reports",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/swap_gaussian.md",
    ),
    _in_regime,
    turn=1,
)
def swap_gaussian(randomizer: Randomizer, n: int) -> Curve:
    """For every data set: values in a set of a diameter, in a ball or on a line."""
    swap = _swap(randomizer, n)

    def profile(epsilon: float, width: float) -> Enclosure:
        value = swap.delta(epsilon, _COARSE if width >= COARSE else _FINE)
        return Enclosure(value, value)

    guess = partial(gaussian_start, math.sqrt(min(swap.power / n, 1e4)))
    return _GaussianCurve(
        profile, NEVER, guess=guess, limit=SearchLimit(_MOST_EPSILON), settled=_SETTLED
    )
