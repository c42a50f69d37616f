"""Vectors: one coordinate at a time, or all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp import checks
from shuffledp.accounting.randomizers.base import Randomizer, VictimPair
from shuffledp.accounting.randomizers.continuous import (
    DiscreteLaplace,
    Gaussian,
    Laplace,
    TruncatedLaplace,
)
from shuffledp.accounting.randomizers.discrete_gaussian import DiscreteGaussian
from shuffledp.accounting.randomizers.finite import OneBitMean, RoundedResponse
from shuffledp.accounting.randomizers.piecewise import Windows
from shuffledp.accounting.randomizers.swaps import Swap, one_of_several
from shuffledp.errors import ParameterError

_INNER = (
    OneBitMean,
    RoundedResponse,
    Windows,
    Laplace,
    TruncatedLaplace,
    DiscreteLaplace,
    DiscreteGaussian,
)


@dataclass(frozen=True)
class OneCoordinate(Randomizer):
    """A vector of numbers: one coordinate, drawn uniformly, randomized and named.

    A pair that is worst in each coordinate leaks what the inner randomizer leaks; any other pair
    leaks less (docs/proofs/devices.md, for the inner randomizers admitted here).

    Parameters
    ----------
    randomizer
        What is done to the coordinate.
    dimensions
        How many coordinates there are.

    Examples
    --------
    >>> from shuffledp import Laplace, OneCoordinate
    >>> OneCoordinate(Laplace(eps0=1.0), 10).eps0
    1.0
    """

    randomizer: Randomizer
    dimensions: int

    def __post_init__(self) -> None:
        inner = self.randomizer
        if not (isinstance(inner, _INNER) or (isinstance(inner, Gaussian) and inner.scalar)):
            raise ParameterError(
                "randomizer",
                "one-bit mean, rounding, piecewise, plateau, Laplace or Gaussian noise on a line",
                inner,
            )
        checks.store_size(self, "dimensions", 1)

    @property
    def eps0(self) -> float:  # type: ignore[override]
        return self.randomizer.eps0

    @property
    def resolution(self) -> float:  # type: ignore[override]
        return self.randomizer.resolution

    @property
    def pair_argument(self) -> str:  # type: ignore[override]
        return f"{self.randomizer.pair_argument}, in every coordinate"

    def __str__(self) -> str:
        return f"one of {self.dimensions} coordinates: {self.randomizer}"

    def swaps(self) -> list[Swap]:
        return one_of_several(self.randomizer.part_swaps())

    def blankets(self) -> list[VictimPair]:
        return self.randomizer.blankets()

    def datasets(self, points: Sequence[float] = ()) -> list[VictimPair]:
        return self.randomizer.datasets()


@dataclass(frozen=True)
class GaussianVector(Gaussian):
    """All of a vector of numbers, clipped to a ball, plus normal noise on each.

    To the accountant the dimension makes no difference, a device must know it.

    Parameters
    ----------
    sigma
        Deviation of the noise on each number.
    sensitivity
        Diameter of the ball.
    scalar
        Whether values are numbers in an interval of that length.
    dimensions
        How many numbers there are.

    Examples
    --------
    >>> from shuffledp import GaussianVector
    >>> GaussianVector(5.0, dimensions=3).dimensions
    3
    """

    dimensions: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.store_size(self, "dimensions", 1)
        if self.scalar:
            raise ParameterError("scalar", "left out for vectors", self.scalar)

    @property
    def space(self) -> str:
        return "ball"
