"""Tests of a sum of lognormal variables, k of which are weighted by their value or none.

A test accepts with probability 0 below a threshold, 1 above another one and linearly between, so
its power is a difference of two E(S - c)+ (docs/proofs/allocation.md, section 5): certified lower
bounds of the power, upper bounds of the size. Large values are cut, which makes another test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from shuffledp.numerics.excesses import Parts, by_frequencies
from shuffledp.numerics.frequencies import Measure
from shuffledp.numerics.lognormal_cells import LognormalCells, lognormal_edges
from shuffledp.numerics.rounding import Array, down, roundings, up

_GROUP, _MOST_GROUPS = 16, 60
_STEP, _GROWTH, _CELL = 0.25, 0.06, 0.02
"""Thresholds are apart by such shares of the deviation and of themselves; so wide are cells."""
_RAMPS = (1, 2, 3)
_BEYOND, _DEVIATIONS = 1.3, 14.0
"""Values are cut at so many times the threshold and so many deviations more."""
_WIDTH, _LEAST = 1e-3, 1e-15
Tests = tuple[Array, Array]
"""Least powers and largest sizes."""
Ends = tuple[Parts, Parts]
"""Laws below and above those of a sum."""


@lru_cache(maxsize=32)
def sum_tests(h: float, n: int, k: int) -> tuple[Tests, Tests]:
    """Tests for k weighted variables where the sum is large; for none where it is small."""
    s = math.sqrt(h)
    edges = lognormal_edges(h, s, _CELL)
    plain, weighted = LognormalCells.of(h, edges), LognormalCells.of(h, edges, s)
    deviation = math.sqrt(n * float(plain.mass @ np.minimum(plain.mean - 1.0, 1.0) ** 2))

    def large(most: float) -> tuple[Ends, Ends]:
        limit = 1.0 + _BEYOND * most + _DEVIATIONS * deviation
        top = float(plain.x[min(int(np.searchsorted(plain.x, limit)), plain.x.size - 1)])
        none, some = plain.gains(top), weighted.gains(top)
        return _sums(n, k, none, some), _sums(n, 0, none, some)

    def small(_most: float) -> tuple[Ends, Ends]:
        none, some = plain.falls(), weighted.falls()
        return _sums(n, 0, none, some), _sums(n, k, none, some)

    return _tests(deviation, math.inf, large), _tests(deviation, float(n), small)


def _sums(n: int, k: int, none: tuple[Measure, Measure], some: tuple[Measure, Measure]) -> Ends:
    """k variables of one law, all others of the other."""
    both = [
        [(law, count) for law, count in ((none[end], n - k), (some[end], k)) if count]
        for end in (0, 1)
    ]
    return both[0], both[1]


def _tests(deviation: float, end: float, laws: Callable[[float], tuple[Ends, Ends]]) -> Tests:
    """All ramps between thresholds of a group."""
    powers, sizes, first = [np.zeros(1)], [np.zeros(1)], 0.0
    for _ in range(_MOST_GROUPS):
        c = [first]
        for _ in range(_GROUP):
            c.append(c[-1] + max(_STEP * deviation, _GROWTH * c[-1]))
        thresholds = np.array([x for x in c if x < end])
        if thresholds.size < 2:
            break
        tested, other = laws(c[-1])
        least, most = (_excess(parts, thresholds) for parts in tested)
        smallest, largest = (_excess(parts, thresholds) for parts in other)
        for ramp in _RAMPS:
            width = thresholds[ramp:] - thresholds[:-ramp]
            powers.append((least[0][:-ramp] - most[1][ramp:]) / width)
            sizes.append((largest[1][:-ramp] - smallest[0][ramp:]) / width)
        first = c[-1]
        if float(powers[-len(_RAMPS)].max(initial=0.0)) < _LEAST:
            break
    power, size = np.concatenate(powers), np.concatenate(sizes)
    return np.clip(down(power, roundings(8)), 0.0, 1.0), np.maximum(up(size, roundings(8)), 0.0)


def _excess(parts: Parts, thresholds: Array) -> tuple[Array, Array]:
    return by_frequencies(parts, thresholds, _WIDTH, np.zeros(thresholds.size))
