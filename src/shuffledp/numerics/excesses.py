"""E(S - c)+ at many thresholds c, for the sum S of n variables of one discrete law, certified.

As in `positive_part` one formula does the work (docs/proofs/engine.md, sections 1 to 3 and 8).
Thresholds a few deviations apart share a tilt, so a single evaluation of the moment generating
function answers for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shuffledp.numerics.frequencies import (
    LOG_FLOOR,
    MAX_EXPONENT,
    Measure,
    Product,
    frequency_sums,
    shortest,
)
from shuffledp.numerics.positive_part import PLUS
from shuffledp.numerics.rounding import SUMS, Array, all_orders, down, roundings, up
from shuffledp.numerics.search import bisect

_SPAN, _GROWTH = 2.5, 1.2
"""Thresholds within so many deviations of the body of the law, and about this ratio, share a
tilt."""
_MARGIN = 1e-6
"""Granted to exponentials of rounded exponents (docs/proofs/engine.md, sections 4 and 5)."""
_ROUNDS = 3
_SMALLEST = 1e-300
"""What is smaller counts as 0 below and as this above."""
_MOST_FREQUENCIES = 1 << 18
_LITTLE, _LARGE, _MAX_THETA = 1e-9, 64, 1e60
Parts = Sequence[tuple[Measure, int]]
"""Laws, and how many variables follow each."""


def expected_excesses(
    part: Measure, n: int, thresholds: Array, width: float
) -> tuple[Array, Array]:
    """Lower and upper ends at each threshold >= 0; ``width`` is the relative width aimed at.

    The largest value must be positive.
    """
    lower, upper = np.zeros(thresholds.size), np.full(thresholds.size, math.inf)
    rank = np.argsort(thresholds, kind="stable")
    top = up(n * float(part.v[-1]), roundings(4))
    reached = thresholds[rank] < top
    upper[rank[~reached]] = 0.0
    waiting = rank[reached]
    spread = math.sqrt(n * float(part.w @ np.clip(part.v, -1.0, 1.0) ** 2))
    while waiting.size:
        first = float(thresholds[waiting[0]])
        group = waiting[thresholds[waiting] <= first + _SPAN * spread]
        group = group[thresholds[group] <= _GROWTH * first + spread]
        # towards the end of the range what is left of it counts
        group = group[_GROWTH * (top - thresholds[group]) >= top - first]
        lower[group], upper[group] = _together(part, n, thresholds[group], width)
        waiting = waiting[group.size :]
    return lower, upper


def _together(part: Measure, n: int, c: Array, width: float) -> tuple[Array, Array]:
    """Increasing thresholds: what one large value decides, exactly, and the rest."""
    below, low, high = _jumps(part, n, c, width)
    reached = (
        c < up(n * float(below.v[-1]), roundings(4)) if below.v.size else np.zeros(c.size, bool)
    )
    if reached.any():
        rest = by_frequencies([(below, n)], c[reached], width, low[reached])
        low[reached] += rest[0]
        high[reached] += rest[1]
    return down(low, roundings(4)), up(high, roundings(4))


def _jumps(part: Measure, n: int, c: Array, width: float) -> tuple[Measure, Array, Array]:
    """The law below a cut, and ends of E[(S - c)+; J], J: some V is at or above it.

    E[(S - c)+; J] = E[S - c; J] + E[(S - c)-; J]; the first is explicit, the second at most
    n Pr[V >= cut] E(cut - c + S_(n-1))-, by Chernoff (docs/proofs/engine.md, section 4).
    """
    v, w = part.v, part.w
    scale = max(float(c[-1]), -float(v[0]) * math.sqrt(n), _SMALLEST**0.5)
    grid = np.geomspace(0.1 / scale, max(1e3, 1.0 / scale), 64)
    grid = grid[grid * -float(v[0]) <= MAX_EXPONENT] / max(-float(v[0]), 1.0)
    values, errors = part.log_mgfs(-grid)
    offsets = (n - 1) * (values + errors) - np.log(grid) - 1.0
    offsets += roundings(16) * np.abs(offsets)
    candidates = np.flatnonzero(v > c[-1])
    reach = np.multiply.outer(down(grid, roundings(16)), v[candidates] - c[-1])
    deficits = np.min(offsets[:, None] - reach, axis=0)
    good = np.flatnonzero(deficits <= np.log(v[candidates] - c[-1]) + math.log(1e-2 * width))
    if not good.size:
        return part, np.zeros(c.size), np.zeros(c.size)
    first = int(candidates[good[0]])
    lost = min(math.fsum(w[first:].tolist()), 1.0)
    if lost == 1.0:
        return part, np.zeros(c.size), np.zeros(c.size)
    log_none = math.log1p(-lost)
    others, some = -math.expm1((n - 1) * log_none), -math.expm1(n * log_none)
    kept = math.fsum((w[:first] * v[:first]).tolist())
    large = math.fsum((w[first:] * v[first:]).tolist())
    value = n * (large + others * kept) - c * some
    size = n * (large + others * float(np.abs(v[:first]) @ w[:first])) + c * some
    error = (4.0 * part.rho + roundings(64)) * size
    left = np.min(offsets[:, None] - np.multiply.outer(grid, v[first] - c), axis=0)
    deficit = up(n * lost * np.exp(np.minimum(left, 600.0)), _MARGIN)
    below = Measure(v[:first], w[:first], part.lost + lost, part.rho)
    return below, np.maximum(value - error, 0.0), value + error + deficit


def _saddle(parts: Parts, threshold: float) -> float:
    """Roughly the theta that minimises M(theta) e^(-theta c) / theta^2; any > 0 is valid."""

    def left(log_theta: float) -> bool:
        theta = math.exp(log_theta)
        mean = math.fsum(n * part.tilted_mean(theta) for part, n in parts)
        return theta * (mean - threshold) <= 2.0

    least = 0.5 / sum(n * float(np.abs(part.v).max()) for part, n in parts)
    most = MAX_EXPONENT / max(float(part.v[-1]) for part, _ in parts)
    return math.exp(bisect(left, math.log(least), math.log(most), within=0.02).good)


def by_frequencies(parts: Parts, c: Array, width: float, known: Array) -> tuple[Array, Array]:
    """Ends of E(S - c)+ at increasing c, S the sum of n variables of each part, with one tilt;
    as narrow as wanted next to what is ``known``."""
    # a power of two is exact, and no power of a value leaves the doubles
    exponent = math.frexp(max(float(np.abs(part.v).max()) for part, _ in parts))[1]
    if abs(exponent) > _LARGE:
        small = [
            (Measure(np.ldexp(part.v, -exponent), part.w, part.lost, part.rho), n)
            for part, n in parts
        ]
        with np.errstate(over="ignore"):
            beside = np.minimum(np.ldexp(known, -exponent), 1.0 / _SMALLEST)
        low, high = by_frequencies(small, np.ldexp(c, -exponent), width, beside)
        return np.ldexp(low, exponent), np.ldexp(high, exponent)
    theta = _saddle(parts, 0.5 * float(c[0] + c[-1]))
    transform = Product(parts, theta)
    log_unit = transform.log_m - theta * c
    slack = transform.log_m_error + roundings(8) * (abs(transform.log_m) + theta * c)
    lower, upper = np.zeros(c.size), np.full(c.size, up(1.0 / (math.e * theta), SUMS))
    estimate = 1.0 / (theta * math.sqrt(2.0 * math.pi * (2.0 + (theta * transform.sd) ** 2)))
    offset = known * np.exp(np.minimum(-log_unit, 600.0))
    b = 0.7 * math.sqrt(width) / theta
    for _ in range(_ROUNDS if theta < _MAX_THETA else 0):  # beyond, powers may overflow
        step, alias = _window(transform, c, 0.01 * width * estimate)
        if b * step * _MOST_FREQUENCIES < PLUS.cut:
            break
        low, high, _ = frequency_sums(transform, PLUS, step, b, c)
        lower, upper = np.maximum(lower, low - alias), np.minimum(upper, high)
        if np.all(upper - lower <= width * (upper + offset)):
            break
        b, estimate = 0.5 * b, max(float(lower.min()), 0.01 * estimate)
    log_upper = log_unit + np.log(upper)
    tiny, vast = log_upper < LOG_FLOOR, log_upper > -LOG_FLOOR
    scale = np.where(vast, 0.0, log_unit)
    with np.errstate(under="ignore"):
        low = down(lower * np.exp(scale - slack), roundings(16))
        high = up(upper * np.exp(scale + slack), roundings(16))
    low = np.where(tiny | vast, 0.0, low)
    return low, np.where(tiny, _SMALLEST, np.where(vast, math.inf, high))


def _window(transform: Product, c: Array, target: float) -> tuple[float, Array]:
    """Frequency step 2 pi / P, and for each threshold a bound (about ``target``) on the share of
    k P, k != 0 (docs/proofs/engine.md, section 1, with S - c in place of S)."""
    theta, log_target = transform.theta, math.log(target)
    tops = [(float(factor.measure.v[-1]), factor.copies) for factor in transform.factors]
    log_mass = float(transform.log_growth(np.zeros(1), exact=True)[0])
    log_masses = log_mass + up(theta * c, roundings(8)) + roundings(8) * abs(log_mass)
    left = 1.0 / theta  # k >= 1: e^(-theta k P) E(S - c + kP)+
    for _ in range(4):
        left = max(float(log_masses[-1]) + math.log(4.0 * left) - log_target, 4.0) / theta
    # k <= -1: e^(theta |k| P) E(S - c - |k|P)+, none beyond the range of S, else Chernoff
    right, gap = up(math.fsum(top * copies for top, copies in tops), 0.01), math.inf
    log_bounds = np.zeros(c.size)
    gaps = np.geomspace(0.1, 100, 16) / max(transform.sd, 1e-3 / theta)
    gaps = gaps[(theta + gaps) * max(top for top, _ in tops) <= 1.1 * MAX_EXPONENT]
    if gaps.size:
        growth = transform.log_growth(theta + gaps) - (np.log(theta + gaps) + 1.0)
        growth += roundings(16) * np.abs(growth)
        length, found, grown = shortest(gaps, growth - gaps * down(c[0], _LITTLE), log_target)
        if length < right:
            right, gap = length, found
            log_bounds = grown + found * down(c[0], _LITTLE) - found * down(c, _LITTLE)
            log_bounds += roundings(64) * (abs(grown) + found * c)
    period = max(left, right)
    q, r = math.exp(-theta * period), math.exp(-gap * period)
    log_masses, log_bounds = log_masses - theta * period, log_bounds - gap * period
    alias = np.exp(np.minimum(log_masses, 600.0)) * period / (1.0 - q) ** 2
    alias += np.exp(np.minimum(log_bounds, 600.0)) / (1.0 - r)
    return 2.0 * math.pi / period, all_orders(alias + q / (1.0 - q) / (math.e * theta))
