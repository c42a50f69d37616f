"""Where a third value can lie beside the victim's two: triples of points, dominated by few of them.

Symbols: the victim's values are c + d and c - d (d a vector of length ``half``), another user's is
c - m; lengths in units of the noise. Only the Gram matrix [[m.m, m.d], [m.d, d.d]] matters, and
normal noise around a triple tells no more than around one whose matrix is larger, in the order of
positive semidefinite matrices (docs/proofs/swap_gaussian.md, section 3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from shuffledp.numerics.rounding import FORMULA, up

DOMAINS = ("set", "ball", "line")
"""Values at most so far apart; in a ball of that diameter; numbers in such an interval."""
_HALVINGS = 20
_MOST_ROWS = 26
"""Of a class; where more would be needed, a class covers fewer distances."""
_MOST_CLASSES = 60
_SHRUNK = 0.6
_LESS = 0.1
"""Share of the separation that pairs closer together stay below, as far as they are."""
_TAIL = 1.05, 0.05
"""Variance that log-likelihood ratios may have: times diameter^2, and more."""


@dataclass(frozen=True)
class Triple:
    """m = (along, across) and d = (half, 0), in the plane of the triple."""

    along: float
    across: float
    half: float


@dataclass(frozen=True)
class TripleClass:
    """All triples with the victim's values at certain distances: each is below a row of them."""

    triples: tuple[Triple, ...]
    half: float
    """At least |d|."""
    third: float
    """At least |m|."""
    spare: float
    """Share by which its rows separate less than the worst triple, about."""


def separation(squared_m: float, product: float, squared_d: float) -> float:
    """E (a - b)^2 / r^2 under r: what a triple leaks in the limit of many users."""
    inner = math.expm1(squared_d + 2.0 * product) + math.expm1(squared_d - 2.0 * product)
    return math.exp(squared_m) * (inner - 2.0 * math.expm1(-squared_d))


def worst_separation(domain: str, diameter: float, half: float | None = None) -> float:
    """About the largest where the pair is so far apart, a diameter unless given.

    The third value is as far from the first as it can be, in a set from the second, too.
    """
    h, q = diameter**2, (2.0 * half) ** 2 if half is not None else diameter**2
    if domain == "set":
        return -2.0 * math.exp(h) * math.expm1(-0.5 * q)
    if domain == "ball":
        return -math.exp(h) * math.expm1(-q)
    near = diameter - math.sqrt(q)
    return math.exp(h) + math.exp(near**2) - 2.0 * math.exp(diameter * near)


def farthest(domain: str, diameter: float, along: float, half: float) -> float:
    """Largest |m|^2 where m reaches at least ``along`` in the direction of d, and |d| >= half."""
    if domain == "ball" and along < half:
        radius = 0.25 * diameter**2
        chord = max(radius - half**2, 0.0) * max(radius - along**2, 0.0)
        return 2.0 * radius - half**2 + 2.0 * math.sqrt(chord)
    return diameter**2 - half**2 - 2.0 * along * half


@lru_cache(maxsize=64)
def triple_classes(
    domain: str, diameter: float, tolerance: float, most_rows: float = math.inf
) -> tuple[TripleClass, ...]:
    """Every triple of the domain is in one of these, the pairs farthest apart in the first.

    No row separates more than the worst triple, up to ``tolerance``, if rows can be that fine.
    Nothing if there would be more than ``most_rows`` of them.
    """
    most = worst_separation(domain, diameter)
    found: list[TripleClass] = []
    far, share = 0.5 * diameter, 0.5 * tolerance
    while far > 0.0:
        crowded = len(found) >= _MOST_CLASSES
        spare = min(0.5 - 0.5 * worst_separation(domain, diameter, far) / most, _LESS)
        limit = most * (1.0 + tolerance) * (1.0 - spare)
        rows: list[Triple] | None = None
        while rows is None:
            near = 0.0 if crowded else far * (1.0 - share)
            rows = _rows(domain, diameter, near, far, limit, crowded or share < 1e-3 * tolerance)
            share = share if rows is not None else _SHRUNK * share
        third = diameter - near
        if domain != "line":
            third = math.sqrt(max(farthest(domain, diameter, 0.0, near), 0.0))
        found.append(TripleClass(tuple(rows), up(far, FORMULA), up(third, FORMULA), spare))
        if sum(len(each.triples) for each in found) > most_rows:
            return ()
        far, share = near, min(2.0 * share, 1.0)
        if far < 1e-3 * diameter:
            share = 1.0
    return tuple(found)


def _rows(
    domain: str, diameter: float, near: float, far: float, limit: float, forced: bool
) -> list[Triple] | None:
    """Triples above all whose pair is at a half distance from near to far; None if too many."""
    end, low, step = diameter - near, 0.0, 0.1 * diameter
    rows: list[Triple] = []
    heaviest = _TAIL[0] * diameter**2 + _TAIL[1]

    def grams(low: float, high: float) -> Iterator[tuple[float, float, float]]:
        if domain == "set" or (domain == "ball" and low >= far):
            yield _above_far(diameter, (low * near, high * far), (near, far))
        yield _above(domain, diameter, (low, high), (near, far))

    def light(gram: tuple[float, float, float]) -> bool:
        return gram[0] + gram[2] + 2.0 * gram[1] <= heaviest

    def fits(low: float, high: float) -> bool:
        return any(light(gram) and separation(*gram) <= limit for gram in grams(low, high))

    while low < end:
        high = min(low + 2.0 * step, end)
        if not fits(low, high):
            good, bad = low, high
            for _ in range(_HALVINGS):
                middle = 0.5 * (good + bad)
                if fits(low, middle):
                    good = middle
                else:
                    bad = middle
                if bad - good < 0.1 * (good - low):
                    break
            least = 1e-4 * diameter if not forced else 0.05 * diameter
            high = good if good > low + least else min(low + least, end)
            if good <= low + least and not forced:
                return None
        step = high - low
        found = grams(low, high)
        best = min(found, key=lambda gram: (not light(gram), separation(*gram)))
        squared_m, product, squared_d = best
        half = math.sqrt(squared_d)
        along = product / half
        across = math.sqrt(max(squared_m - along * along, 0.0))
        rows += [Triple(sign * along, across, half) for sign in (1.0, -1.0)]
        if len(rows) > _MOST_ROWS and not forced:
            return None
        low = high
    return rows


def _above(
    domain: str, diameter: float, along: tuple[float, float], half: tuple[float, float]
) -> tuple[float, float, float]:
    """(m.m, m.d, d.d) above those of all triples with these ranges of m.d / |d| and |d|."""
    squared_d = half[1] ** 2
    squared_m = along[1] ** 2
    if domain != "line":
        squared_m = farthest(domain, diameter, along[0], half[0])
    least, most = along[0] * half[0], along[1] * half[1]
    middle, off = 0.5 * (least + most), 0.5 * (most - least) + FORMULA * diameter**2
    ratio, slopes, bend = 1.0, 2.0 * math.cosh(2.0 * middle), 2.0 * math.sinh(middle) ** 2
    for _ in range(4):  # off^2 is the product of what both squares are raised by: which is best
        rise = bend - math.expm1(-2.0 * (squared_d + off / ratio))
        # the root of the ratio of the slopes of log separation
        ratio = math.sqrt((slopes - rise) / rise)
    ratio = min(ratio, 0.5 * ((_TAIL[0] - 1.0) * diameter**2 + _TAIL[1]) / off)
    return (
        up(max(squared_m, 0.0), FORMULA) + up(ratio * off, FORMULA),
        middle,
        up(squared_d, FORMULA) + up(off / ratio, FORMULA),
    )


def _above_far(
    diameter: float, product: tuple[float, float], half: tuple[float, float]
) -> tuple[float, float, float]:
    """As ``_above``, where the third value is a diameter from the first: p = |m + d|^2 is known.

    s = |m - d|^2 and q = (m + d).(m - d) have ranges; p and s are raised so that any q will do.
    """
    h = diameter**2
    s = max(h - 4.0 * product[0], 0.0)
    least, most = (
        h - 2.0 * half[1] ** 2 - 2.0 * product[1],
        h - 2.0 * half[0] ** 2 - 2.0 * product[0],
    )
    q, off = 0.5 * (least + most), 0.5 * (most - least) + FORMULA * h
    ratio = math.exp(0.5 * (h - s))
    p, s = up(h, FORMULA) + up(off / ratio, FORMULA), up(s, FORMULA) + up(off * ratio, FORMULA)
    return 0.25 * (p + s) + 0.5 * q, 0.25 * (p - s), 0.25 * (p + s) - 0.5 * q
