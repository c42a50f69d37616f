"""E(R - c)+ and E(c - R)+ at many c, for a mean R of n lognormal variables of mean 1, certified.

X = exp(s z - s^2/2), z normal. Cells of z are spread to their edges, the mean kept: more in the
convex order; or put at their means: less. Sums keep the order, and the frequency engine encloses
both (docs/proofs/allocation.md, section 4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shuffledp.numerics.excesses import expected_excesses
from shuffledp.numerics.frequencies import LOG_FLOOR, Measure
from shuffledp.numerics.normal import CELL_ERROR, cdf
from shuffledp.numerics.positive_part import Law
from shuffledp.numerics.ratio_laws import cell_edges, tail, whole_line
from shuffledp.numerics.rounding import SUMS, Array, down, roundings, up

_STEP, _LEFT, _RIGHT, _REACH = 0.06, 4.5, 10.5, 16.0
"""Cells are so wide from _LEFT deviations below to _RIGHT above what matters, and grow up to
_REACH."""
_OFF = 8.0 * CELL_ERROR
"""Relative to 1 + X: more than what values and means of cells are off."""
_LEAST, _HUGE = 1e-300, 1e30
_TILTS = np.geomspace(1e-5, 1e3, 64)
"""Of Chernoff's bound."""


@dataclass(frozen=True, eq=False)
class LognormalCells:
    """Cells of z, cut at increasing edges, the two tails included."""

    x: Array
    """X at the edges."""
    mass: Array
    """Pr[z is in the cell]."""
    mean: Array
    """E[X | z is in the cell]."""
    share: Array
    """Of each cell but the last: what its right edge gets if the left one gets the rest and X keeps
    its mean; the left edge of the first cell is X = 0."""
    off: Array
    """How far the shares are off at most."""
    beyond: float
    """At least E[X; z above all edges]."""

    @classmethod
    def of(cls, h: float, edges: Array, centre: float = 0.0) -> LognormalCells:
        """Var(ln X) = h; z has that centre: X is weighted by X / E X where it is sqrt(h)."""
        s, x = math.sqrt(h), np.exp(math.sqrt(h) * edges - 0.5 * h)
        mass, moved = whole_line(edges, centre), whole_line(edges, s + centre)
        mean = math.exp(s * centre) * moved / mass
        inner, wide = mean[1:-1] / x[:-1], np.expm1(s * np.diff(edges))
        share = np.append(mean[0] / x[0], (inner - 1.0) / wide)
        off = 0.5 * _OFF * np.append(share[0], inner / wide)
        beyond = math.exp(s * centre) * tail(float(edges[-1]) - s - centre)
        return cls(x, mass, mean, share, off, beyond)

    def gains(self, top: float = math.inf) -> tuple[Measure, Measure]:
        """Laws below and above min(X, top) - 1 in the increasing convex order, ``top`` one of the
        edges; without it what is beyond the last edge is missing above."""
        below = np.minimum(self.mean, top) - 1.0 - _OFF * (1.0 + np.minimum(self.mean, top))
        at = np.append(0.0, np.minimum(self.x, top))
        above = at - 1.0 + _OFF * (1.0 + at)
        return _measure(below, self.mass), _measure(above, self._spread(self.share + self.off))

    def falls(self) -> tuple[Measure, Measure]:
        """The same for 1 - X, without what is so small that no sum with it is positive."""
        below = 1.0 - self.mean - _OFF * (1.0 + self.mean)
        at = np.append(0.0, self.x)
        above = 1.0 - at + _OFF * (1.0 + at)
        laws = _measure(below, self.mass), _measure(above, self._spread(self.share - self.off))
        return _above(laws[0], -_HUGE), _above(laws[1], -_HUGE)

    def part(self, kept: Array, *, above: bool) -> tuple[Array, Array]:
        """Values and masses below or above X in the increasing convex order, so much kept of each
        cell; above, what is beyond the last edge is missing."""
        if above:
            at = np.append(0.0, self.x)
            return at + _OFF * (1.0 + at), self._spread(self.share + self.off, kept)
        return np.maximum(self.mean - _OFF * (1.0 + self.mean), 0.0), self.mass * kept

    def _spread(self, share: Array, kept: Array | float = 1.0) -> Array:
        """Weights of 0 and the edges; the last cell stays at its edge."""
        share, mass, weights = np.clip(share, 0.0, 1.0), self.mass * kept, np.zeros(self.mass.size)
        weights[:-1] += mass[:-1] * (1.0 - share)
        weights[1:] += mass[:-1] * share
        weights[-1] += mass[-1]
        return weights


def lognormal_edges(h: float, centre: float = 0.0, step: float = _STEP) -> Array:
    """Where to cut z, up to that centre."""
    right = math.sqrt(h) + centre
    return cell_edges(-_LEFT, right + _RIGHT, -_REACH, right + _REACH, step)


def _measure(values: Array, weights: Array) -> Measure:
    law = Law(values, weights, _OFF)
    return Measure(law.values, law.weights, 0.0, law.weight_error)


def _above(law: Measure, least: float) -> Measure:
    """The part of a law from this value on."""
    lost = math.fsum(law.w[law.v < least].tolist())
    return Measure(law.v[law.v >= least], law.w[law.v >= least], lost, law.rho)


@lru_cache(maxsize=64)
def _laws(h: float) -> tuple[tuple[Measure, Measure], tuple[Measure, Measure], float]:
    cells = LognormalCells.of(h, lognormal_edges(h))
    return cells.gains(), cells.falls(), cells.beyond


def excesses(h: float, n: int, gains: Array, width: float) -> tuple[Array, Array]:
    """Ends of E(R - 1 - g)+ at each g >= 0."""
    alone = _alone(h, np.log1p(gains))
    if n == 1:
        return alone
    (below, above), _, beyond = _laws(h)
    low = expected_excesses(below, n, up(n * gains, roundings(4)), width)[0] / n
    high = expected_excesses(above, n, down(n * gains, roundings(4)), width)[1] / n
    return down(low, roundings(4)), np.minimum(up(high + beyond, roundings(4)), alone[1])


def shortfalls(h: float, n: int, depths: Array, width: float) -> tuple[Array, Array]:
    """Ends of E(1 - e^depth R)+ at each depth >= 0."""
    if n == 1:
        return _alone(h, depths)
    _, (below, above), _ = _laws(h)
    falls, grown = -np.expm1(-depths), np.exp(depths) / n
    low = expected_excesses(below, n, up(n * falls, roundings(4)), width)[0]
    high = expected_excesses(above, n, down(n * falls, roundings(4)), width)[1]
    return down(grown * low, roundings(20)), np.minimum(up(grown * high, roundings(20)), 1.0)


def shortfalls_above(h: float, n: int, depths: Array, k: int = 1) -> Array:
    """At least E(1 - e^depth R)+ at each depth >= 0, R the mean of all products of k of the
    variables: at least the geometric mean of its terms, which is lognormal; and Chernoff."""
    geometric = up(cdf((0.5 * k * h - depths) / (k * math.sqrt(h / n))), SUMS)
    return np.minimum(geometric, _chernoff(h, n, depths)) if k == 1 else geometric


def _chernoff(h: float, n: int, depths: Array) -> Array:
    """At least Pr[R < e^-depth] at each depth >= 0."""
    _, (_, law), _ = _laws(h)
    values, errors = law.log_mgfs(_TILTS)
    loss = np.multiply.outer(_TILTS, down(-np.expm1(-depths), roundings(4)))
    logs = (values + errors)[:, None] - loss + roundings(16) * (np.abs(values)[:, None] + loss)
    least: Array = np.clip(n * logs.min(axis=0), LOG_FLOOR, 0.0)
    return up(np.exp(least), SUMS)


def _alone(h: float, epsilons: Array) -> tuple[Array, Array]:
    """Ends of E(X - e^epsilon)+; (R - c)+ is at most the mean of all (X - c)+."""
    s = math.sqrt(h)
    gain = cdf(0.5 * s - epsilons / s)
    with np.errstate(under="ignore"):
        loss = np.exp(np.minimum(epsilons, 700.0)) * cdf(-0.5 * s - epsilons / s)
    error = 1e-3 * SUMS * (1.0 + epsilons / s) * gain + _LEAST
    value = np.maximum(gain - loss, 0.0)
    return np.maximum(value - error, 0.0), np.minimum(value + error, gain + error)
