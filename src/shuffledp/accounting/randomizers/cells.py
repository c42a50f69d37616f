"""Reports cut into cells: a victim's two laws and a base of another scale.

Between the edges every likelihood ratio is monotone, so inside a cell it lies between its values
at the two edges; cell masses are exact up to rounding.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.numerics.normal import CELL_ERROR, cell_masses
from shuffledp.numerics.rounding import FORMULA, Array, down, roundings, up

_CELL = 0.02
_MOST = 2000
_NORMAL_CELLS = 400
_GROWTH = 0.04
_DEEP = 40.0
"""Tails of the victim's law are cut where they hold e^-40."""


def _between(low: float, high: float, step: float) -> Array:
    size = min(max(2, 1 + math.ceil((high - low) / step)), _MOST)
    return np.linspace(low, high, size)


def _outwards(slope: float, reach: float) -> Array:
    """Distances from the outermost kink at which to cut a tail of this log-ratio slope."""
    if slope <= 0.0:
        return np.zeros(1)
    distances = [0.0]
    while distances[-1] < reach:
        distances.append(distances[-1] + max(_CELL / slope, _GROWTH * distances[-1]))
    return np.array(distances)


def laplace_cells(rate: float, base_rate: float, centre: float) -> Outcomes:
    """Victim at 0 against 1 with this rate; base: Laplace of base_rate around ``centre``."""
    kinks = sorted({0.0, 1.0, centre})
    step = _CELL / (rate + base_rate)
    parts = [_between(a, b, step)[:-1] for a, b in itertools.pairwise(kinks)]
    inside = np.append(np.concatenate(parts), 1.0)
    gap = base_rate - rate
    # rising ratios matter as far as the victim's law goes, falling ones until they are small
    reach = _DEEP / rate if gap > 0.0 else 12.0 / max(-gap, 1e-300)
    tail = _outwards(abs(gap), reach)
    edges = np.concatenate([-tail[:0:-1], inside, 1.0 + tail[1:]])
    logs, masses = [], []
    for place, speed in ((0.0, rate), (1.0, rate), (centre, base_rate)):
        distance = speed * np.abs(edges - place)
        near = np.minimum(distance[:-1], distance[1:])
        inner = 0.5 * np.exp(-near) * -np.expm1(-np.abs(np.diff(distance)))
        ends = 0.5 * np.exp(-distance[[0, -1]])
        masses.append(np.concatenate([ends[:1], inner, ends[1:]]))
        logs.append(math.log(speed) - distance)
    low, high = [], []
    for log in logs[:2]:
        ratio = np.exp(np.minimum(log - logs[2], 690.0))
        limits = (ratio[0], ratio[-1]) if gap == 0.0 else (0.0, 0.0)
        if gap > 0.0:
            limits = (math.inf, math.inf)
        left = np.concatenate([[limits[0]], ratio])
        right = np.concatenate([ratio, [limits[1]]])
        low.append(down(np.minimum(left, right), FORMULA))
        high.append(up(np.maximum(left, right), FORMULA))
    kept = masses[2] > 1e-300
    gone = [(a, b, c) for a, b, c in np.stack(masses, axis=1)[~kept].tolist()]
    return Outcomes(
        masses[0][kept],
        masses[1][kept],
        masses[2][kept],
        (low[0][kept], low[1][kept]),
        (high[0][kept], high[1][kept]),
        unseen=tuple(gone),
        precision=roundings(512),
    )


def gaussian_cells(sigma: float, base_sigma: float, centre: float | None) -> Outcomes:
    """Victim at 0 against 1, deviation sigma; base: normal around ``centre``, or (None) the law
    proportional to the smallest density over values in [0, 1].
    """
    kinks = {0.0, 0.5, 1.0}
    inverse, base_inverse = sigma**-2.0, base_sigma**-2.0
    if inverse != base_inverse:  # where a log ratio is stationary
        for place in (0.0, 1.0):
            for other in (0.0, 1.0) if centre is None else (centre,):
                kinks.add((inverse * place - base_inverse * other) / (inverse - base_inverse))
    reach = 10.5 * sigma
    inside = sorted(x for x in kinks | {-reach, 1.0 + reach} if -reach <= x <= 1.0 + reach)
    slope = reach * abs(inverse - base_inverse) + inverse + base_inverse
    step = max(_CELL / slope, (1.0 + 2.0 * reach) / _NORMAL_CELLS)
    parts = [_between(a, b, step)[:-1] for a, b in itertools.pairwise(inside)]
    edges = np.append(np.concatenate(parts), inside[-1])
    middle = 0.5 * (edges[:-1] + edges[1:])
    first, second = (_normal_masses(edges, np.full_like(middle, x), sigma) for x in (0.0, 1.0))
    if centre is None:
        total = math.erfc(0.5 / (base_sigma * math.sqrt(2.0)))
        base = _normal_masses(edges, np.where(middle < 0.5, 1.0, 0.0), base_sigma) / total
        distance = np.maximum(np.abs(edges), np.abs(1.0 - edges))
    else:
        total = 1.0
        base = _normal_masses(edges, np.full_like(middle, centre), base_sigma)
        distance = np.abs(edges - centre)
    base_log = -0.5 * base_inverse * distance**2 - math.log(total * base_sigma)
    low, high = [], []
    for place in (0.0, 1.0):
        log = -0.5 * inverse * (edges - place) ** 2 - math.log(sigma)
        ratio = np.exp(np.minimum(log - base_log, 690.0))
        bottom = np.minimum(ratio[:-1], ratio[1:])
        low.append(down(np.concatenate([[0.0], bottom, [0.0]]), CELL_ERROR))
        top = np.maximum(ratio[:-1], ratio[1:])
        high.append(up(np.concatenate([[math.inf], top, [math.inf]]), CELL_ERROR))
    kept = base > 1e-300
    gone = [(a, b, c) for a, b, c in np.stack([first, second, base], axis=1)[~kept].tolist()]
    return Outcomes(
        first[kept],
        second[kept],
        base[kept],
        (low[0][kept], low[1][kept]),
        (high[0][kept], high[1][kept]),
        unseen=tuple(gone),
        precision=CELL_ERROR,
    )


def _normal_masses(edges: Array, centre: Array, scale: float) -> Array:
    """Normal mass of the left end, each cell and the right end, from the smaller tails."""
    unit = scale * math.sqrt(2.0)
    left, right = (edges[:-1] - centre) / unit, (edges[1:] - centre) / unit
    ends = [
        0.5 * math.erfc((centre[0] - edges[0]) / unit),
        0.5 * math.erfc((edges[-1] - centre[-1]) / unit),
    ]
    inner = cell_masses(left, right, np.diff(edges) / unit)
    return np.concatenate([ends[:1], inner, ends[1:]])
