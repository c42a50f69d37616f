"""Any finite channel, given as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from shuffledp.accounting.randomizers.base import Randomizer, VictimPair
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.accounting.randomizers.swaps import Swap, channel_swap
from shuffledp.errors import ParameterError
from shuffledp.numerics.rounding import Array, roundings, up

_MOST_SWAPPED = 5000
"""Laws times pairs times outcomes for which the swap bound is computed."""


def _table(matrix: object) -> Array:
    """A matrix of floats, or an error naming the row at fault."""
    try:
        rows = [np.array(row, dtype=np.float64) for row in matrix]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        for i, row in enumerate(matrix if isinstance(matrix, list | tuple) else [], start=1):
            try:
                np.array(row, dtype=np.float64)
            except (TypeError, ValueError):
                raise ParameterError("matrix", f"numbers only in row {i}", row) from None
        raise ParameterError("matrix", "a table of numbers", matrix) from None
    for i, row in enumerate(rows, start=1):
        if row.ndim != 1:
            raise ParameterError("matrix", "at least two rows of numbers", row.tolist())
        if row.shape != rows[0].shape:
            raise ParameterError("matrix", f"as long in row {i} as in row 1", row.tolist())
    return np.array(rows)


@dataclass(frozen=True, eq=False)
class Channel(Randomizer):
    """Any finite channel: row x is the law of the report of a user with value x.

    Parameters
    ----------
    matrix
        One row of probabilities per value; rows are normalised if they sum to 1 up to rounding.

    Examples
    --------
    >>> from shuffledp import Channel
    >>> round(Channel([[0.75, 0.25], [0.25, 0.75]]).eps0, 4)
    1.0986
    """

    matrix: Array
    pair_argument = "all pairs of inputs are computed"

    def __post_init__(self) -> None:
        rows = _table(self.matrix)
        if rows.ndim != 2 or rows.shape[0] < 2 or rows.shape[1] < 1:
            raise ParameterError(
                "matrix", "at least two rows of equal length", f"shape {rows.shape}"
            )
        for i, row in enumerate(rows):
            if not np.all(np.isfinite(row)):
                raise ParameterError("matrix", f"finite in row {i + 1}", row.tolist())
            if np.any(row < 0.0):
                raise ParameterError("matrix", f"non-negative in row {i + 1}", row.tolist())
            if abs(math.fsum(row) - 1.0) > 1e-9:
                raise ParameterError("matrix", f"a law summing to 1 in row {i + 1}", math.fsum(row))
        object.__setattr__(self, "matrix", rows / [[math.fsum(row)] for row in rows])

    def __str__(self) -> str:
        inputs, outputs = self.matrix.shape
        return f"channel with {inputs} inputs and {outputs} outputs, eps0 = {self.eps0:g}"

    @property
    def eps0(self) -> float:  # type: ignore[override]
        low, high = self.matrix.min(axis=0), self.matrix.max(axis=0)
        if np.any((low == 0.0) & (high > 0.0)):
            return math.inf
        low, high = low[high > 0.0], high[high > 0.0]
        with np.errstate(over="ignore"):
            excess = (high - low) / low  # the ratio without 1, to full precision
        logs = np.where(np.isinf(excess), np.log(high) - np.log(low), np.log1p(excess))
        largest = float(logs.max(initial=0.0))
        # rows are meant to sum to 1: what two of them lack moves their ratios
        lack = max(abs(math.fsum([*row, -1.0])) for row in self.matrix.tolist())
        return up(largest, roundings(64)) + 2.02 * lack if largest else 0.0

    def _pairs(self) -> list[tuple[int, int]]:
        inputs = len(self.matrix)
        return [(x, y) for x in range(inputs) for y in range(x + 1, inputs)]

    @cached_property
    def _rest(self) -> float:
        """What the smallest likelihoods lack of 1, from the rows normalised in fractions."""
        laws = []
        for row in self.matrix.tolist():
            masses = [Fraction(x) for x in row]
            total = sum(masses)
            laws.append([mass / total for mass in masses])
        columns = zip(*laws, strict=True)
        return float(1 - sum(min(column) for column in columns))

    def blankets(self) -> list[VictimPair]:
        blanket = self.matrix.min(axis=0)
        return [
            VictimPair(
                f"{x + 1} against {y + 1}",
                "blanket",
                Outcomes.discrete(self.matrix[x], self.matrix[y], blanket, self._rest),
            )
            for x, y in self._pairs()
        ]

    def swaps(self) -> list[Swap]:
        rows = self.matrix[:, self.matrix.max(axis=0) > 0.0]
        if not rows.min() > 0.0 or len(rows) ** 3 * rows.shape[1] > _MOST_SWAPPED:
            return []
        return [channel_swap(rows, x, y) for x, y in self._pairs()]

    def datasets(self, points: Sequence[float] = ()) -> list[VictimPair]:
        return [
            VictimPair(
                f"{x + 1} against {y + 1}",
                f"all at {z + 1}",
                Outcomes.discrete(self.matrix[x], self.matrix[y], row),
            )
            for x, y in self._pairs()
            for z, row in enumerate(self.matrix)
        ]
