"""Lower convex hulls and running sums of many points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shuffledp.numerics.rounding import Array

_ROUNDS = 64
"""Vectorised sweeps before the plain stack takes over; a sweep never removes a hull vertex."""
_UNDERFLOWS = 1e-280
"""Products below have lost digits, or all: slopes are compared instead."""


def running_sum(x: Array) -> Array:
    """Cumulative sums with the widest accumulator the machine offers, starting at 0."""
    wide = np.zeros(len(x) + 1, dtype=np.longdouble)
    np.cumsum(x, dtype=np.longdouble, out=wide[1:])
    return wide.astype(np.float64)


def lower_hull(x: Array, y: Array) -> tuple[Array, Array]:
    """Vertices of the lower convex hull of points with strictly increasing x.

    A point on or above the chord of its neighbours is no vertex, and removing several such points
    at once is safe: each lies above the hull of those that stay.
    """
    for _ in range(_ROUNDS):
        if len(x) < 3:
            return x, y
        keep = np.concatenate([[True], _bends(np.diff(x), np.diff(y)), [True]])
        if keep.all():
            return x, y
        x, y = x[keep], y[keep]
    chain: list[tuple[float, float]] = []
    for px, py in zip(x.tolist(), y.tolist(), strict=True):
        while len(chain) > 1 and _above(chain[-2], chain[-1], (px, py)):
            chain.pop()
        chain.append((px, py))
    points = np.array(chain)
    return points[:, 0], points[:, 1]


def _bends(dx: Array, dy: Array) -> NDArray[np.bool_]:
    """Whether the slope grows, at each point between the first and the last."""
    with np.errstate(under="ignore", over="ignore"):
        left, right = dy[:-1] * dx[1:], dy[1:] * dx[:-1]
        slopes = dy / dx
    lost = np.maximum(np.abs(left), np.abs(right)) < _UNDERFLOWS
    return np.where(lost, slopes[:-1] < slopes[1:], left < right)


def _above(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    (left, down), (right, on) = (b[0] - a[0], b[1] - a[1]), (c[0] - b[0], c[1] - b[1])
    if max(abs(down * right), abs(on * left)) < _UNDERFLOWS:
        return down / left >= on / right
    return down * right >= on * left


def upper_envelope(slopes: Array, heights: Array) -> tuple[Array, Array]:
    """Knots and values on [0, 1] of the maximum of the lines height - slope * x.

    The maximum of lines and the lower hull of the points (slope, -height) are dual: the lines on
    the envelope are the hull's vertices.
    """
    rank = np.lexsort((-heights, slopes))
    slope, height = slopes[rank], heights[rank]
    best = np.append(True, np.diff(slope) > 0.0)
    slope, negative = lower_hull(slope[best], -height[best])
    slope, height = slope[::-1], -negative[::-1]  # steepest line first
    cuts = np.diff(height) / np.diff(slope)
    inside = cuts[(cuts > 0.0) & (cuts < 1.0)]
    knots = np.concatenate([[0.0], np.unique(inside), [1.0]])
    at = np.searchsorted(cuts, knots, side="left")
    # Rounding may misplace a cut by an ulp, so look at the neighbouring lines too.
    near = [np.clip(at + shift, 0, len(slope) - 1) for shift in (-1, 0, 1)]
    values = np.max([height[i] - slope[i] * knots for i in near], axis=0)
    return knots, values
