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
from dataclasses import dataclass

import numpy as np

from shuffledp.numerics.binomial import Array, U, half_excess
from shuffledp.numerics.enclosure import FINE, QUICK, Enclosure
from shuffledp.numerics.window import chernoff, first_groups, group_masses, quantile, refine

_EXACT_N = 100_000
_SUMMED, _FIRST_GROUPS, _QUICK_GROUPS = 8192, 256, 48
"""Counts taken one by one, and groups to begin with."""
_REFINEMENTS = 4
_GROUPED_WIDTH = 3e-5
_TINY, _DIGITLESS = 1e-300, 1e-280
"""Upper end of every positive number too small to carry digits; where refining ends."""


@dataclass(frozen=True)
class TwoSided:
    """Parameters of the sum above; q = 1 - p and coslope = 1/2 - slope come without cancellation."""

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
        first, last = self._window()
        if (self.n <= _EXACT_N and width < QUICK) or last - first < (
            _FIRST_GROUPS if width > FINE else _SUMMED
        ):
            counts = np.arange(first, last + 1.0)
            return self._sum(counts, counts, first, last)
        starts, ends = first_groups(first, last, _FIRST_GROUPS if width < QUICK else _QUICK_GROUPS)
        goal = max(width, _GROUPED_WIDTH)
        enough = 2.0 * goal if width < QUICK else 0.5
        found = self._sum(starts, ends, first, last)
        for _ in range(_REFINEMENTS):
            if found.width <= enough or found.upper < _DIGITLESS:
                break
            starts, ends = self._refined(starts, ends, goal)
            found = self._sum(starts, ends, first, last)
        return found

    def _log_h(self, starts: Array, ends: Array) -> tuple[Array, Array]:
        """ln of a lower and of an upper bound of h on each group of counts starts..ends."""
        if starts is ends:
            low, high, scale = self._h(starts, starts)
            return low + scale, high + scale
        (low, _, low_scale), (_, high, high_scale) = self._h(ends, starts), self._h(starts, ends)
        return low + low_scale, high + high_scale

    def _h(self, c: Array, other: Array) -> tuple[Array, Array, Array]:
        # ln h(c) with the count-free part fixed*n*(c/other), the worse of the group's two ends.
        pinned = self.fixed * (self.n * (c / other) - c) if self.fixed else np.zeros_like(c)
        low, high, scale = half_excess(c, self.slope * c + pinned, self.coslope * c - pinned)
        with np.errstate(divide="ignore"):
            return np.log(low), np.log(high), scale - np.log(c)

    def _window(self) -> tuple[float, float]:
        """Counts outside which Pr[C] * h is below 1e-14 of delta."""
        centre = np.array([math.floor(self._count[0] * self.p) + 1.0])
        log_centre = max(float(self._log_h(centre, centre)[1][0]), -800.0)
        low = quantile(36.0 - log_centre, -1, *self._count)
        high = quantile(36.0 - (log_centre if self.fixed else 0.0), 1, *self._count)
        return low + 1.0, high + 1.0

    def _refined(self, starts: Array, ends: Array, width: float) -> tuple[Array, Array]:
        low, high = self._log_h(starts, ends)
        if high.max() == -math.inf:
            return starts, ends
        mass = group_masses(starts - 1.0, ends - 1.0, *self._count)[1]
        least, most = mass * np.exp(low - high.max()), mass * np.exp(high - high.max())
        return refine(starts, ends, least, most, width)

    def _sum(self, starts: Array, ends: Array, first: float, last: float) -> Enclosure:
        low, high = self._log_h(starts, ends)
        mass_low, mass_high = group_masses(starts - 1.0, ends - 1.0, *self._count)
        top = float(high.max())
        if top == -math.inf:
            return Enclosure(0.0, _TINY)
        lower = float(np.sum(mass_low * np.exp(low - top)))
        upper = float(np.sum(mass_high * np.exp(high - top)))
        if first > 1.0:  # h <= 1/2 everywhere
            below = chernoff(first - 2.0, *self._count)
            upper += 0.5 * math.exp(min(-top - below, 700.0))
        if last <= self._count[0]:
            edge, whole = np.array([last + 1.0]), np.array([float(self.n)])
            log_edge = float(self._log_h(edge, whole)[1][0])
            upper += math.exp(min(log_edge - top - chernoff(last, *self._count), 700.0))
        factor = math.exp(min(self.log_scale + top, 700.0))
        margin = (len(starts) + 64.0 + abs(top) + abs(self.log_scale)) * 4.0 * U
        return Enclosure(
            max(factor * lower * (1.0 - margin), 0.0),
            min(factor * upper * (1.0 + margin) + _TINY, 1.0),
        )
