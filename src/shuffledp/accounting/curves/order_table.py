"""Rényi curves known at all integer orders at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shuffledp.accounting.curves.base import Curve
from shuffledp.accounting.curves.convert import tradeoff_from_profile
from shuffledp.accounting.curves.ends import SearchLimit
from shuffledp.accounting.curves.renyi import rdp_delta, rdp_epsilon
from shuffledp.errors import ConversionError
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.rounding import Array

_STEEPEST = SearchLimit(60.0)
_FIRST_TOP = 64


@dataclass(frozen=True)
class OrderTable(Curve):
    """``table(top)`` holds upper bounds of the divergences of orders 0..top, from order 2 on.

    ``exact`` answers for one order of any kind, both directions of the divergence considered; a
    conversion to (epsilon, delta) searches the table and then asks ``exact`` at the order it chose.
    """

    table: Callable[[int], Array]
    most: int
    exact: Callable[[float], float] | None = None
    kind: ClassVar[str] = "Rényi"

    def renyi(self, order: float) -> float:
        if self.exact is not None:
            return self.exact(order)
        if order != math.floor(order) or not 2.0 <= order <= self.most:
            raise ConversionError(
                f"This Rényi bound is computed for integer orders 2 to {self.most}. Got {order:g}."
            )
        return float(self.table(int(order))[int(order)])

    def epsilon(self, delta: float) -> float:
        return self.best_epsilon(delta)[0]

    def best_epsilon(self, delta: float) -> tuple[float, int]:
        """epsilon at delta and the order that gives it (Canonne, Kamath, Steinke 2020)."""
        return self._best(
            lambda orders, values: (
                values
                + (-math.log(delta) + (orders - 1.0) * np.log1p(-1.0 / orders) - np.log(orders))
                / (orders - 1.0)
            ),
            lambda order, value: rdp_epsilon(order, value, delta),
        )

    def delta(self, epsilon: float) -> float:
        return self._best(
            lambda orders, values: (
                (orders - 1.0) * (values - epsilon + np.log1p(-1.0 / orders)) - np.log(orders)
            ),
            lambda order, value: rdp_delta(order, value, epsilon),
        )[0]

    def tradeoff(self, alpha: float) -> float:
        def profile(epsilon: float, _width: float) -> Enclosure:
            value = self.delta(epsilon)
            return Enclosure(value, value)

        return tradeoff_from_profile(profile, profile, alpha, _STEEPEST).lower

    def _best(
        self, score: Callable[[Array, Array], Array], answer: Callable[[float, float], float]
    ) -> tuple[float, int]:
        top = min(_FIRST_TOP, self.most)
        while True:
            values = self.table(top)[2:]
            scores = score(np.arange(2.0, top + 1.0), values)
            order = int(np.argmin(scores)) + 2
            if order < 0.7 * top or top >= self.most:
                break
            top = min(4 * top, self.most)
        value = float(values[order - 2])
        if self.exact is not None:
            value = max(value, self.exact(float(order)))
        return answer(float(order), value), order
