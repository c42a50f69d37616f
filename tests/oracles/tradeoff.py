"""Trade-off function of two discrete laws, by Neyman and Pearson, from balls or fractions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any


def knots(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[float, float]]:
    """(type I error, type II error) of the likelihood-ratio tests, most powerful first."""
    ranked = sorted(pairs, key=lambda pair: float(pair[0] / pair[1]))
    points, alpha, beta = [(0.0, 1.0)], 0, 1
    for p, q in ranked:
        alpha, beta = alpha + p, beta - q
        points.append((float(alpha), float(beta)))
    return points


def interpolate(points: list[tuple[float, float]], alpha: float) -> float:
    """The convex chain through the knots, at alpha."""
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if x0 <= alpha <= x1:
            return y1 if x1 == x0 else y0 + (y1 - y0) * (alpha - x0) / (x1 - x0)
    return 0.0
