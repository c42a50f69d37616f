"""Curves known through their Rényi divergences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from shuffledp.accounting.curves.base import Curve
from shuffledp.accounting.curves.convert import tradeoff_from_profile
from shuffledp.accounting.curves.ends import NEVER, End, PureEnd, SearchLimit
from shuffledp.errors import ConversionError
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.rounding import FORMULA

_STEEPEST = SearchLimit(60.0)
"""Steeper slopes are not tried when a trade-off function is read off: still a bound."""


def rdp_epsilon(order: float, divergence: float, delta: float) -> float:
    """epsilon at delta from one Rényi divergence (Canonne, Kamath, Steinke 2020)."""
    gain = -math.log(delta) + (order - 1.0) * math.log1p(-1.0 / order) - math.log(order)
    return max(divergence + (gain + FORMULA) / (order - 1.0), 0.0)


def rdp_delta(order: float, divergence: float, epsilon: float) -> float:
    """delta at epsilon from one Rényi divergence: the same inequality solved for delta."""
    exponent = (order - 1.0) * (divergence - epsilon + math.log1p(-1.0 / order)) - math.log(order)
    return math.exp(min(exponent + FORMULA * (1.0 + order * (divergence + epsilon)), 0.0))


@dataclass(frozen=True)
class RenyiCurve(Curve):
    """Upper bounds ``divergence(order)``; ``integer_orders`` where the theorem says integer >= 2.

    ``end`` is a pure budget that holds besides.

    Examples
    --------
    >>> from shuffledp.accounting.curves import RenyiCurve
    >>> round(RenyiCurve(lambda order: 0.005 * order).epsilon(1e-6), 3)
    0.43
    """

    divergence: Callable[[float], float]
    end: PureEnd = NEVER
    integer_orders: bool = False
    kind: ClassVar[str] = "Rényi"

    def __post_init__(self) -> None:
        object.__setattr__(self, "divergence", lru_cache(maxsize=None)(self.divergence))

    def renyi(self, order: float) -> float:
        if self.integer_orders and (order != math.floor(order) or order < 2.0):
            raise ConversionError(f"This Rényi bound holds for integer orders >= 2. Got {order}.")
        return min(self.divergence(order), self.end.epsilon)

    def epsilon(self, delta: float) -> float:
        found = self._best(lambda order, value: rdp_epsilon(order, value, delta))
        return min(found, self.end.epsilon)

    def delta(self, epsilon: float) -> float:
        if self.end.vanished(epsilon):
            return 0.0
        return self._best(lambda order, value: rdp_delta(order, value, epsilon))

    def tradeoff(self, alpha: float) -> float:
        def profile(epsilon: float, _width: float) -> Enclosure:
            value = self.delta(epsilon)
            return Enclosure(value, value)

        steepest: End = self.end if self.end.epsilon <= _STEEPEST.epsilon else _STEEPEST
        return tradeoff_from_profile(profile, profile, alpha, steepest).lower

    def _best(self, answer: Callable[[float, float], float]) -> float:
        """Smallest answer over a grid of orders, refined around the best one."""
        scored = [(answer(order, self.divergence(order)), order) for order in self._grid()]
        best, at = min(scored)
        if self.integer_orders:
            around: list[float] = [
                float(k) for k in range(max(2, int(at * 0.9)), int(at * 1.1) + 2)
            ]
            around = around[:: max(1, len(around) // 200)]
        else:
            around = [1.0 + (at - 1.0) * 1.01**k for k in range(-20, 21)]
        return min(best, *(answer(order, self.divergence(order)) for order in around))

    def _grid(self) -> Iterator[float]:
        if self.integer_orders:
            yield from sorted({round(2.0 * 1.12**k) for k in range(80)})
        else:
            yield from (1.0 + 1e-3 * 1.25**k for k in range(100))
