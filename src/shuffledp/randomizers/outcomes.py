"""Outcomes of a report under three laws: the victim's two values and a common base.

The base is the law of another user (a data set: exact) or a blanket below all of them (an upper
bound). What matters of an outcome is V = (first - e second) / base and its base mass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.errors import ConversionError
from shuffledp.numerics.binomial import Array, U
from shuffledp.numerics.positive_part import Law, mean_positive_part

_EXACT = 8.0 * U
_HUGE = 50.0
_ROUNDS = 4
_MANY, _TOGETHER, _ALIKE, _COARSE = 100, 4, 1.1, 1e-2
"""More cells than this are taken by fours, if their ratios are alike, where such a width will do."""
_NOTHING = 1e-280
"""Base masses below this count as none."""
_STEEPEST = 600.0
"""Largest epsilon whose exponential is formed."""
_ENOUGH = 1e300
_TOO_MUCH = 1e280
"""A report of a larger ratio decides alone: its mass is added."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Masses of outcome cells under the three laws.

    ``low`` and ``high`` hold, for each cell, bounds of (first / base, second / base) inside it;
    None means each cell is a single outcome, or many of equal ratios; an infinite bound takes the
    cell out of the blanket, its first mass being added instead. ``unseen`` are the masses of
    (first, second) where the base vanishes. ``precision`` bounds the relative error of all masses.
    The base may sum to less than 1: the rest tells nothing.
    """

    first: Array
    second: Array
    base: Array
    low: tuple[Array, Array] | None = None
    high: tuple[Array, Array] | None = None
    unseen: tuple[tuple[float, float], ...] = ()
    precision: float = _EXACT

    @classmethod
    def discrete(cls, first: ArrayLike, second: ArrayLike, base: ArrayLike) -> Outcomes:
        """Single outcomes; those the base misses are kept apart."""
        a, b, c = (np.asarray(x, dtype=np.float64) for x in (first, second, base))
        seen = c > _NOTHING
        missed = tuple(
            (float(x), float(y)) for x, y in zip(a[~seen], b[~seen], strict=True) if x or y
        )
        return cls(a[seen], b[seen], c[seen], unseen=missed)

    def swapped(self) -> Outcomes:
        """The victim's two values exchanged."""
        return replace(
            self,
            first=self.second,
            second=self.first,
            low=self.low and self.low[::-1],
            high=self.high and self.high[::-1],
            unseen=tuple((b, a) for a, b in self.unseen),
        )

    def thinned(self, rate: float) -> Outcomes:
        """Each user reports only with this probability: an erasure symbol, alike under all laws."""
        if rate == 1.0:
            return self
        one = np.ones(1)
        return replace(
            self,
            first=np.append(rate * self.first, 1.0 - rate),
            second=np.append(rate * self.second, 1.0 - rate),
            base=np.append(rate * self.base, 1.0 - rate),
            low=self.low and (np.append(self.low[0], one), np.append(self.low[1], one)),
            high=self.high and (np.append(self.high[0], one), np.append(self.high[1], one)),
            unseen=tuple((rate * a, rate * b) for a, b in self.unseen),
            precision=self.precision + 4.0 * U,
        )

    def diluted(self, share: float) -> Outcomes:
        """The victim reports with this probability, else a further user of the base law does."""

        def mix(first: Array, base: Array) -> Array:
            return (1.0 - share) * base + share * first

        ones = np.ones_like(self.base)
        return replace(
            self,
            first=mix(self.first, self.base),
            second=mix(self.second, self.base),
            low=self.low and (mix(self.low[0], ones), mix(self.low[1], ones)),
            high=self.high and (mix(self.high[0], ones), mix(self.high[1], ones)),
            unseen=tuple((share * a, share * b) for a, b in self.unseen),
            precision=self.precision + 8.0 * U,
        )

    def delta_upper(self, n: int, epsilon: float, width: float) -> float:
        """Upper bound of (1/n) E[(V_1 + ... + V_n)+] plus the mass the base misses.

        Where first / base is huge, one such report decides alone: the rarest cells are taken out of
        the base and their first mass is added, as long as that is below ``width`` of the result.
        """
        e = math.exp(min(epsilon, _STEEPEST))  # a smaller e can only raise the result
        missed = math.fsum(max(a - e * b, 0.0) for a, b in self.unseen)
        missed += 16.0 * U * math.fsum(a + e * b for a, b in self.unseen)
        cells, budget, best = self._coarse(width), 1e-9, 1.0
        for _ in range(_ROUNDS):
            inside, extra = cells._without_rare(budget)
            value = mean_positive_part(inside._upper_law(e), n, width=width).upper
            best = min(best, value + missed + extra)
            if extra <= 0.2 * width * (value + missed):
                break
            budget = 0.1 * width * (value + missed)
        return best

    def delta_lower(self, n: int, epsilon: float, width: float) -> float:
        """Lower bound of the same: cells at their means, rare ones merged."""
        if epsilon > _STEEPEST:
            return math.fsum(a for a, b in self.unseen if b == 0.0) * (1.0 - 16.0 * U)
        e = math.exp(epsilon)
        missed = math.fsum(max(a - e * b, 0.0) for a, b in self.unseen)
        missed -= 16.0 * U * math.fsum(a + e * b for a, b in self.unseen)
        missed -= 1e-260 if self.unseen else 0.0  # what _NOTHING may have held, n times
        cells, budget, best = self._coarse(width), 1e-9, 0.0
        for _ in range(_ROUNDS):
            inside, extra = cells._merging_rare(budget)
            best = max(
                best, mean_positive_part(inside._lower_law(e), n, width=width).lower + missed
            )
            if extra <= 0.2 * width * best:
                break
            budget = 0.1 * width * best
        return min(best, 1.0)

    def _coarse(self, width: float) -> Outcomes:
        """Neighbouring cells together, if there are many and this width allows it."""
        if self.low is None or self.high is None or len(self.base) <= _MANY or width < _COARSE:
            return self
        begins = np.arange(len(self.base)) % _TOGETHER == 0
        for low, high in zip(self.low, self.high, strict=True):
            begins[1:] |= np.maximum(high[1:], high[:-1]) > _ALIKE * np.minimum(low[1:], low[:-1])
        starts = np.flatnonzero(begins)
        first, second, base = (
            np.add.reduceat(x, starts) for x in (self.first, self.second, self.base)
        )
        return replace(
            self,
            first=first,
            second=second,
            base=base,
            low=(
                np.minimum.reduceat(self.low[0], starts),
                np.minimum.reduceat(self.low[1], starts),
            ),
            high=(
                np.maximum.reduceat(self.high[0], starts),
                np.maximum.reduceat(self.high[1], starts),
            ),
            precision=self.precision + _TOGETHER * U,
        )

    def _rare(self, budget: float) -> NDArray[np.bool_]:
        """The cells of largest first / base that together hold at most ``budget`` of first."""
        rank = np.argsort(-self.first / self.base)
        rare = np.zeros(len(rank), dtype=np.bool_)
        rare[rank] = np.cumsum(self.first[rank]) <= budget
        return rare & (self.first > _HUGE * self.base)

    def _without_rare(self, budget: float) -> tuple[Outcomes, float]:
        out = self._rare(budget)
        if self.high is not None:
            out |= (self.high[0] > _TOO_MUCH) | np.isinf(self.high[1])
        if not np.any(out):
            return self, 0.0
        extra = 1.01 * float(self.first[out].sum())
        return self._keep(~out), extra

    def _merging_rare(self, budget: float) -> tuple[Outcomes, float]:
        out = self._rare(budget)
        if np.count_nonzero(out) < 2:
            return self, 0.0
        kept = self._keep(~out)
        merged = replace(
            kept,
            first=np.append(kept.first, self.first[out].sum()),
            second=np.append(kept.second, self.second[out].sum()),
            base=np.append(kept.base, self.base[out].sum()),
            low=None,
            high=None,
            precision=self.precision + len(out) * U,
        )
        return merged, float(self.first[out].sum())

    def _keep(self, cells: NDArray[np.bool_]) -> Outcomes:
        return replace(
            self,
            first=self.first[cells],
            second=self.second[cells],
            base=self.base[cells],
            low=self.low and (self.low[0][cells], self.low[1][cells]),
            high=self.high and (self.high[0][cells], self.high[1][cells]),
        )

    def _means(self, e: float) -> tuple[Array, Array]:
        """V averaged over each cell, from below and from above; may overflow to -inf."""
        error = 2.0 * self.precision
        with np.errstate(over="ignore"):
            low = (self.first * (1.0 - error) - e * self.second * (1.0 + error)) / self.base
            high = (self.first * (1.0 + error) - e * self.second * (1.0 - error)) / self.base
        if np.any(high > _ENOUGH):
            raise ConversionError(
                f"Reports with so little noise have likelihood ratios beyond {_ENOUGH:g}."
            )
        return low, high

    def _law(self, values: Array, weights: Array) -> Law:
        nothing = max(1.0 - math.fsum(weights.tolist()), 0.0)
        return Law(np.append(values, 0.0), np.append(weights, nothing), self.precision)

    def _lower_law(self, e: float) -> Law:
        """Each cell at its mean: less in convex order; moved down by the rounding error.

        Values are cut so that n <= 1e12 of the largest cannot outweigh one of the smallest.
        """
        return self._law(np.clip(self._means(e)[0], -_ENOUGH, 1e-13 * _ENOUGH), self.base)

    def _upper_law(self, e: float) -> Law:
        """Each cell spread to its extremes, mean kept: more in convex order; moved up alike."""
        least, value = self._means(e)
        if self.low is None or self.high is None:
            return self._law(np.maximum(value, -_ENOUGH), self.base)
        with np.errstate(over="ignore", invalid="ignore"):
            error = np.maximum(0.5 * (value - least), 0.0)
            bottom = np.minimum(self.low[0] - e * self.high[1], value) - error
            top = np.maximum(self.high[0] - e * self.low[1], value) + error
            span = np.maximum(top - bottom, 1e-300)
            share = np.clip((value - bottom) / span * (1.0 + 8.0 * U), 0.0, 1.0)
        share = np.where(np.isfinite(bottom) & np.isfinite(share), share, 1.0)
        # where nothing is left of the arithmetic: at most first / base, for sure
        top = np.maximum(np.where(np.isfinite(top), top, self.high[0]), -_ENOUGH)
        bottom = np.where(np.isfinite(bottom), np.maximum(bottom, -_ENOUGH), -_ENOUGH)
        return self._law(
            np.concatenate([bottom, top]),
            np.concatenate([self.base * (1.0 - share), self.base * share]),
        )
