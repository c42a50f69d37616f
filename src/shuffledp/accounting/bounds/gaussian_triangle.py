"""What Gaussian reports leak where values form an equilateral triangle: the victim at one of two
corners, all others at the third.

No set of that diameter is known to leak more; a ball of that diameter does not hold the triangle.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from shuffledp.accounting.bounds.blanket import dataset_curve
from shuffledp.accounting.bounds.scopes import gaussian_round
from shuffledp.accounting.bounds.shuffle_gaussian import GaussianPair, gaussian_pair
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import NEVER, Curve, SearchLimit
from shuffledp.accounting.randomizers import Randomizer, VictimPair
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.normal import CELL_ERROR
from shuffledp.numerics.ratio_laws import cell_edges, whole_line

_LEAST, _MOST = 1e-4, 5.0
_REACH, _STEP = 8.5, 0.12


def _set_of_values(randomizer: Randomizer) -> GaussianPair:
    pair = gaussian_pair(gaussian_round(randomizer), 2**53)
    if pair.gaussian.space != "set":
        raise RegimeError("values of which only the largest distance is known", str(randomizer))
    if not _LEAST <= math.sqrt(pair.h) <= _MOST:
        condition = f"sigma from {1.0 / _MOST:g} to {1.0 / _LEAST:g} sensitivities"
        raise RegimeError(condition, str(randomizer))
    return pair


@lru_cache(maxsize=32)
def triangle(side: float) -> Outcomes:
    """Reports told apart by cells only, which leaks less; the side in units of sigma."""
    half, across = 0.5 * side, math.sqrt(0.75) * side
    along = cell_edges(-side - 3.0, side + 3.0, -half - _REACH, half + _REACH, _STEP)
    step = max(_STEP, _STEP / across)
    up = cell_edges(-3.0, 2.0 * across + 3.0, -_REACH, across + _REACH, step)
    first, second, base = (whole_line(along, centre) for centre in (half, -half, 0.0))
    victim, others = whole_line(up, across), whole_line(up, 0.0)
    return Outcomes.discrete(
        np.multiply.outer(first, victim).ravel(),
        np.multiply.outer(second, victim).ravel(),
        np.multiply.outer(base, others).ravel(),
        precision=4.0 * CELL_ERROR,
    )


@bound(
    Theorem(
        id="shuffle-gaussian-triangle",
        citation="exact computation",
        statement="the victim at one of two corners of an equilateral triangle, all others at the"
        " third",
        validity="Gaussian reports of values of which only the largest distance is known; one"
        " round",
        status=Status.FIXED_PAIR,
        direction=Direction.LOWER,
        proof="proofs/swap_gaussian.md",
        note="an equilateral triangle: in two or more dimensions",
    ),
    _set_of_values,
    turn=0,
    dear=True,
)
def gaussian_triangle(pair: GaussianPair, n: int) -> Curve:
    """By cells of the plane; Rényi divergences are those of shuffle-gaussian: two corners."""
    pair = replace(pair, n=n)
    outcomes = triangle(math.sqrt(pair.h))
    if pair.check_in < 1.0:
        outcomes = outcomes.thinned(pair.check_in)
    elif pair.drawn is not None:
        outcomes = outcomes.diluted(pair.participation)
    scene = VictimPair("two corners of a triangle", "all at the third", outcomes, symmetric=True)
    return replace(
        dataset_curve(scene, pair.reports, NEVER),
        limit=SearchLimit(100.0),
        exact_renyi=lambda order: pair.renyi(order).lower,
    )
