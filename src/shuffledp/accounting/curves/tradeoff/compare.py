"""Comparison of trade-off functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shuffledp import checks
from shuffledp.accounting.curves.tradeoff.function import TradeoffFunction


@dataclass(frozen=True)
class Comparison:
    """Whether f >= g; ``margin`` is the least f - g, reached at ``alpha``."""

    holds: bool
    alpha: float
    margin: float

    def __bool__(self) -> bool:
        return self.holds


def compare(f: TradeoffFunction, g: TradeoffFunction, tolerance: float = 0.0) -> Comparison:
    """Exact up to rounding: between the knots of either both are linear."""
    slack = checks.non_negative("tolerance", tolerance)
    knots = np.union1d(f.alphas, g.alphas)
    difference = f(knots) - g(knots)
    at = int(np.argmin(difference))
    margin = float(difference[at])
    return Comparison(margin >= -slack, float(knots[at]), margin)
