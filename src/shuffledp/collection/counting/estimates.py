"""Estimates whose error is whole noise of a known law: intervals from that law itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from shuffledp import checks
from shuffledp.accounting.randomizers.noise import Noise
from shuffledp.collection.analysis.estimate import Array, Estimate, quantile

_law = lru_cache(maxsize=16)(lambda noise: noise.law())


@dataclass(frozen=True, eq=False)
class NoisyEstimate(Estimate):
    """Every value is the truth plus ``unit`` times noise of this law less its mean, and other
    errors of deviations ``others``."""

    noise: Noise | None = None
    unit: float = 1.0
    others: Array | None = None

    def scaled(self, low: float, high: float) -> NoisyEstimate:
        """Shares of a range as numbers of that range."""
        moved, span = super().scaled(low, high), high - low
        assert isinstance(moved, NoisyEstimate)
        others = None if self.others is None else span * self.others
        return replace(moved, unit=span * self.unit, others=others)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Confidence intervals of this level, each for itself, from the law of the noise."""
        if self.noise is None:
            return super().interval(level)
        law = _law(self.noise)
        tail = 0.5 * (1.0 - checks.probability("level", level))
        below = np.cumsum(law.high)
        last = law.low.size - 1
        low = law.start + min(int(np.searchsorted(below, tail, side="right")), last)
        above = np.cumsum(law.high[::-1])
        high = law.start + last - min(int(np.searchsorted(above, tail, side="right")), last)
        reach = np.zeros_like(self.values) if self.others is None else quantile(level) * self.others
        down, up = (self.unit * (end - self.noise.mean) for end in (high, low))
        return (
            self.values - np.sqrt(max(down, 0.0) ** 2 + reach**2),
            self.values + np.sqrt(max(-up, 0.0) ** 2 + reach**2),
        )
