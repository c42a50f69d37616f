"""Every eps0-LDP randomizer by what its laws have in common (docs/proofs/swap.md, section 13).

By the staircase lemma every law is a common measure c times 1 or E = exp(eps0): an outcome is
likely or not under the victim's two values and another user's. rho is c normalised. Under it each
of the three bits is 1 with one chance tau, so c has the mass 1 / (1 + tau (E - 1)).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from shuffledp.accounting.randomizers.swaps import Arrival, OtherLaw, Swap

_BITS = list(itertools.product((0, 1), repeat=3))
_THIRD = Fraction(1, 3)
"""The tau of three-ary randomized response, about the worst: cells are small near it."""
_KINKS = (_THIRD, Fraction(1, 2), Fraction(2, 3))
"""Where corners change their kind."""
_FINEST, _GROWTH = 0.004, 1.5
"""Of cells: the least change of log c across one, and how fast they grow with the distance."""
_GRID = 1 << 20


def staircases(eps0: float) -> list[Swap]:
    """A swap for each cell of tau."""
    return [_cell(eps0, low, high) for low, high in itertools.pairwise(_edges(eps0))]


def _edges(eps0: float) -> list[Fraction]:
    """Of cells of tau, no wider than what is leaked falls off from the worst."""
    rise = math.expm1(eps0)
    finest = _FINEST * (1.0 + rise / 3.0) / rise
    places = {Fraction(0), *_KINKS, Fraction(1)}
    for sign in (-1, 1):
        at = _THIRD
        while True:
            away, slow = float(abs(at - _THIRD)), 1.0 if sign > 0 else 1.0 + float(at) * rise
            step = max(finest, _GROWTH * away / slow)
            at += sign * Fraction(max(round(step * _GRID), 1), _GRID)
            if not 0 < at < 1:
                break
            places.add(at)
    return sorted(places)


def _cell(eps0: float, low: Fraction, high: Fraction) -> Swap:
    """g = rho / r, by the share of c that this tau leaves of the largest c of the cell."""
    most, least = _common(eps0, low), _common(eps0, high)
    laws = tuple(
        _law(eps0, _common(eps0, tau), most, corner)
        for tau in (low, high)
        for corner in _corners(tau)
    )
    swaps = 1.0 / most, math.exp(-eps0) / most
    partners = tuple((law, swap, swap) for law in range(len(laws)) for swap in swaps)

    def arrival(pair: tuple[int, int], chance: Fraction) -> Arrival:
        first, second = (
            np.array([common * math.exp(eps0 * bit)])
            for common, bit in zip((most, least), pair, strict=True)
        )
        return Arrival(np.array([float(chance)]), first, second, partners, weight=least / most)

    arrivals = []
    for end in (min, max):
        one, other = (_pairs(tau, end(max(2 * tau - 1, Fraction(0)), tau)) for tau in (low, high))
        chances = {pair: max(one[pair], other[pair]) for pair in one}
        arrivals.append(tuple(arrival(pair, c) for pair, c in chances.items() if c))
    return Swap(laws, tuple(arrivals), symmetric=True)


def _common(eps0: float, tau: Fraction) -> float:
    """The mass of c."""
    return 1.0 / (1.0 + float(tau) * math.expm1(eps0))


def _law(eps0: float, common: float, most: float, corner: tuple[Fraction, ...]) -> OtherLaw:
    kept = [(bits, float(chance)) for bits, chance in zip(_BITS, corner, strict=True) if chance]
    mass, first, second, swap = (
        np.array(row)
        for row in zip(
            *(
                (
                    common * chance * math.exp(eps0 * r),
                    math.exp(eps0 * (a - r)),
                    math.exp(eps0 * (b - r)),
                    math.exp(-eps0 * r) / most,
                )
                for (a, b, r), chance in kept
            ),
            strict=True,
        )
    )
    return OtherLaw(mass, first, second, swap, common / most)


def _pairs(tau: Fraction, together: Fraction) -> dict[tuple[int, int], Fraction]:
    """Chances of the victim's two bits, both 1 with this one."""
    alone = tau - together
    return {(1, 1): together, (1, 0): alone, (0, 1): alone, (0, 0): 1 - tau - alone}


@lru_cache(maxsize=256)
def _corners(tau: Fraction) -> list[tuple[Fraction, ...]]:
    """Extreme laws of three bits that are 1 with chance tau each: of at most four outcomes."""
    found = set()
    for places in itertools.combinations(range(8), 4):
        rows = np.array([[1, *_BITS[place]] for place in places], dtype=np.float64)
        if abs(np.linalg.det(rows)) > 0.5:  # a whole number
            halves = np.round(2.0 * np.linalg.inv(rows.T)).astype(int).tolist()
            chances = [Fraction(row[0], 2) + tau * Fraction(sum(row[1:]), 2) for row in halves]
            if min(chances) >= 0:
                corner = [Fraction(0)] * 8
                for place, chance in zip(places, chances, strict=True):
                    corner[place] = chance
                found.add(tuple(corner))
    return sorted(found)
