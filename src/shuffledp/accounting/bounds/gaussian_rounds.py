"""Many rounds of shuffled Gaussian reports: the pair's trade-off function, composed.

The engine's upper ends at a grid of slopes give a trade-off function below the pair's own, and the
composition of such functions stays below the truth (docs/proofs/tradeoff.md): certified upper
bounds on the pair's delta(eps), tighter than any conversion of Rényi divergences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from shuffledp.accounting.bounds.identity import delta_upper
from shuffledp.accounting.bounds.scopes import gaussian
from shuffledp.accounting.bounds.shuffle_gaussian import GaussianPair, gaussian_pair
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.curves.tradeoff import TradeoffFunction, compose
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status, Theorem

_WIDTH = 5e-3
_SLACK = 4e-16
"""Rounding of 1 - delta when lines are drawn."""
_NOTHING_LEFT = 1.001 * _SLACK
_MOST_ROUNDS = 10**6


@lru_cache(maxsize=16)
def composed(pair: GaussianPair) -> TradeoffFunction:
    """T(M(D), M(D')) over all rounds, from below."""
    outcomes = pair.outcomes()
    swapped = outcomes.swapped()
    sd = math.sqrt(min(math.expm1(min(pair.forward(2.0).upper / pair.rounds, 50.0)), 4.0))
    units = np.concatenate(
        [np.arange(0.0, 2.0, 0.1), np.arange(2.0, 5.0, 0.2), np.arange(5.0, 10.1, 0.5)]
    )
    slopes, forward, reverse = [], list[float](), list[float]()
    epsilon, index = 0.0, 0

    def value(law: Outcomes, before: list[float]) -> float:
        if before and before[-1] <= _NOTHING_LEFT:  # it falls: the last value will do
            return before[-1]
        return min(delta_upper(law, pair.reports, epsilon, _WIDTH) + _SLACK, 1.0)

    while True:
        e = math.exp(epsilon)
        slopes.append(e)
        forward.append(value(outcomes, forward))
        reverse.append(value(swapped, reverse))
        index += 1
        if max(forward[-1], reverse[-1]) < 4.0 * _SLACK or epsilon > 100.0:
            break
        epsilon = sd * float(units[index]) if index < len(units) else 1.15 * epsilon
    f = TradeoffFunction.from_profile(np.array(slopes), np.array(forward), np.array(reverse))
    return compose(f, pair.rounds, points=2048)


@dataclass(frozen=True)
class ComposedPair(Curve):
    """Answers from the composed trade-off function, the larger loss of both directions."""

    pair: GaussianPair
    kind: ClassVar[str] = "trade-off"

    def _both(self) -> tuple[TradeoffFunction, TradeoffFunction]:
        f = composed(self.pair)
        return f, f.inverse()

    def delta(self, epsilon: float) -> float:
        return max(f.delta(epsilon) for f in self._both())

    def epsilon(self, delta: float) -> float:
        value = max(f.epsilon(delta) for f in self._both())
        if not math.isfinite(value):
            raise RegimeError("delta above the discretisation", delta)
        return value

    def tradeoff(self, alpha: float) -> float:
        return min(float(f(alpha)) for f in self._both())


@bound(
    Theorem(
        id="shuffle-gaussian-composed",
        citation="ours: the exact pair of Liew, Takahashi 2023, composed as a trade-off function",
        statement="upper ends of the pair's delta(eps) at a grid of slopes, both directions,"
        " composed over rounds",
        validity="the pair of shuffle-gaussian; sigma from 0.05 to 1e6 times the sensitivity;"
        " 2 to 1e6 rounds",
        status=Status.FIXED_PAIR,
        direction=Direction.UPPER,
        proof="proofs/shuffle_gaussian.md",
        note="for the pair of shuffle-gaussian only: no bound for other data sets",
    ),
    gaussian,
)
def shuffle_gaussian_composed(randomizer: Randomizer, n: int) -> Curve:
    """What the pair leaks over all rounds, from above and nearly exact."""
    pair = gaussian_pair(randomizer, n)
    if not 1 < pair.rounds <= _MOST_ROUNDS:
        raise RegimeError(f"2 to {_MOST_ROUNDS} rounds", pair.rounds)
    return ComposedPair(pair)
