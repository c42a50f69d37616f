"""Certified hockey-stick divergence of the two-sided trinomial pair.

Every generic bound for shuffled eps0-LDP reports, and the data sets that nearly attain them, are
one expectation. With probability ``p`` a report is informative, and then it is one of two symbols
with equal chance, so with c informative reports among n

    delta = exp(log_scale) * sum over c >= 1 of Pr[Bin(n-1, p) = c-1] * h(c),
    h(c)  = (1/c) E[ (X - c/2 - slope*c - fixed*(n-c))+ ],      X ~ Bin(c, 1/2).

h is evaluated only where it matters: c lives in a window of O(sqrt(n)), wide windows are cut into
groups, and inside a group h is bounded from its two ends because the mean of more coin flips is
less spread (docs/proofs/numerics.md). Cost does not grow with n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from shuffledp.numerics.binomial import half_excess
from shuffledp.numerics.enclosure import FINE, QUICK, SEARCH, Enclosure
from shuffledp.numerics.logs import log
from shuffledp.numerics.rounding import Array, down, roundings, up
from shuffledp.numerics.window import chernoff, first_groups, group_masses, quantile, refine

_EXACT_N = 100_000
_SUMMED, _FIRST_GROUPS, _MANY_GROUPS, _QUICK_GROUPS = 8192, 256, 80, 48
"""Counts taken one by one, and groups to begin with."""
_REFINEMENTS = 4
_GROUPED_WIDTH = 3e-5
_STEP = 8.0
_TINY, _DIGITLESS = 1e-300, 1e-280
"""Upper end of every positive number too small to carry digits; where refining ends."""


_ROUNDED = 1e-10
"""Granted to the Chernoff exponent of what lies beyond the last count (numerics.md,
"Groups of counts")."""


class _Groups(NamedTuple):
    """Runs of counts starts..ends, and enclosures of their probabilities."""

    starts: Array
    ends: Array
    least: Array
    most: Array


class _Terms(NamedTuple):
    """Least and most of the groups' Pr * h, divided by exp of ``top``."""

    least: Array
    most: Array
    top: float


def _weighed(starts: Array, ends: Array, trials: float, p: float, q: float) -> _Groups:
    return _Groups(starts, ends, *group_masses(starts - 1.0, ends - 1.0, trials, p, q))


@lru_cache(maxsize=64)
def _groups(first: float, last: float, count: int, trials: float, p: float, q: float) -> _Groups:
    """first..last in this many groups, or each count by itself (0)."""
    if count:
        return _weighed(*first_groups(first, last, count), trials, p, q)
    counts = np.arange(first, last + 1.0)
    return _weighed(counts, counts, trials, p, q)


def _six_bits(x: float) -> float:
    mantissa, exponent = math.frexp(x)
    return math.ldexp(round(64.0 * mantissa), exponent - 6)


@lru_cache(maxsize=16)
def _cut(like: TwoSided, first: float, last: float, count: int, goal: float) -> _Groups:
    """first..last in this many groups, split where these parameters need it."""
    groups = _groups(first, last, count, *like._count)
    least, most, _ = like._terms(groups)
    return _weighed(*refine(groups.starts, groups.ends, least, most, goal), *like._count)


@dataclass(frozen=True)
class TwoSided:
    """Parameters of the sum above; q = 1 - p and coslope = 1/2 - slope are given too."""

    n: int
    p: float
    q: float
    log_scale: float
    slope: float
    coslope: float
    fixed: float = 0.0

    @property
    def _count(self) -> tuple[float, float, float]:
        """Law of the number of informative reports besides the victim's: trials, p, q.

        A p that underflows to 0 means no others, which can only raise delta, by far less than U.
        """
        return (self.n - 1.0, self.p, self.q) if self.p > 0.0 else (0.0, 0.5, 0.5)

    def delta(self, width: float = FINE) -> Enclosure:
        """Enclosure of delta of about the relative width asked for, if delta > 1e-30.

        FINE means <= 1e-9 for n <= 1e5 and <= 1e-4 beyond. Wide ones are for searches.
        """
        if self.coslope <= 0.0:
            return Enclosure(0.0, 0.0)
        first, last = self._window(36.0 if width == FINE else 20.0)
        if (self.n <= _EXACT_N and width < QUICK) or last - first < (
            _FIRST_GROUPS if width > FINE else _SUMMED
        ):
            return self._sum(self._terms(_groups(first, last, 0, *self._count)), first, last)
        count = _FIRST_GROUPS if width < SEARCH else _QUICK_GROUPS
        goal, enough = max(width, _GROUPED_WIDTH), 0.5
        if width < QUICK:
            groups, enough = _cut(self._rounded(), first, last, count, goal), 2.0 * goal
        else:
            groups = _groups(first, last, count, *self._count)
        terms = self._terms(groups)
        found = self._sum(terms, first, last)
        for _ in range(_REFINEMENTS):
            if found.width <= enough or found.upper < _DIGITLESS:
                break
            groups = _weighed(*refine(groups.starts, groups.ends, *terms[:2], goal), *self._count)
            terms = self._terms(groups)
            found = self._sum(terms, first, last)
        return found

    def _rounded(self) -> TwoSided:
        """About the same, and the same for neighbouring questions."""
        if self.coslope < 0.1:
            return self
        slope = _six_bits(self.slope)
        return TwoSided(self.n, self.p, self.q, 0.0, slope, 0.5 - slope, _six_bits(self.fixed))

    def _terms(self, groups: _Groups) -> _Terms:
        return _terms([self], groups)[0]

    def _log_most(self, c: float, pinned: float = 0.0) -> float:
        """ln of an upper bound of h from count c on, if fixed*n/c - fixed >= pinned.

        With y = X - c/2 - s*c <= rest*c: E[y+] is at most e^(-c KL) times 1 / (e t), t = 2
        atanh(2s), and times rest*c, and at most sqrt(c)/4.
        """
        s, rest = self.slope + pinned, self.coslope - pinned
        if rest <= 0.0:
            return -math.inf
        widest = -0.5 * math.log(c) - math.log(4.0)
        if s * math.sqrt(c) < 0.1:
            return widest
        half_t = math.atanh(2.0 * s) if s < 0.25 else 0.5 * math.log((0.5 + s) / rest)
        log_rest = math.log1p(-4.0 * s * s) if s < 0.25 else math.log(4.0 * rest * (0.5 + s))
        divergence = down(c * (0.5 * log_rest + 2.0 * s * half_t), _ROUNDED)
        factor = min(1.0 / (2.0 * math.e * half_t * c), rest)
        return min(math.log(factor) - divergence, widest) + _ROUNDED

    def _window(self, depth: float) -> tuple[float, float]:
        """Counts outside which Pr[C] * h is below e^-depth of delta."""
        centre = math.floor(self._count[0] * self.p) + 1.0
        log_centre = max(self._log_most(centre, self.fixed * (self.n / centre - 1.0)), -800.0)
        # in steps, so that neighbouring questions share their groups
        deeper = depth - _STEP * math.floor(log_centre / _STEP)
        low = quantile(deeper, -1, *self._count)
        high = quantile(deeper if self.fixed else depth, 1, *self._count)
        return low + 1.0, high + 1.0

    def _sum(
        self, terms: _Terms, first: float, last: float, log_edge: float | None = None
    ) -> Enclosure:
        """Terms, what lies outside first..last, all rounding (numerics.md, "Groups of counts").

        ``log_edge``: ln of an upper bound of h beyond ``last``.
        """
        least, most, top = terms
        if top == -math.inf:
            return Enclosure(0.0, _TINY)
        lower, upper = float(least.sum()), float(most.sum())
        if first > 1.0:  # h <= 1/2 everywhere
            below = chernoff(first - 2.0, *self._count)
            upper += 0.5 * math.exp(min(-top - below, 700.0))
        if last <= self._count[0]:
            log_edge = self._log_most(last + 1.0) if log_edge is None else log_edge
            upper += math.exp(min(log_edge - top - chernoff(last, *self._count), 700.0))
        factor = math.exp(min(self.log_scale + top, 700.0))
        margin = roundings(4.0 * (len(least) + 64.0 + abs(top) + abs(self.log_scale)))
        return Enclosure(
            max(down(factor * lower, margin), 0.0), min(up(factor * upper, margin) + _TINY, 1.0)
        )


def deltas(rows: Sequence[TwoSided]) -> tuple[Array, Array]:
    """Lower and upper ends of delta for many thresholds with one n, p and q.

    All share one coarse cut of the counts, so the ends differ by a percent or so: for profiles.
    """
    lower, upper = np.zeros(len(rows)), np.zeros(len(rows))
    live = [i for i, row in enumerate(rows) if row.coslope > 0.0]
    if not live:
        return lower, upper
    kept = [rows[i] for i in live]
    windows = [row._window(20.0) for row in (kept[0], kept[-1])]
    first, last = min(w[0] for w in windows), max(w[1] for w in windows)
    count = _MANY_GROUPS if last - first > 2 * _MANY_GROUPS else 0
    terms = _terms(kept, _groups(first, last, count, *kept[0]._count))
    edges = _log_h(kept, np.array([last + 1.0]), np.array([float(kept[0].n)]))[1]
    for i, row, each, edge in zip(live, kept, terms, edges, strict=True):
        found = row._sum(each, first, last, float(edge[0]))
        lower[i], upper[i] = found.lower, found.upper
    return lower, upper


def _terms(rows: Sequence[TwoSided], groups: _Groups) -> list[_Terms]:
    """For each row: h on a group is bounded by its ends (numerics.md, "Groups of counts")."""
    if groups.starts is groups.ends:
        low, high = _log_h(rows, groups.starts, groups.starts)
    elif any(row.fixed for row in rows):  # epsilon = 0 has none, the others may
        low = _log_h(rows, groups.ends, groups.starts)[0]
        high = _log_h(rows, groups.starts, groups.ends)[1]
    else:  # h falls with the count: of a group its next neighbour's start is low enough
        counts = np.append(groups.starts, groups.ends[-1])
        low, high = _log_h(rows, counts, counts)
        low = np.where(groups.starts == groups.ends, low[:, :-1], low[:, 1:])
        high = high[:, :-1]
    tops = high.max(axis=1)
    shift = np.where(tops == -math.inf, 0.0, tops)[:, None]
    least, most = groups.least * np.exp(low - shift), groups.most * np.exp(high - shift)
    return list(map(_Terms, least, most, tops.tolist()))


def _log_h(rows: Sequence[TwoSided], c: Array, other: Array) -> tuple[Array, Array]:
    """ln of lower and upper bounds of h(c), a line for each row.

    The count-free part is fixed*n*(c/other), the worse of a group's two ends.
    """
    slope, coslope, fixed = (
        np.array([[getattr(row, name)] for row in rows]) for name in ("slope", "coslope", "fixed")
    )
    pinned = fixed * (rows[0].n * (c / other) - c)
    flat = np.broadcast_to(c, pinned.shape).ravel()
    above, below = (slope * c + pinned).ravel(), (coslope * c - pinned).ravel()
    low, high, scale = half_excess(flat, above, below)
    scale = scale - np.log(flat)
    return (log(low) + scale).reshape(pinned.shape), (log(high) + scale).reshape(pinned.shape)
