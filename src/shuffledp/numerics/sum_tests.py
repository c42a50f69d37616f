"""Tests of a sum of functions of lognormal variables, k of which are weighted by their value.

A test accepts with probability Phi((T - c) / b), T the sum of g(X) over all variables, X known up
to its cell: its power and its size are certified by the frequency engine
(docs/proofs/allocation.md, section 2). Whatever g, c and b: every test is a lower bound.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from shuffledp.numerics.excesses import Parts
from shuffledp.numerics.frequencies import (
    LOG_FLOOR,
    MAX_EXPONENT,
    Measure,
    Product,
    frequency_sums,
    shortest,
)
from shuffledp.numerics.lognormal_cells import LognormalCells, lognormal_edges
from shuffledp.numerics.normal import CELL_ERROR
from shuffledp.numerics.positive_part import Law
from shuffledp.numerics.rounding import Array, all_orders, down, roundings, up
from shuffledp.numerics.search import bisect

_THRESHOLDS, _AROUND, _SMOOTH, _FAR = 60, 3.0, 0.15, 8.0
"""So many thresholds, so far around those expected, and b: in units of the tail's decay."""
_SHARES = (0.05, 0.15, 0.35, 0.7, 1.2)
"""What a variable weighs next to 1, times n/k: one of them suits (the less noise, the less)."""
_ALIAS, _MOST_FREQUENCIES, _STEEPEST = 1e-4, 1 << 17, 10.0
_LEAST_SHARE, _CAP, _LEAST_CAP = 1e-30, 2.0, 0.02
_MASS_ERROR = 4.0 * CELL_ERROR
Tests = tuple[Array, Array]
"""Least powers and largest sizes."""


class _Step:
    """The payoff Phi(x / b): F^ = G^ = 1/s."""

    cut = 7.0

    def centre(self, theta: float, b: float) -> tuple[float, float]:
        return 1.0 / theta, 0.0

    def sums(
        self, theta: float, b: float, omega: Array, re: Array, im: Array
    ) -> tuple[Array, Array]:
        found = ((re * theta + im * omega) / (theta * theta + omega * omega)).sum(axis=-1)
        return found, np.zeros_like(found)

    def size(self, theta: float, b: float, omega: Array) -> Array:
        return np.asarray(1.0 / np.hypot(theta, omega))

    def beyond(self, b: float, first: float) -> float:
        return math.exp(-0.5 * (b * first) ** 2) / (b * first) ** 2


STEP = _Step()


def acceptance(parts: Parts, c: Array, b: float) -> tuple[Array, Array]:
    """Ends of E Phi((S - c) / b) at increasing c, S the sum of so many variables of each part."""
    theta = _saddle(parts, 0.5 * float(c[0] + c[-1]))
    transform = Product(parts, theta)
    log_unit = transform.log_m - theta * c
    slack = transform.log_m_error + roundings(8) * (abs(transform.log_m) + theta * np.abs(c))
    expected = 1.0 / (1.0 + theta * transform.sd)
    step, alias = _window(transform, c, b, _ALIAS * expected)
    if b * step * _MOST_FREQUENCIES < STEP.cut or b * theta > _STEEPEST:
        return np.zeros(c.size), np.ones(c.size)
    low, high, _ = frequency_sums(transform, STEP, step, b, c)
    low = np.maximum(low - alias, 0.0)
    tiny = log_unit + np.log(np.maximum(high, 1e-300)) < LOG_FLOOR
    with np.errstate(under="ignore"):
        scale = np.exp(np.minimum(log_unit, -LOG_FLOOR))
        low = down(low * scale * np.exp(-slack), roundings(32))
        high = up(np.maximum(high, 0.0) * scale * np.exp(slack), roundings(32))
    whole = log_unit > -LOG_FLOOR
    low = np.where(tiny | whole, 0.0, np.minimum(low, 1.0))
    return low, np.where(whole, 1.0, np.minimum(np.maximum(high, 1e-300), 1.0))


def _saddle(parts: Parts, threshold: float) -> float:
    """Roughly the theta that minimises M(theta) e^(-theta c) / theta; any > 0 is valid."""

    def left(log_theta: float) -> bool:
        theta = math.exp(log_theta)
        mean = math.fsum(n * part.tilted_mean(theta) for part, n in parts)
        return theta * (mean - threshold) <= 1.0

    least = 0.1 / sum(n * float(np.abs(part.v).max()) for part, n in parts)
    most = MAX_EXPONENT / max(float(part.v[-1]) for part, _ in parts)
    return math.exp(bisect(left, math.log(least), math.log(most), within=0.02).good)


def _window(transform: Product, c: Array, b: float, target: float) -> tuple[float, Array]:
    """Frequency step 2 pi / P, and for each threshold at least the share of k P, k != 0."""
    theta, log_target = transform.theta, math.log(target)
    log_mass = float(transform.log_growth(np.zeros(1), exact=True)[0])
    log_masses = log_mass + theta * c + roundings(16) * (abs(log_mass) + theta * np.abs(c))
    left = max(float(log_masses.max()) - log_target, 4.0) / theta  # k >= 1: Phi <= 1
    # k <= -1: Phi(x / b) <= e^(lambda x + lambda^2 b^2 / 2), lambda = theta + gap
    gaps = np.geomspace(0.1, 100.0, 24) / max(transform.sd, 1e-3 / theta)
    tops = max(float(factor.measure.v[-1]) for factor in transform.factors)
    gaps = gaps[(theta + gaps) * tops <= 1.1 * MAX_EXPONENT]
    if not gaps.size:
        gaps = np.array([0.1 * MAX_EXPONENT / tops])
    growth = transform.log_growth(theta + gaps) + 0.5 * ((theta + gaps) * b) ** 2
    growth += roundings(32) * np.abs(growth)
    right, gap, grown = shortest(gaps, growth - gaps * float(c[0]), log_target)
    log_bounds = grown + gap * float(c[0]) - gap * c
    log_bounds += roundings(64) * (abs(grown) + gap * np.abs(c) + gap * abs(float(c[0])))
    period = max(left, right)
    q, r = math.exp(-theta * period), math.exp(-gap * period)
    alias = np.exp(np.minimum(log_masses - theta * period, 600.0)) / (1.0 - q)
    alias += np.exp(np.minimum(log_bounds - gap * period, 600.0)) / (1.0 - r)
    return 2.0 * math.pi / period, all_orders(alias)


@lru_cache(maxsize=16)
def _cells(h: float) -> tuple[Array, Array, Array]:
    """Masses of cells of z without and with weight, and their likelihood ratio about."""
    s = math.sqrt(h)
    edges = lognormal_edges(h, s)
    plain, weighted = LognormalCells.of(h, edges), LognormalCells.of(h, edges, s)
    return plain.mass, weighted.mass, plain.mean


@lru_cache(maxsize=256)
def large_ratio_tests(h: float, n: int, k: int, gain: float) -> Tests:
    """Tests for k weighted variables: those about where the likelihood ratio is 1 + gain."""
    _, _, ratio = _cells(h)
    found = []
    for share in _SHARES:
        enough = math.log1p(share * gain)  # of one variable: more of it adds nothing
        score = np.minimum(np.log1p(share * k / n * ratio), _CAP * enough + _LEAST_CAP)
        found.append(_tests(h, n, k, score, math.log1p(gain), enough))
    power, size = np.concatenate(found, axis=1)
    return power, size


@lru_cache(maxsize=256)
def small_ratio_tests(h: float, n: int, k: int, depth: float) -> Tests:
    """Tests for no weighted variables: about where the likelihood ratio is e^-depth."""
    _, _, ratio = _cells(h)
    share = np.maximum(1.0 - k / n + k / n * ratio, _LEAST_SHARE)
    return _tests(h, n, k, -np.log(share), depth, depth, falls=True)


def _tests(
    h: float, n: int, k: int, score: Array, level: float, rise: float, falls: bool = False
) -> Tests:
    """Accepting where the sum of the scores speaks about as clearly as e^level, or has risen by so
    much; ``falls``: for no weighted variables."""
    plain, weighted, _ = _cells(h)
    laws = [_measure(score, mass) for mass in (plain, weighted)]
    none: Parts = [(laws[0], n)]
    some: Parts = [(law, count) for law, count in zip(laws, (n - k, k), strict=True) if count]
    theta = _as_clear(laws[0], laws[1], level / k, -1.0 if falls else 1.0)
    tilted = [sum(m * law.tilted_mean(theta) for law, m in parts) for parts in (none, some)]
    alone = n * float(plain @ score) + rise
    places = [[*tilted, alone]]
    if alone - max(tilted) > _FAR / _saddle(some if falls else none, max(tilted)):
        places = [tilted, [alone]]
    tested, other = (none, some) if falls else (some, none)
    found = []
    for near in places:
        decay = 1.0 / _saddle(other, max(near))
        c = np.linspace(min(near) - _AROUND * decay, max(near) + _AROUND * decay, _THRESHOLDS)
        b = _SMOOTH * decay
        found.append((acceptance(tested, c, b)[0], acceptance(other, c, b)[1]))
    power, size = np.concatenate(found, axis=1)
    return power, size


def _as_clear(plain: Measure, weighted: Measure, level: float, way: float) -> float:
    """Roughly the theta at which a tilted variable's likelihood ratio is e^(way level)."""

    def short(log_theta: float) -> bool:
        theta = math.exp(log_theta)
        return way * (weighted.log_mgf(theta)[0] - plain.log_mgf(theta)[0]) <= level

    size = float(np.abs(plain.v).max())
    bounds = math.log(1e-6 / size), math.log(0.5 * MAX_EXPONENT / size)
    return math.exp(bisect(short, *bounds, within=0.02).good)


def _measure(values: Array, weights: Array) -> Measure:
    law = Law(values, weights, _MASS_ERROR)
    return Measure(law.values, law.weights, 0.0, law.weight_error)
