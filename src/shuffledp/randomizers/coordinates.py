"""Vectors, one coordinate at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp import checks
from shuffledp.errors import ParameterError
from shuffledp.randomizers.base import Randomizer, Scene
from shuffledp.randomizers.continuous import DiscreteLaplace, Laplace, TruncatedLaplace
from shuffledp.randomizers.finite import DiscretePiecewise, OneBitMean, Piecewise

_INNER = (OneBitMean, Piecewise, DiscretePiecewise, Laplace, TruncatedLaplace, DiscreteLaplace)


@dataclass(frozen=True)
class OneCoordinate(Randomizer):
    """A vector of ``dimensions`` numbers: one coordinate, drawn uniformly, randomized and named.

    The coordinate's number tells nothing and leaves every likelihood ratio as it is, so a pair
    that is worst in each coordinate leaks what the inner randomizer leaks. Any other pair is a
    mixture of inner pairs; each is below the worst one in convex order (as proven for the inner
    randomizers admitted here), hence so is their mixture.
    """

    randomizer: Randomizer
    dimensions: int

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer, _INNER):
            raise ParameterError(
                "randomizer", "one-bit mean, piecewise or Laplace noise", self.randomizer
            )
        checks.whole("dimensions", self.dimensions, 1)

    @property
    def eps0(self) -> float:  # type: ignore[override]
        return self.randomizer.eps0

    @property
    def pair_argument(self) -> str:  # type: ignore[override]
        return f"{self.randomizer.pair_argument}, in every coordinate"

    def __str__(self) -> str:
        return f"one of {self.dimensions} coordinates: {self.randomizer}"

    def blankets(self) -> list[Scene]:
        return self.randomizer.blankets()

    def datasets(self, points: Sequence[float] = ()) -> list[Scene]:
        return self.randomizer.datasets()
