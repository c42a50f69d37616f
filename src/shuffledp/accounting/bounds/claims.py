"""Trade-off functions with their labels: what a bound claims, for whom, on which side."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.accounting.curves.tradeoff import TradeoffFunction
from shuffledp.labels import Labelled, Theorem, Value


@dataclass(frozen=True, eq=False)
class TradeoffClaim(Labelled):
    """A trade-off function that bounds something, and every number read off it, labelled.

    ``direction`` speaks of the privacy loss: UPPER means the function lies below the true one.
    """

    function: TradeoffFunction
    source: Theorem

    def tradeoff(self, alpha: float) -> Value:
        """Bound on the type II error at type I error alpha."""
        return self._value(self.function(alpha))

    def delta(self, epsilon: float) -> Value:
        """Bound on delta at epsilon, the larger of both orders of the two laws."""
        both = (self.function, self.function.inverse())
        return self._value(max(f.delta(epsilon) for f in both))

    def epsilon(self, delta: float) -> Value:
        """Bound on epsilon at delta, the larger of both orders."""
        both = (self.function, self.function.inverse())
        return self._value(max(f.epsilon(delta) for f in both))

    def renyi(self, order: float) -> Value:
        """Bound on the Rényi divergence, the larger of both orders.

        Infinite where rounding was taken off the function: a little revealing mass is enough. Ask
        the underlying exact function, before it was lowered, for an estimate.
        """
        both = (self.function, self.function.inverse())
        return self._value(max(f.renyi(order) for f in both))

    def _value(self, number: float) -> Value:
        return self.source.value(number)
