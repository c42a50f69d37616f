"""What the swap bound needs to know of a randomizer (docs/proofs/swap.md).

The victim's report has law a or b, another user's r. rho is a law of our choice, covered by every
r; the victim's place is taken by a report of law rho.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.numerics.rounding import Array, roundings


@dataclass(frozen=True, eq=False)
class OtherLaw:
    """Atoms of another user's report: their masses, and w a / r, w b / r, w rho / r there.

    The weight w of a user says how readily the victim's report changes places with this one.
    """

    mass: Array
    first: Array
    second: Array
    swap: Array
    weight: float = 1.0

    @classmethod
    def of(
        cls,
        first: ArrayLike,
        second: ArrayLike,
        base: ArrayLike,
        swap: ArrayLike,
        weight: float = 1.0,
    ) -> OtherLaw:
        """From the masses of atoms under a, b, r and rho."""
        a, b, r, rho = (np.asarray(x, dtype=np.float64) for x in (first, second, base, swap))
        seen = r > 0.0
        a, b, r, rho = a[seen], b[seen], r[seen], rho[seen]
        return cls(r, weight * a / r, weight * b / r, weight * rho / r, weight)


def padded(rows: Sequence[Array]) -> Array:
    """One row each, with zeros at the end."""
    found = np.zeros((len(rows), max(map(len, rows))))
    for i, row in enumerate(rows):
        found[i, : len(row)] = row
    return found


@dataclass(frozen=True, eq=False)
class Arrival:
    """Reports that may take the victim's place, of one kind: rho, w a / rho, w b / rho.

    ``partners``: numbers of laws, and the range of w rho / r at these reports under each. The place
    is one of class ``slot``, and has ``weight`` w.
    """

    mass: Array
    first: Array
    second: Array
    partners: tuple[tuple[int, float, float], ...]
    slot: int = 0
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Swap:
    """One pair of the victim's values: laws others may have, and what may arrive in its place.

    ``classes`` says of which class of users each law is, class after class; none: all are alike.
    Each of ``arrivals`` is one possible law rho, as kinds of reports; the worst counts.
    ``precision`` bounds the relative error of every mass and ratio.
    """

    laws: tuple[OtherLaw, ...]
    arrivals: tuple[tuple[Arrival, ...], ...]
    symmetric: bool = False
    precision: float = roundings(64.0)
    classes: tuple[int, ...] = ()

    @cached_property
    def table(self) -> OtherLaw:
        """All laws, a row each; missing atoms are 0."""
        return OtherLaw(
            padded([x.mass for x in self.laws]),
            padded([x.first for x in self.laws]),
            padded([x.second for x in self.laws]),
            padded([x.swap for x in self.laws]),
        )

    def of_class(self, number: int) -> tuple[OtherLaw, ...]:
        """The laws of one class."""
        if not self.classes:
            return self.laws
        return tuple(x for x, k in zip(self.laws, self.classes, strict=True) if k == number)

    def reversed(self) -> Swap:
        """The victim's two values exchanged."""
        return replace(
            self,
            laws=tuple(replace(x, first=x.second, second=x.first) for x in self.laws),
            arrivals=tuple(
                tuple(replace(kind, first=kind.second, second=kind.first) for kind in kinds)
                for kinds in self.arrivals
            ),
        )

    def thinned(self, rate: float) -> Swap:
        """Each user reports only with this probability: silence is alike under all laws."""
        if rate == 1.0:
            return self
        one = np.ones(1)
        laws = tuple(
            OtherLaw(
                np.append(rate * x.mass, 1.0 - rate),
                np.append(x.first, 1.0),
                np.append(x.second, 1.0),
                np.append(x.swap, 1.0),
            )
            for x in self.laws
        )
        everybody = tuple((i, 1.0, 1.0) for i in range(len(laws)))
        silence = Arrival((1.0 - rate) * one, one, one, everybody)
        arrivals = tuple(
            (*(replace(kind, mass=rate * kind.mass) for kind in kinds), silence)
            for kinds in self.arrivals
        )
        return replace(
            self, laws=laws, arrivals=arrivals, precision=self.precision + roundings(4.0)
        )

    def drawn(self, rate: float) -> Swap:
        """A fixed share of the users report: places of class 0 hold a report,
        of class 1 nothing."""
        one, empty = np.ones(1), len(self.laws)

        def filled(kind: Arrival) -> Arrival:
            least = min(low for _, low, _ in kind.partners)
            most = max(high for _, _, high in kind.partners)
            partners = (*kind.partners, (empty, least, most))
            return replace(kind, mass=rate * kind.mass, partners=partners)

        nothing = Arrival(
            (1.0 - rate) * one, one, one, tuple((i, 1.0, 1.0) for i in range(empty + 1)), slot=1
        )
        return replace(
            self,
            laws=(*self.laws, OtherLaw(one, one, one, one)),
            classes=(*(0 for _ in self.laws), 1),
            arrivals=tuple((*map(filled, kinds), nothing) for kinds in self.arrivals),
            precision=self.precision + roundings(4.0),
        )

    @cached_property
    def merged(self) -> Swap:
        """All kinds of arrivals at places of one class as one: coarser, and cheaper."""
        return replace(self, arrivals=tuple(map(_merged, self.arrivals)))


def _merged(kinds: tuple[Arrival, ...]) -> tuple[Arrival, ...]:
    slots = sorted({kind.slot for kind in kinds})
    return tuple(_together([kind for kind in kinds if kind.slot == slot]) for slot in slots)


def _together(kinds: Sequence[Arrival]) -> Arrival:
    ranges: dict[int, tuple[float, float]] = {}
    for kind in kinds:
        for law, low, high in kind.partners:
            least, most = ranges.get(law, (low, high))
            ranges[law] = (min(least, low), max(most, high))
    mass, first, second = (
        np.concatenate([getattr(kind, name) for kind in kinds])
        for name in ("mass", "first", "second")
    )
    partners = tuple((law, *ends) for law, ends in ranges.items())
    return Arrival(mass, first, second, partners, kinds[0].slot, kinds[0].weight)


def one_of_several(pairs: Sequence[Swap]) -> list[Swap]:
    """A report names one of several parts of a value, drawn alike for all users, and tells of it.

    ``pairs``: those of one part, their laws closed under exchanging the two. In some parts the
    victim's two values may agree, and a user's laws in two parts have nothing to do with each other
    (docs/proofs/swap.md, section 12). None where laws differ in the range of rho / r.
    """
    laws = [law for pair in pairs for law in pair.laws]
    ranges = np.array([[law.swap.min(), law.swap.max()] for law in laws])
    if not (laws and all(x.symmetric for x in pairs) and np.ptp(ranges, axis=0).max() < 1e-12):
        return []
    laws += [replace(law, second=law.first) for law in laws]
    arrivals = [
        tuple(replace(kind, partners=_anybody(kind, len(laws))) for kind in kinds)
        for pair in pairs
        for kinds in pair.arrivals
    ]
    arrivals += [tuple(replace(kind, second=kind.first) for kind in kinds) for kinds in arrivals]
    return [replace(pairs[0], laws=tuple(laws), arrivals=tuple(arrivals))]


def _anybody(kind: Arrival, laws: int) -> tuple[tuple[int, float, float], ...]:
    """Any law may meet whatever rho / r is possible at these reports."""
    ends = sorted({(low, high) for _, low, high in kind.partners})
    return tuple((law, low, high) for law in range(laws) for low, high in ends)


Table = Mapping[tuple[int, ...], float]
"""(likely under x, x', x'') -> measure of such outcomes."""


def two_levels(eps0: float, unit: float, thirds: Sequence[Table], others_too: bool) -> Swap:
    """Laws of two likelihoods, ``unit`` and e^eps0 times it; rho is the common measure.

    ``thirds``: for every law another user may have besides those of x and x', the measure of each
    kind of outcome; the first also gives the kinds of x and x' alone.
    """
    pairs = _pairs(thirds[0])
    tables = [(pairs, 0), (pairs, 1)] + [(table, 2) for table in thirds if others_too]
    laws = tuple(_level_law(eps0, unit, table, place) for table, place in tables)
    levels = _levels(eps0, unit, pairs)

    def possible(pair: tuple[int, ...], table: Table, place: int, likely: int) -> bool:
        return table.get((*pair, likely), 0.0) > 0.0 if place == 2 else pair[place] == likely

    partners = {
        pair: [
            (i, levels[likely])
            for i, (table, place) in enumerate(tables)
            for likely in (0, 1)
            if possible(pair, table, place, likely)
        ]
        for pair in pairs
    }
    return Swap(laws, (_level_arrivals(pairs, levels, partners),), symmetric=True)


def _pairs(table: Table) -> dict[tuple[int, ...], float]:
    pairs: dict[tuple[int, ...], float] = {}
    for kind, size in table.items():
        pairs[kind[:2]] = pairs.get(kind[:2], 0.0) + size
    return pairs


def _levels(eps0: float, unit: float, pairs: Table) -> tuple[float, float]:
    """rho / r where an outcome is unlikely and where it is likely."""
    whole = math.fsum(pairs.values()) * unit
    return 1.0 / whole, math.exp(-eps0) / whole


def _level_law(eps0: float, unit: float, table: Table, place: int) -> OtherLaw:
    kept = [(kind, size) for kind, size in table.items() if size > 0.0]
    big, whole = math.exp(eps0), math.fsum(size for _, size in kept)
    first, second, base = (
        [size * unit * (big if kind[i] else 1.0) for kind, size in kept] for i in (0, 1, place)
    )
    return OtherLaw.of(first, second, base, [size / whole for _, size in kept])


def _level_arrivals(
    pairs: Table,
    levels: tuple[float, float],
    partners: Mapping[tuple[int, ...], list[tuple[int, float]]],
) -> tuple[Arrival, ...]:
    whole = math.fsum(pairs.values())
    return tuple(
        Arrival(
            np.array([size / whole]),
            np.array([1.0 / levels[pair[0]]]),
            np.array([1.0 / levels[pair[1]]]),
            tuple((i, g, g) for i, g in partners[pair]),
        )
        for pair, size in pairs.items()
        if size > 0.0
    )


_OVERLAPS = (0.0, 0.02, 0.1, 0.3, 0.7, 1.0)
"""Of the windows of the victim's two values, as shares: a pair of ends for each cell."""


@lru_cache(maxsize=64)
def windows(
    eps0: float, gap: float, window: float, overlaps: tuple[float, ...] = _OVERLAPS
) -> tuple[Swap, ...]:
    """Outcomes on a line of length gap + 2 window; a value's window, of that length, is likelier.

    What the windows of the victim's two values share lies in one of few cells, and another user's
    window may cover of each part as much as fits: whatever it covers is a mixture of the corners.
    """
    length, size = Fraction(gap) + 2 * Fraction(window), Fraction(window)
    unit = 1.0 / (float(length) + math.expm1(eps0) * window)
    found = []
    for low, high in itertools.pairwise(overlaps):
        corners = _window_corners(length, size, Fraction(low) * size, Fraction(high) * size)
        laws = tuple(_level_law(eps0, unit, corner, 2) for corner in corners)
        ends: list[dict[tuple[int, ...], float]] = []
        for overlap in (low * window, high * window):
            apart = window - overlap if overlap < window else 0.0
            ends.append({(1, 1): overlap, (1, 0): apart, (0, 1): apart, (0, 0): gap + overlap})
        levels = _levels(eps0, unit, ends[0])
        everybody = [(i, g) for i in range(len(laws)) for g in levels]
        arrivals = tuple(
            _level_arrivals(pairs, levels, dict.fromkeys(pairs, everybody)) for pairs in ends
        )
        found.append(Swap(laws, arrivals, symmetric=True))
    return tuple(found)


def _window_corners(*lengths: Fraction) -> list[dict[tuple[int, ...], float]]:
    """Corners of all (overlap in [low, high], parts of another window), as measures of kinds.

    Given are the whole length, that of a window, low and high. Unknowns: the overlap o, and what
    the other window covers of both, the first alone, the second alone and neither; each between 0
    and the size of that part, together the size of a window.
    """
    unit = 2 * math.lcm(*(x.denominator for x in lengths))  # every corner is a multiple of 1 / unit
    length, size, low, high = (int(x * unit) for x in lengths)
    # size of a part = constant + factor * o
    parts = [(0, 1), (size, -1), (size, -1), (length - 2 * size, 1)]
    kinds = [(1, 1), (1, 0), (0, 1), (0, 0)]
    corners: set[tuple[int, ...]] = set()
    # at a corner all but one of the four parts are covered wholly or not at all, or o is free too
    for overlap in (low, high):
        sizes = [constant + factor * overlap for constant, factor in parts]
        for free in range(4):
            for full in itertools.product((0, 1), repeat=3):
                covered = [*full[:free], 0, *full[free:]]
                values = [s * c for s, c in zip(sizes, covered, strict=True)]
                values[free] = size - sum(values)
                if 0 <= values[free] <= sizes[free]:
                    corners.add((overlap, *values))
    for full in itertools.product((0, 1), repeat=4):  # o strictly inside, fixed by the sum
        constant = sum(p[0] for p, c in zip(parts, full, strict=True) if c)
        factor = sum(p[1] for p, c in zip(parts, full, strict=True) if c)
        if factor and low < (overlap := (size - constant) // factor) < high:
            sizes = [c0 + c1 * overlap for c0, c1 in parts]
            corners.add((overlap, *(s * c for s, c in zip(sizes, full, strict=True))))
    tables = []
    for overlap, *portions in sorted(corners):
        table: dict[tuple[int, ...], float] = {}
        for kind, (constant, factor), part in zip(kinds, parts, portions, strict=True):
            table[(*kind, 1)] = part / unit
            table[(*kind, 0)] = (constant + factor * overlap - part) / unit
        tables.append(table)
    return tables


def any_randomizer(eps0: float) -> Swap:
    """Every eps0-LDP randomizer common to all users, by the staircase lemma; rho = (a + b) / 2.

    The laws are the extreme ones on the seven pairs of ratios that are left, with means (1, 1).
    """
    big, small = math.exp(eps0), math.exp(-eps0)
    likely, even = 1.0 / (1.0 + small), small / (1.0 + small)  # E / (E + 1), 1 / (E + 1)
    most, rest = 1.0 / (1.0 + 2.0 * small), small / (1.0 + 2.0 * small)  # E, 1 over E + 2
    half, single = 1.0 / (2.0 + small), small / (2.0 + small)  # E, 1 over 2 E + 1
    tables: list[list[tuple[float, float, float]]] = [
        [(1.0, 1.0, 1.0)],
        [(even, big, 1.0), (likely, small, 1.0)],
        [(even, 1.0, big), (likely, 1.0, small)],
        [(even, big, big), (likely, small, small)],
        [(rest, big, 1.0), (rest, 1.0, big), (most, small, small)],
        [(half, small, 1.0), (half, 1.0, small), (single, big, big)],
    ]
    laws = []
    for table in tables:
        mass, first, second = np.array(table).T
        laws.append(OtherLaw(mass, first, second, 0.5 * (first + second)))

    def arrival(first: list[float], second: list[float], swaps: Iterable[float]) -> Arrival:
        mass = np.full(len(first), 1.0 / len(first))
        partners = tuple((i, g, g) for i in range(len(laws)) for g in swaps)
        return Arrival(mass, np.array(first), np.array(second), partners)

    up, down = 2.0 * likely, 2.0 * even
    apart = arrival([up, down], [down, up], (0.5 * (big + 1.0), 0.5 * (1.0 + small)))
    alike = [arrival([1.0], [1.0], swaps) for swaps in ((big, 1.0), (1.0, small))]
    return Swap(tuple(laws), ((apart,), *((kind,) for kind in alike)), symmetric=True)


def channel_swap(rows: Array, x: int, y: int) -> Swap:
    """Two inputs of a channel of positive entries;
    rho is proportional to the smallest of a column."""
    return class_swap([rows], 0, x, y)


def class_swap(channels: Sequence[Array], own: int, x: int, y: int) -> Swap:
    """As ``channel_swap``, a channel for each class of users, the victim's being number ``own``.

    A class counts the more, the less its most telling value tells of the victim.
    """
    least = np.min([rows.min(axis=0) for rows in channels], axis=0)
    rho = least / math.fsum(least)
    first, second = channels[own][x], channels[own][y]
    telling = [max(float(((first - second) ** 2 / r).sum(axis=1).max()), 1e-300) for r in channels]
    weights = [telling[own] / each for each in telling]
    laws = [
        OtherLaw.of(first, second, row, rho, weight)
        for rows, weight in zip(channels, weights, strict=True)
        for row in rows
    ]
    arrivals = tuple(
        Arrival(
            rho[[i]],
            first[[i]] / rho[[i]],
            second[[i]] / rho[[i]],
            tuple((j, float(law.swap[i]), float(law.swap[i])) for j, law in enumerate(laws)),
            slot=own,
        )
        for i in range(rho.size)
    )
    classes = tuple(k for k, rows in enumerate(channels) for _ in rows)
    return Swap(tuple(laws), (arrivals,), precision=1e-12, classes=classes)


def response_swap(k: int, budgets: Sequence[float], own: int) -> Swap:
    """k-ary randomized response, each class with a budget of its own, the victim's number ``own``.

    Outcomes: the victim's two values, a third one and the rest; another user holds one of the
    first three, and what arrives may be another user's own third value, or not.
    """
    sizes = np.array([1.0, 1.0, 1.0, k - 3.0] if k > 2 else [1.0, 1.0])
    sizes = sizes[sizes > 0.0]
    values = min(k, 3)
    rows = []
    for eps0 in budgets:
        big = np.ones((values, sizes.size))
        big[range(values), range(values)] = math.exp(eps0)
        rows.append(big * sizes / (math.exp(eps0) + (k - 1.0)))
    found = class_swap(rows, own, 0, 1)
    arrivals = found.arrivals[0]
    if k > 3:  # a third value, the same as another user's or not
        alike = tuple(sorted({*arrivals[2].partners, *arrivals[3].partners}))
        arrivals = (*arrivals[:2], *(replace(kind, partners=alike) for kind in arrivals[2:]))
    return replace(found, arrivals=(arrivals,), symmetric=True)
