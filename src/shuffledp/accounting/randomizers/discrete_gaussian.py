"""Normal noise on whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shuffledp import checks
from shuffledp.accounting.randomizers.continuous import AdditiveNoise
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.errors import ParameterError, RegimeError
from shuffledp.numerics.rounding import Array

_LEAST_SCALE = 0.05
"""Deviation, in lengths of the interval, below which likelihood ratios overflow."""
_REACH = 10.5
_PRECISION = 1e-12


@dataclass(frozen=True)
class DiscreteGaussian(AdditiveNoise):
    """A value in {0, 1, ..., levels} plus whole k, likely as exp(-k^2 / (2 variance)) is large.

    There is no pure local budget.

    Parameters
    ----------
    levels
        Largest value.
    variance
        About the variance of the noise.

    Examples
    --------
    >>> from shuffledp import DiscreteGaussian
    >>> print(DiscreteGaussian(8, 25.0))
    Gaussian noise on 0..8, sigma = 0.625 of the range
    """

    levels: int
    variance: float
    resolution: ClassVar[float] = 1e-2  # type: ignore[misc]
    pair_argument: ClassVar[str] = "0 against the top is the worst pair (docs/proofs/devices.md)"

    def __post_init__(self) -> None:
        if checks.store_size(self, "levels", 1) > 20000:
            raise ParameterError("levels", "an integer from 1 to 20000", self.levels)
        object.__setattr__(self, "variance", checks.positive("variance", self.variance))
        if self.variance > 1e8:
            raise ParameterError("variance", "at most 1e8", self.variance)

    @property
    def sigma(self) -> float:
        """Deviation of the noise, in lengths of the interval (nearly: the grid is fine)."""
        return math.sqrt(self.variance) / self.levels

    @property
    def eps0(self) -> float:  # type: ignore[override]
        return math.inf

    def __str__(self) -> str:
        return f"Gaussian noise on 0..{self.levels}, sigma = {self.sigma:g} of the range"

    @property
    def span(self) -> float:
        return float(self.levels)

    def _placed(self, point: float) -> float:
        return float(round(point))

    def _outcomes(self, others: float | None) -> Outcomes:
        if self.sigma < _LEAST_SCALE:
            raise RegimeError(f"sigma >= {_LEAST_SCALE:g} of the range", f"{self.sigma:g}")
        deviation = math.sqrt(self.variance)
        reach = math.ceil(_REACH * deviation)
        beyond = np.arange(1.0, 30.0 * deviation + 60.0)
        total = 1.0 + 2.0 * float(np.exp(-0.5 * beyond**2 / self.variance).sum())
        z = np.arange(-reach, self.levels + reach + 1.0)
        top = float(self.levels)
        distances = [np.abs(z), np.abs(top - z)]
        if others is None:
            distances.append(np.maximum(*distances))
        else:
            distances.append(np.abs(z - round(others * top)))

        def tail(first: float) -> float:
            """Mass at this distance and all further ones."""
            steps = first + np.arange(len(beyond))
            return float(np.exp(-0.5 * steps**2 / self.variance).sum()) / total

        logs = [-0.5 * distance**2 / self.variance for distance in distances]
        masses: list[Array] = []
        for distance, log in zip(distances, logs, strict=True):
            ends = [tail(distance[place] + 1.0) for place in (0, -1)]
            masses.append(np.concatenate([ends[:1], np.exp(log) / total, ends[1:]]))
        low, high = [], []
        for log in logs[:2]:
            ratio = np.exp(log - logs[2])
            low.append(np.concatenate([[0.0], ratio * (1.0 - _PRECISION), [0.0]]))
            high.append(np.concatenate([[math.inf], ratio * (1.0 + _PRECISION), [math.inf]]))
        first, second, base = masses
        rest = 0.0
        if others is None:  # the sum of first - base; the end cells hold 1e-25 of it
            inner = first[1:-1] * -np.expm1(logs[2] - logs[0])
            rest = math.fsum([*inner, *np.maximum(first - base, 0.0)[[0, -1]]])
        return Outcomes(
            first,
            second,
            base,
            (low[0], low[1]),
            (high[0], high[1]),
            precision=_PRECISION,
            rest=rest,
        )
