"""Curves given as a formula epsilon(delta) with a regime."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from shuffledp.accounting.curves.base import Curve
from shuffledp.errors import RegimeError
from shuffledp.numerics.rounding import FORMULA
from shuffledp.numerics.search import bisect

_SMALLEST_LOG_DELTA = -690.0
_LARGEST_EPSILON = 700.0
"""Beyond, and at all smaller deltas, nothing is left of a trade-off."""


@dataclass(frozen=True)
class ClosedFormCurve(Curve):
    """A bound given as a formula; it raises RegimeError where the theorem does not apply.

    The formula falls with delta and, where it holds for some delta, it holds for all larger ones up
    to ``largest_delta``.

    Examples
    --------
    >>> import math
    >>> from shuffledp.accounting.curves import ClosedFormCurve
    >>> curve = ClosedFormCurve(lambda delta: math.sqrt(math.log(1.0 / delta)) / 100.0)
    >>> round(curve.epsilon(1e-6), 4)
    0.0372
    """

    formula: Callable[[float], float]
    largest_delta: float = 1.0
    kind: ClassVar[str] = "closed-form (epsilon, delta)"

    def epsilon(self, delta: float) -> float:
        return self.formula(delta)

    def delta(self, epsilon: float) -> float:
        high = math.log(self.largest_delta) - FORMULA
        if self.formula(math.exp(high)) > epsilon:
            raise RegimeError("some delta < 1 with epsilon(delta) <= epsilon", epsilon)
        found = bisect(lambda x: self._holds(x, epsilon), high, _SMALLEST_LOG_DELTA)
        return math.exp(found.good)

    def _holds(self, log_delta: float, epsilon: float) -> bool:
        try:
            return self.formula(math.exp(log_delta)) <= epsilon
        except RegimeError:
            return False

    def tradeoff(self, alpha: float) -> float:
        best = 0.0
        for k in range(1, 400):
            delta = self.largest_delta * math.exp(-0.1 * k)
            try:
                epsilon = self.formula(delta)
            except RegimeError:
                break
            if epsilon > _LARGEST_EPSILON:
                break
            e = math.exp(epsilon)
            best = max(best, 1.0 - delta - e * alpha, (1.0 - delta - alpha) / e)
        return best
