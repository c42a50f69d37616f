"""Outcomes of a report under three laws: the victim's two values and a common base.

The base is the law of another user (a data set: exact) or a blanket below all of them (an upper
bound). What matters of an outcome is V = (first - e second) / base and its base mass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.errors import ParameterError
from shuffledp.numerics.rounding import Array, down, roundings, up

EXACT = roundings(32)
"""Relative error of masses written down in closed form: some twenty roundings, two exponentials."""
_NOTHING = 1e-280
"""Base masses below this count as none."""
_LEAST = 5e-324


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Masses of outcome cells under the three laws.

    ``low`` and ``high`` hold, for each cell, bounds of (first / base, second / base) inside it;
    None means each cell is a single outcome, or many of equal ratios; an infinite bound takes the
    cell out of the blanket, its first mass being added instead. ``unseen`` are the masses of
    (first, second, base) where the base vanishes or nearly so. What a blanket lacks, ``rest``,
    tells nothing (V = 0); ``silent`` is the mass of the symbol alike under all three laws (V = 1 -
    e). ``precision`` bounds the relative error of every mass, ``rest`` and ``silent`` included: no
    mass is found by subtracting the others from 1, and base, rest and silent together must make a
    law.
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
        return replace(self.kept(seen), unseen=(*self.unseen, *more))

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
            precision=self.precision + roundings(4),
        )._seen()

    def shrunk(self, share: float) -> Outcomes:
        """The same outcomes against this share of the base; the rest tells nothing."""
        if self.silent:
            raise ValueError("A silent symbol is as likely under the base as under both values.")
        low, high = self.low, self.high
        return replace(
            self,
            base=_times(share, self.base),
            low=low and (down(low[0] / share, roundings(4)), down(low[1] / share, roundings(4))),
            high=high and (up(high[0] / share, roundings(4)), up(high[1] / share, roundings(4))),
            unseen=tuple((a, b, _scaled(share, c)) for a, b, c in self.unseen),
            rest=share * self.rest + (1.0 - share),
            precision=self.precision + roundings(4),
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
            precision=self.precision + roundings(8),
        )

    def kept(self, cells: NDArray[np.bool_]) -> Outcomes:
        """Only these cells; the base mass of the others becomes rest, a smaller blanket."""
        return replace(
            self,
            first=self.first[cells],
            second=self.second[cells],
            base=self.base[cells],
            low=self.low and (self.low[0][cells], self.low[1][cells]),
            high=self.high and (self.high[0][cells], self.high[1][cells]),
            rest=math.fsum([self.rest, *self.base[~cells].tolist()]),
            precision=self.precision + roundings(1),
        )


def _scaled(factor: float, mass: float) -> float:
    """The product; what is not 0 stays so."""
    return max(factor * mass, _LEAST) if mass else 0.0


def _times(factor: float, masses: Array) -> Array:
    with np.errstate(under="ignore"):
        return np.where(masses > 0.0, np.maximum(factor * masses, _LEAST), 0.0)
