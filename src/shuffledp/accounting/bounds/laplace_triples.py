"""Cells of reports for the triples of a few lines, under Laplace noise (docs/proofs/swap.md,
section 6): what every bound of ``swap_laplace`` is computed from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from shuffledp.accounting.bounds.laplace_lines import lines
from shuffledp.numerics.rounding import Array, down, up

_CELL = 0.15
"""Change of a log-likelihood ratio across a cell, about; for the farthest pairs half as much."""
_BLOCK = 1 << 13
"""Cells computed together: what a processor keeps at hand."""
FORMULA = 1e-11
"""Relative: more than the roundings of formulas."""


@dataclass(frozen=True, eq=False)
class Triples:
    """Cells of reports for many triples: masses of r, mean ratios, their ranges; distances to
    neighbours."""

    mass: Array
    first: tuple[Array, Array, Array]
    second: tuple[Array, Array, Array]
    swap: tuple[Array, Array, Array]
    kinds: tuple[Array, Array]
    """Which are near another user's value left of the victim's middle, and which right of it."""
    gap_other: Array
    gap_victim: Array
    far: float
    """Largest distance of the victim's two values; of another user's from their middle:"""
    limit: float

    @cached_property
    def blocks(self) -> list[slice]:
        """Triples whose cells are computed together."""
        rows, cells = self.mass.shape
        size = max(_BLOCK // cells, 1)
        return [slice(at, at + size) for at in range(0, rows, size)]


@lru_cache(maxsize=16)
def triples(rate: float, near: float, far: float) -> Triples:
    """The lines for victim's values at a distance in [near, far]: the first at 0, the second right
    of it."""
    others, shorter = lines(rate, near, far)
    second = np.concatenate([np.full(others.size, far), shorter, shorter])
    third = np.concatenate([others, np.ones(shorter.size), shorter - 1.0])
    zero = np.zeros_like(second)
    gaps = np.concatenate([_gaps(others), np.zeros(2 * shorter.size)])
    victims = np.concatenate([np.zeros(others.size), _gaps(shorter), _gaps(shorter)])
    kinks = np.sort(np.stack([zero, second, third, 0.5 * second], axis=1), axis=1)
    count = max(16, math.ceil(2.0 * rate / (3.0 * _CELL))) * (2 if far == 1.0 else 1)
    share = np.arange(count) / count
    inner = kinks[:, :-1, None] + np.diff(kinks, axis=1)[:, :, None] * share
    edges = np.concatenate([inner.reshape(len(second), -1), kinks[:, -1:]], axis=1)
    logs, masses = [], []
    for place in (zero, second, third, 0.5 * second):
        away = rate * np.abs(edges - place[:, None])
        inside = np.exp(-np.minimum(away[:, :-1], away[:, 1:]))
        inside = 0.5 * inside * -np.expm1(-rate * np.diff(edges, axis=1))
        ends = 0.5 * np.exp(-away[:, [0, -1]])
        masses.append(np.concatenate([ends[:, :1], inside, ends[:, 1:]], axis=1))
        logs.append(np.concatenate([-away[:, :1], -away, -away[:, -1:]], axis=1))
    seen = masses[2] > 0.0
    base = np.where(seen, masses[2], 1.0)

    def ratio(i: int) -> tuple[Array, Array, Array]:
        ends = np.exp(logs[i] - logs[2])
        low, high = np.minimum(ends[:, :-1], ends[:, 1:]), np.maximum(ends[:, :-1], ends[:, 1:])
        low, high = down(low, FORMULA), up(high, FORMULA)
        return np.clip(np.where(seen, masses[i] / base, low), low, high), low, high

    middle = 0.5 * second
    return Triples(
        masses[2],
        ratio(0),
        ratio(1),
        ratio(3),
        (third - gaps <= middle, third + gaps >= middle),
        gaps,
        victims,
        far,
        1.0 - 0.5 * near,
    )


def _gaps(places: Array) -> Array:
    """Distance to the farther neighbour."""
    if places.size < 2:
        return np.zeros_like(places)
    steps = np.abs(np.diff(places))
    farther: Array = np.maximum(np.append(steps, 0.0), np.append(0.0, steps))
    return farther
