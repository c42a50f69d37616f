"""Trade-off functions of two densities on the line, between two piecewise-linear functions.

The line is cut into cells. Telling only the cell is post-processing, so the cells' masses give an f
above the true one. Splitting each cell's masses between its smallest and its largest likelihood
ratio, both masses preserved, can only inform more, so that gives an f below
(docs/proofs/numerics.md, "Rounding by name"). The gap is second order in the cell width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp import checks
from shuffledp.accounting.curves.tradeoff.function import TradeoffFunction
from shuffledp.accounting.curves.tradeoff.hull import lower_hull
from shuffledp.errors import ParameterError
from shuffledp.labels import Direction
from shuffledp.numerics.rounding import Array, down, up

Density = Callable[[Array], Array]

_FINE, _COARSE = (
    (0.5 * (x + 1.0), 0.5 * w)
    for x, w in (np.polynomial.legendre.leggauss(10), np.polynomial.legendre.leggauss(7))
)
_SAFETY = 10.0
_RATIO = 1e-8
"""Granted to ratios of densities a hair inside a cell (docs/proofs/numerics.md,
"Rounding by name")."""


@dataclass(frozen=True)
class DensityTradeoff:
    """``below`` <= T(P, Q) <= ``above``.

    ``quadrature_error`` is ten times the difference of a 10-point and a 7-point rule, summed over
    the cells, and is taken off ``below`` and added to ``above``; it is an estimate, so the
    enclosure is as good as the densities are smooth inside the cells. ``outside`` is the mass
    beyond the support.
    """

    below: TradeoffFunction
    above: TradeoffFunction
    quadrature_error: float
    outside: tuple[float, float]

    @property
    def gap(self) -> float:
        """Largest distance between the two functions."""
        return -self.below.compare(self.above).margin


def from_densities(
    first: Density,
    second: Density,
    support: tuple[float, float],
    cells: int = 2000,
    breaks: Sequence[float] = (),
) -> DensityTradeoff:
    """T(P, Q) of two densities, vectorised over arrays of points.

    The ratio second/first must be monotone within each cell: list in ``breaks`` where it turns or
    the densities have kinks. Mass outside ``support`` counts as revealing in ``below``.
    """
    low, high = float(support[0]), float(support[1])
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ParameterError("support", "a finite interval", support)
    grid = np.linspace(low, high, checks.count("cells", cells) + 1)
    inside = [float(b) for b in breaks if low < b < high]
    edges = np.union1d(grid, inside)
    p, p_error = _masses("first", first, edges)
    q, q_error = _masses("second", second, edges)
    error = _SAFETY * (p_error + q_error) + 1e-14
    for name, total in (("first", float(p.sum())), ("second", float(q.sum()))):
        if total > 1.0 + max(error, 1e-9) or total < 0.5:
            raise ParameterError(name, "a density whose integral is at most 1, most of it", total)
    outside = max(1.0 - float(p.sum()), 0.0), max(1.0 - float(q.sum()), 0.0)
    above = TradeoffFunction.from_masses(np.append(p, outside[0]), np.append(q, outside[1]))
    ratio_low, ratio_high = _ratios(first, second, edges, p, q)
    low_p, low_q, high_p, high_q = _split(p, q, ratio_low, ratio_high)
    below = TradeoffFunction.from_masses(
        np.concatenate([low_p, high_p, [outside[0], 0.0]]),
        np.concatenate([low_q, high_q, [0.0, outside[1]]]),
    ).lowered(error)
    raised = np.minimum(above.betas + error, 1.0 - above.alphas)
    raised[-1] = 0.0
    return DensityTradeoff(
        below,
        TradeoffFunction(*lower_hull(above.alphas, raised), Direction.LOWER),
        error,
        outside,
    )


def _masses(name: str, density: Density, edges: Array) -> tuple[Array, float]:
    width = np.diff(edges)
    results = []
    for nodes, weights in (_FINE, _COARSE):
        at = edges[:-1, None] + width[:, None] * nodes
        values = np.asarray(density(at.ravel()), dtype=np.float64).reshape(at.shape)
        if not np.all(np.isfinite(values)) or np.any(values < 0.0):
            bad = ~np.isfinite(values) | (values < 0.0)
            where = float(at[bad][0])
            raise ParameterError(name, "finite and >= 0", f"{float(values[bad][0])} at x = {where}")
        results.append(width * (values @ weights))
    fine, coarse = results
    return fine, float(np.sum(np.abs(fine - coarse)))


def _ratios(
    first: Density, second: Density, edges: Array, p: Array, q: Array
) -> tuple[Array, Array]:
    """Smallest and largest q/p in each cell, from its ends, widened to hold the cell's mean."""
    # A hair inside the cell, so that a jump at an edge is seen from the right side.
    hair = 1e-9 * np.diff(edges)
    ends = []
    for at in (edges[:-1] + hair, edges[1:] - hair):
        density_p, density_q = np.asarray(first(at)), np.asarray(second(at))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ends.append(np.where(density_p > 0.0, density_q / density_p, np.inf))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = np.where(p > 0.0, q / p, np.inf)
    low = np.minimum(down(np.minimum(ends[0], ends[1]), _RATIO), mean)
    low = np.where(np.isfinite(low), low, 0.0)
    high = np.maximum(up(np.maximum(ends[0], ends[1]), _RATIO), mean)
    return low, high


def _split(p: Array, q: Array, low: Array, high: Array) -> tuple[Array, Array, Array, Array]:
    """Masses at the extreme ratios that add up to the cell's own p and q."""
    endless = ~np.isfinite(high)
    top = np.where(endless, 1.0, high)
    spread = np.where(top > low, top - low, 1.0)
    share = np.where(top > low, np.clip((q - low * p) / spread, 0.0, p), p)
    high_p = np.where(endless, 0.0, share)
    high_q = np.where(endless, np.maximum(q - np.where(p > 0.0, low, 0.0) * p, 0.0), high_p * top)
    high_q = np.minimum(high_q, q)
    return p - high_p, q - high_q, high_p, high_q
