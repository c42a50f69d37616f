"""Convex conjugates of piecewise-linear convex functions, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.accounting.curves.tradeoff.hull import running_sum
from shuffledp.errors import ParameterError
from shuffledp.numerics.rounding import Array


@dataclass(frozen=True, eq=False)
class Conjugate:
    """g*(y) = max over x of x y - g(x), piecewise linear on the whole line.

    Its bends are the slopes of g, its slopes the knots of g: ``bends`` increase, ``slopes`` hold
    one more entry, and ``left`` is the value where y tends to minus infinity, -g(0).
    """

    bends: Array
    slopes: Array
    left: float

    def __post_init__(self) -> None:
        bends = np.asarray(self.bends, dtype=np.float64)
        slopes = np.asarray(self.slopes, dtype=np.float64)
        if bends.ndim != 1 or slopes.shape != (len(bends) + 1,):
            raise ParameterError("slopes", "one more than bends", len(slopes))
        for name, values in (("bends", bends), ("slopes", slopes)):
            if not np.all(np.isfinite(values)):
                raise ParameterError(name, "finite", float(values[~np.isfinite(values)][0]))
            if np.any(np.diff(values) < 0.0):
                at = int(np.argmax(np.diff(values) < 0.0))
                raise ParameterError(name, "non-decreasing", float(values[at + 1]))
        if slopes[0] != 0.0:
            raise ParameterError("slopes", "starting at 0", float(slopes[0]))
        object.__setattr__(self, "bends", bends)
        object.__setattr__(self, "slopes", slopes)

    def __call__(self, y: float) -> float:
        """x y - g(x) at the knot x where the slope of g passes y."""
        at = int(np.searchsorted(self.bends, y, side="right"))
        x = self.slopes
        return self.left + float(np.sum((y - self.bends[:at]) * np.diff(x)[:at]))

    def knots(self) -> tuple[Array, Array]:
        """Knots and values of g, the inverse transform: g** = g."""
        steps = running_sum(self.bends * np.diff(self.slopes))
        return self.slopes, -self.left + steps

    def rescaled(self, factor: float) -> Conjugate:
        """The conjugate of x -> g(factor x): y -> g*(y / factor)."""
        if not (np.isfinite(factor) and factor > 0.0):
            raise ParameterError("factor", "a finite number > 0", factor)
        return Conjugate(self.bends * factor, self.slopes / factor, self.left)


def combine(parts: Sequence[tuple[float, Conjugate]]) -> Conjugate:
    """The weighted sum of conjugates: bends are merged, slopes add."""
    for weight, _ in parts:
        if not (np.isfinite(weight) and weight >= 0.0):
            raise ParameterError("weights", "finite and >= 0", weight)
    bends = np.concatenate([part.bends for _, part in parts])
    rises = np.concatenate([weight * np.diff(part.slopes) for weight, part in parts])
    rank = np.argsort(bends, kind="stable")
    left = float(sum(weight * part.left for weight, part in parts))
    return Conjugate(bends[rank], running_sum(rises[rank]), left)
