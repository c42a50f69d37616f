"""Outcomes of a report under three laws: the victim's two values and a common base.

The base is the law of another user (a data set: exact) or a blanket below all of them (an upper
bound). What matters of an outcome is V = (first - e second) / base and its base mass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.errors import ConversionError, ParameterError
from shuffledp.numerics.positive_part import Law, mean_positive_part
from shuffledp.numerics.rounding import Array, U

EXACT = 32.0 * U
"""Relative error of masses written down in closed form: some twenty roundings, two exponentials."""
_HUGE = 50.0
_ROUNDS = 4
_MANY, _TOGETHER, _ALIKE, _COARSE = 100, 4, 1.1, 1e-2
"""More cells than this are taken by fours, if their ratios are alike, where such a width will do."""
_NOTHING = 1e-280
"""Base masses below this count as none."""
_NEGLIGIBLE = 1e-260
"""What such masses may hold together, n times."""
_LEAST = 5e-324
_UNDERFLOW = 1e-320
"""More than the roundings of a subnormal number."""
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
    (first, second, base) where the base vanishes or nearly so. What a blanket lacks, ``rest``, tells nothing (V = 0);
    ``silent`` is the mass of the symbol alike under all three laws (V = 1 - e). ``precision``
    bounds the relative error of every mass, ``rest`` and ``silent`` included: no mass is found by
    subtracting the others from 1, and base, rest and silent together must make a law.
    """

    first: Array
    second: Array
    base: Array
    low: tuple[Array, Array] | None = None
    high: tuple[Array, Array] | None = None
    unseen: tuple[tuple[float, float, float], ...] = ()
    precision: float = EXACT
    rest: float = 0.0
    silent: float = 0.0

    @classmethod
    def discrete(
        cls,
        first: ArrayLike,
        second: ArrayLike,
        base: ArrayLike,
        rest: float = 0.0,
        precision: float = EXACT,
    ) -> Outcomes:
        """Single outcomes; those the base misses are kept apart. ``rest``: 1 - sum of the base."""
        a, b, c = (np.asarray(x, dtype=np.float64) for x in (first, second, base))
        if not abs(math.fsum([*c.tolist(), rest, -1.0])) <= 1e-9:
            raise ParameterError("rest", f"what the base, {math.fsum(c):g}, lacks of 1", rest)
        return cls(a, b, c, rest=rest, precision=precision)._seen()

    def _seen(self) -> Outcomes:
        """Outcomes of hardly any base mass taken out of the base."""
        seen = self.base > _NOTHING
        if seen.all():
            return self
        missed = np.stack([self.first[~seen], self.second[~seen], self.base[~seen]], axis=1)
        more = [(a, b, c) for a, b, c in missed.tolist() if a or b]
        return replace(self._keep(seen), unseen=(*self.unseen, *more))

    def swapped(self) -> Outcomes:
        """The victim's two values exchanged."""
        return replace(
            self,
            first=self.second,
            second=self.first,
            low=self.low and self.low[::-1],
            high=self.high and self.high[::-1],
            unseen=tuple((b, a, c) for a, b, c in self.unseen),
        )

    def thinned(self, rate: float) -> Outcomes:
        """Each user reports only with this probability: an erasure symbol, alike under all laws."""
        if rate == 1.0:
            return self
        return replace(
            self,
            first=_times(rate, self.first),
            second=_times(rate, self.second),
            base=_times(rate, self.base),
            unseen=tuple(
                (_scaled(rate, a), _scaled(rate, b), _scaled(rate, c)) for a, b, c in self.unseen
            ),
            rest=_scaled(rate, self.rest),
            silent=rate * self.silent + (1.0 - rate),
            precision=self.precision + 4.0 * U,
        )._seen()

    def shrunk(self, share: float) -> Outcomes:
        """The same outcomes against this share of the base; the rest tells nothing."""
        if self.silent:
            raise ValueError("A silent symbol is as likely under the base as under both values.")
        low, high = self.low, self.high
        return replace(
            self,
            base=_times(share, self.base),
            low=low and (low[0] / share * (1.0 - 4.0 * U), low[1] / share * (1.0 - 4.0 * U)),
            high=high and (high[0] / share * (1.0 + 4.0 * U), high[1] / share * (1.0 + 4.0 * U)),
            unseen=tuple((a, b, _scaled(share, c)) for a, b, c in self.unseen),
            rest=share * self.rest + (1.0 - share),
            precision=self.precision + 4.0 * U,
        )._seen()

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
            unseen=tuple(
                ((1.0 - share) * c + _scaled(share, a), (1.0 - share) * c + _scaled(share, b), c)
                for a, b, c in self.unseen
            ),
            precision=self.precision + 8.0 * U,
        )

    def delta_upper(self, n: int, epsilon: float, width: float) -> float:
        """Upper bound of (1/n) E[(V_1 + ... + V_n)+] plus the mass the base misses.

        Where first / base is huge, one such report decides alone: the rarest cells are taken out of
        the base and their first mass is added, as long as that is below ``width`` of the result.
        """
        epsilon = min(epsilon, _STEEPEST)  # a smaller e can only raise the result
        e = math.exp(epsilon)
        missed = self._missed(e)
        cells, budget, best = self._coarse(width), 1e-9, 1.0
        for _ in range(_ROUNDS):
            inside, extra = cells._without_rare(budget)
            value = mean_positive_part(inside._upper_law(epsilon), n, width=width).upper
            best = min(best, value + missed + extra)
            if extra <= 0.2 * width * (value + missed):
                break
            budget = 0.1 * width * (value + missed)
        return best

    def delta_lower(self, n: int, epsilon: float, width: float) -> float:
        """Lower bound of the same: cells at their means, rare ones merged."""
        if epsilon > _STEEPEST:
            alone = tuple(masses for masses in self.unseen if masses[1:] == (0.0, 0.0))
            return replace(self, unseen=alone)._surely_missed(1.0, n)
        e = math.exp(epsilon)
        missed = self._surely_missed(e, n)
        cells, budget, best = self._coarse(width), 1e-9, 0.0
        for _ in range(_ROUNDS):
            inside, extra = cells._merging_rare(budget)
            best = max(
                best, mean_positive_part(inside._lower_law(epsilon), n, width=width).lower + missed
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
        extra = 1.01 * float(self.first[out].sum()) + _UNDERFLOW * np.count_nonzero(out)
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
            rest=self.rest,
            precision=self.precision + len(out) * U,
        )
        return merged, float(self.first[out].sum())

    def _keep(self, cells: NDArray[np.bool_]) -> Outcomes:
        """Only these cells; the base mass of the others becomes rest, a smaller blanket."""
        return replace(
            self,
            first=self.first[cells],
            second=self.second[cells],
            base=self.base[cells],
            low=self.low and (self.low[0][cells], self.low[1][cells]),
            high=self.high and (self.high[0][cells], self.high[1][cells]),
            rest=math.fsum([self.rest, *self.base[~cells].tolist()]),
            precision=self.precision + U,
        )

    def _gains(self, first: Array, second: Array, e: float) -> tuple[Array, Array]:
        """first - e second of such masses, from below and from above."""
        error = 2.0 * self.precision
        least, most = first * (1.0 - error) - _UNDERFLOW, first * (1.0 + error) + _UNDERFLOW
        little, much = second * (1.0 - error) - _UNDERFLOW, second * (1.0 + error) + _UNDERFLOW
        low = np.where(first > 0.0, np.maximum(least, 0.0), 0.0) - e * np.where(
            second > 0.0, much, 0.0
        )
        high = np.where(first > 0.0, most, 0.0) - e * np.maximum(little, 0.0)
        return low, high

    def _missed(self, e: float) -> float:
        """What the outcomes outside the base add at most."""
        first, second, _ = np.array(self.unseen).reshape(-1, 3).T
        return math.fsum(np.maximum(self._gains(first, second, e)[1], 0.0)) * (1.0 + U)

    def _surely_missed(self, e: float, n: int) -> float:
        """What they add at least, though any of the others may report them too (blanket.md)."""
        if not self.unseen:
            return 0.0
        first, second, base = np.array(self.unseen).T
        gains = self._gains(first, second + n * base, e)[0]
        return math.fsum(np.maximum(gains, 0.0)) * (1.0 - U) - _NEGLIGIBLE

    def _means(self, e: float) -> tuple[Array, Array]:
        """V averaged over each cell, from below and from above; may overflow to -inf."""
        with np.errstate(over="ignore"):
            low, high = (gain / self.base for gain in self._gains(self.first, self.second, e))
        if np.any(high > _ENOUGH):
            raise ConversionError(
                f"Reports with so little noise have likelihood ratios beyond {_ENOUGH:g}."
            )
        return low, high

    def _law(self, values: Array, weights: Array, silence: float) -> Law:
        return Law(
            np.concatenate([values, [0.0, silence]]),
            np.concatenate([weights, [self.rest, self.silent]]),
            self.precision,
        )

    def _lower_law(self, epsilon: float) -> Law:
        """Each cell at its mean: less in convex order; moved down by the rounding error.

        Values are cut so that n <= 1e12 of the largest cannot outweigh one of the smallest.
        """
        values = np.clip(self._means(math.exp(epsilon))[0], -_ENOUGH, 1e-13 * _ENOUGH)
        return self._law(values, self.base, -math.expm1(epsilon) * (1.0 + 8.0 * U))

    def _upper_law(self, epsilon: float) -> Law:
        """Each cell spread to its extremes, mean kept: more in convex order; moved up alike."""
        e, silence = math.exp(epsilon), -math.expm1(epsilon) * (1.0 - 8.0 * U)
        least, value = self._means(e)
        if self.low is None or self.high is None:
            return self._law(np.maximum(value, -_ENOUGH), self.base, silence)
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
            silence,
        )


def _scaled(factor: float, mass: float) -> float:
    """The product; what is not 0 stays so."""
    return max(factor * mass, _LEAST) if mass else 0.0


def _times(factor: float, masses: Array) -> Array:
    with np.errstate(under="ignore"):
        return np.where(masses > 0.0, np.maximum(factor * masses, _LEAST), 0.0)
