"""Where others' values can lie, whose noise differs from the victim's: few ranges cover them all.

Numbers in an interval, lengths in units of the victim's noise: the victim's values are c + d and
c - d, another's is c - m, with noise of deviation k. A pair closer than the interval is long, and
all others beside it, is what is left of a pair in the plane when only one direction is looked at
(docs/proofs/swap_gaussian.md, section 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shuffledp.numerics.common_parts import Range, log_density
from shuffledp.numerics.rounding import FORMULA, Array, down, up

_TURNED = 0.45
_LONGEST = 0.35
"""Cells of pairs: no turn beyond asin(0.76), so that noise of 0.8 and more is left some across."""
"""Sine of the largest angle by which the closest pairs are turned."""
_CLOSE = 0.3
"""Pairs closer than this share of the interval are covered at once."""
_MOST_RANGES, _FINEST, _WIDEST = 60, 1e-3, 0.5
_LESS = 0.1
"""Most of what is spared."""
_MOST_ROWS = 150, 50
"""And for each class: where more would be needed, all are wider."""
Deviations = tuple[float, float]
"""From the least to the largest of a class."""


@dataclass(frozen=True)
class Pairs:
    """The victim's values at half a distance of near to far: in the plane at (near, across)."""

    near: float
    far: float
    spare: float = 0.0
    """Share by which its ranges separate less than the worst value, about."""

    @property
    def cosine(self) -> float:
        """Of the largest angle needed."""
        return self.near / self.far if self.near > 0.0 else math.sqrt(1.0 - _TURNED**2)

    @property
    def across(self) -> float:
        if self.near > 0.0:
            return up(math.sqrt(self.far**2 - self.near**2), FORMULA)
        return up(self.far / _TURNED, FORMULA)

    def reach(self, diameter: float) -> float:
        """Others are at most so far from the middle."""
        return up((diameter - self.near) / self.cosine, FORMULA)

    def deviations(self, given: Deviations) -> Deviations:
        """Of others' first coordinate, such that in the direction looked at they are as given."""
        turn = self.cosine**-2.0 - 1.0
        low, high = (k * k + (k * k - 1.0) * turn for k in given)
        least, most = min(given[0] ** 2, low), max(given[1] ** 2, high)
        return down(math.sqrt(least), FORMULA), up(math.sqrt(most), FORMULA)


@dataclass(frozen=True)
class Cover:
    """Cells of pairs, and for each of them the ranges of every class."""

    cells: tuple[tuple[Pairs, tuple[tuple[Range, ...], ...]], ...]
    separations: tuple[float, ...]
    """About what each class separates, at worst."""


def separation(pairs: Pairs, places: Array, width: float, deviations: Deviations) -> Array:
    """About E (a - b)^2 / u^2 under what ranges of this width have in common."""
    y = np.linspace(-7.0 - pairs.near, 7.0 + pairs.near, 113)
    sides = (-0.5, 0.5) if width else (0.0,)
    corners = [
        log_density(y, -(places + side * width)[:, None], k) for side in sides for k in deviations
    ]
    below = np.minimum.reduce(corners)
    a, b = log_density(y, pairs.near, 1.0), log_density(y, -pairs.near, 1.0)
    square = pairs.across**2
    alone, both = (
        np.exp(np.minimum(x - below, 600.0)).sum(axis=1)
        for x in (np.logaddexp(2 * a, 2 * b), a + b)
    )
    found: Array = (math.exp(square) * alone - 2.0 * math.exp(-square) * both) * (y[1] - y[0])
    return found


def _ranges(
    pairs: Pairs, diameter: float, given: Deviations, limit: float, forced: bool
) -> tuple[Range, ...] | None:
    """Of others' values, as wide as a limit of their separation allows; None if too many."""
    most, deviations = pairs.reach(diameter), pairs.deviations(given)
    at, width = np.linspace(-most, most, 41), 0.02 * diameter
    plain, wide = (separation(pairs, at, x, deviations) for x in (0.0, width))
    room = (limit - plain) * width / np.maximum(wide - plain, 1e-9 * plain)
    least = 2.0 * most / _MOST_RANGES if forced else _FINEST * diameter
    found: list[Range] = []
    low = -most
    while low < most:
        size = float(np.interp(low, at, room))
        size = min(size, float(np.interp(min(low + max(size, 0.0), most), at, room)))
        if not forced and (size < least or len(found) > _MOST_RANGES):
            return None
        high = min(low + min(max(size, least), _WIDEST), most)
        found.append(Range((low, high), deviations))
        low = high
    return tuple(found)


@lru_cache(maxsize=64)
def cover(diameter: float, classes: tuple[Deviations, ...], tolerance: float) -> Cover:
    """Ranges that separate more than the worst value by a share of ``tolerance``, if possible."""
    while True:
        found = _cover(diameter, classes, tolerance)
        rows = sum(len(ranges) for _, each in found.cells for ranges in each)
        if rows <= _MOST_ROWS[0] + _MOST_ROWS[1] * len(classes) or tolerance > 0.2:
            return found
        tolerance *= 1.5


def _cover(diameter: float, classes: tuple[Deviations, ...], tolerance: float) -> Cover:
    half = 0.5 * diameter
    ends = np.array([-half, 0.0, half])
    most = tuple(float(separation(Pairs(half, half), ends, 0.0, k).max()) for k in classes)
    found, far, share = [], up(half, FORMULA), 0.5 * tolerance
    while far > 0.0:
        last = far < _CLOSE * half
        spare = min(max(0.5 - 0.5 * (far / half) ** 2, 0.0), _LESS)
        while True:
            pairs = Pairs(0.0 if last else far * (1.0 - share), far, spare)
            forced = last or share < 0.02 * tolerance
            rows = tuple(
                _ranges(pairs, diameter, k, p * (1.0 + tolerance) * (1.0 - spare), forced)
                for k, p in zip(classes, most, strict=True)
            )
            known = tuple(row for row in rows if row is not None)
            if len(known) == len(rows):
                break
            share *= 0.6
        found.append((pairs, known))
        far, share = pairs.near, min(2.0 * share, _LONGEST)
    return Cover(tuple(found), most)
