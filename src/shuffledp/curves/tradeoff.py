"""Piecewise-linear trade-off functions, exact at their knots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.errors import ParameterError
from shuffledp.numerics.binomial import Array


@dataclass(frozen=True, eq=False)
class TradeoffFunction:
    """A convex, non-increasing, piecewise-linear f on [0, 1] with f(alpha) <= 1 - alpha.

    ``alphas`` increase from 0 to 1; ``betas`` are the values there. A jump at alpha = 0 (f(0) < 1)
    is allowed.
    """

    alphas: Array
    betas: Array

    def __post_init__(self) -> None:
        a = np.asarray(self.alphas, dtype=np.float64)
        b = np.asarray(self.betas, dtype=np.float64)
        if a.ndim != 1 or a.shape != b.shape or len(a) < 2 or a[0] != 0.0 or a[-1] != 1.0:
            raise ParameterError(
                "alphas", "increasing from 0 to 1, as many as betas", a.tolist()[:5]
            )
        if np.any(np.diff(a) <= 0.0):
            at = int(np.argmax(np.diff(a) <= 0.0))
            raise ParameterError("alphas", "strictly increasing", float(a[at + 1]))
        tolerance = 1e-12
        for name, bad in (
            ("non-increasing", np.append(False, np.diff(b) > tolerance)),
            ("at most 1 - alpha", b > 1.0 - a + tolerance),
            ("non-negative", b < -tolerance),
            ("finite", ~np.isfinite(b)),
        ):
            if np.any(bad):
                at = int(np.argmax(bad))
                raise ParameterError("betas", name, f"{float(b[at])} at alpha = {float(a[at])}")
        slopes = np.diff(b) / np.diff(a)
        bends = (
            np.diff(slopes) < -tolerance * (1.0 + np.abs(slopes[:-1])) - tolerance / np.diff(a)[:-1]
        )
        if np.any(bends):
            at = int(np.argmax(bends)) + 1
            raise ParameterError("betas", "convex", f"{float(b[at])} at alpha = {float(a[at])}")
        object.__setattr__(self, "alphas", a)
        object.__setattr__(self, "betas", np.clip(b, 0.0, 1.0))

    @classmethod
    def from_pair(
        cls, first: Sequence[float] | Array, second: Sequence[float] | Array
    ) -> TradeoffFunction:
        """Exact T(P, Q) of two discrete laws on the same outcomes, by Neyman and Pearson."""
        p, q = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
        keep = (p > 0.0) | (q > 0.0)
        p, q = p[keep], q[keep]
        with np.errstate(divide="ignore"):
            rank = np.argsort(
                -(np.where(p > 0.0, q / np.where(p > 0.0, p, 1.0), np.inf)), kind="stable"
            )
        alphas = np.append(0.0, np.cumsum(p[rank]) / p.sum())
        betas = 1.0 - np.append(0.0, np.cumsum(q[rank]) / q.sum())
        alphas[-1], betas[-1] = 1.0, 0.0
        return cls._from_points(alphas, betas)

    @classmethod
    def from_lines(cls, slopes: Array, deltas: Array) -> TradeoffFunction:
        """Upper envelope of the lines 1 - delta - e alpha (and 0): f from (epsilon, delta) pairs.

        Symmetric: each pair also gives the line (1 - delta - alpha) / e.
        """
        e = np.concatenate([slopes, 1.0 / slopes])
        height = np.concatenate([1.0 - deltas, (1.0 - deltas) / slopes])
        e, height = np.append(e, 0.0), np.append(height, 0.0)
        rank = np.lexsort((-height, -e))
        hull: list[tuple[float, float]] = []
        cuts: list[float] = []
        for slope, top in zip(e[rank], height[rank], strict=True):
            if hull and slope == hull[-1][0]:
                continue
            while hull:
                cross = (hull[-1][1] - top) / (hull[-1][0] - slope)
                if cross <= (cuts[-1] if cuts else 0.0):
                    hull.pop()
                    if cuts:
                        cuts.pop()
                    continue
                cuts.append(cross)
                break
            hull.append((float(slope), float(top)))
        knots = np.array([0.0, *[c for c in cuts if 0.0 < c < 1.0], 1.0])
        values = np.max([top - slope * knots for slope, top in hull], axis=0)
        return cls._from_points(knots, np.minimum(np.maximum(values, 0.0), 1.0 - knots))

    @classmethod
    def _from_points(cls, alphas: Array, betas: Array) -> TradeoffFunction:
        """From a falling convex chain that may step straight down at alpha = 0 or repeat points."""
        last = np.append(np.diff(alphas) > 0.0, True)
        return cls(alphas[last], betas[last])

    def __call__(self, alpha: float) -> float:
        return float(np.interp(alpha, self.alphas, self.betas))

    def inverse(self) -> TradeoffFunction:
        """Left inverse: T(Q, P) where this is T(P, Q)."""
        zero = int(np.argmax(self.betas <= 0.0))
        x = np.append(self.betas[: zero + 1][::-1], [] if self.betas[0] >= 1.0 else [1.0])
        y = np.append(self.alphas[: zero + 1][::-1], [] if self.betas[0] >= 1.0 else [0.0])
        return type(self)._from_points(x, y)

    def symmetrised(self) -> TradeoffFunction:
        """C(f) = (min(f, inverse of f))**: the largest symmetric convex function below both."""
        other = self.inverse()
        knots = np.union1d(self.alphas, other.alphas)
        both = np.minimum(
            np.interp(knots, self.alphas, self.betas), np.interp(knots, other.alphas, other.betas)
        )
        hull: list[tuple[float, float]] = []
        for point in zip(knots.tolist(), both.tolist(), strict=True):
            while len(hull) >= 2 and _turns_right(hull[-2], hull[-1], point):
                hull.pop()
            hull.append(point)
        chain = np.array(hull)
        return type(self)(chain[:, 0], chain[:, 1])

    def delta(self, epsilon: float) -> float:
        """delta(eps) = max over alpha of 1 - f(alpha) - exp(eps) alpha."""
        return float(max(np.max(1.0 - self.betas - math.exp(epsilon) * self.alphas), 0.0))

    def renyi(self, order: float) -> float:
        """D_order of the pair: ln of the integral of |f'|^(1 - order), over order - 1."""
        width = np.diff(self.alphas)
        drop = -np.diff(self.betas)
        if np.any(drop <= 0.0) or self.betas[0] < 1.0 - 1e-12:
            return math.inf
        log_terms = np.log(width) + (1.0 - order) * np.log(drop / width)
        return float(np.logaddexp.reduce(log_terms)) / (order - 1.0)


def _turns_right(o: tuple[float, float], a: tuple[float, float], b: tuple[float, float]) -> bool:
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]) <= 0.0
