"""A fixed number of users drawn each round, and many rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp import checks
from shuffledp.accounting.randomizers.base import VictimPair, Wrapper, wrapped
from shuffledp.errors import ConversionError
from shuffledp.labels import counted


@dataclass(frozen=True)
class _OfRounds(Wrapper):
    """Data sets depend on n, so theorems handle these by name."""

    def __post_init__(self) -> None:
        wrapped(self.randomizer, self.layer, "Gaussian(sigma=5.0)")

    def blankets(self) -> list[VictimPair]:
        raise ConversionError(f"No blanket is computed for {self}.")

    def datasets(self, points: Sequence[float] = ()) -> list[VictimPair]:
        raise ConversionError(f"No list of data sets is kept for {self}.")


@dataclass(frozen=True)
class Subsampled(_OfRounds):
    """Each round ``m`` of the n users, drawn without replacement by somebody trusted, report.

    Who was drawn stays secret; m and n are public.

    Parameters
    ----------
    randomizer
        What those run who are drawn.
    m
        How many are drawn.

    Examples
    --------
    >>> from shuffledp import KRR, Shuffled, Subsampled
    >>> drawn = Shuffled(Subsampled(KRR(4, eps0=1.0), m=100), n=1000)
    >>> 0.0 < drawn.delta(epsilon=0.05).upper < 1e-3
    True
    """

    m: int
    layer = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "m", checks.count("m", self.m))

    def __str__(self) -> str:
        return f"{self.randomizer}, {counted(self.m, 'user')} drawn"


@dataclass(frozen=True)
class Repeated(_OfRounds):
    """The same users report in every round, adaptively, with fresh randomness.

    Parameters
    ----------
    randomizer
        What they run in one round.
    rounds
        How many rounds there are.

    Examples
    --------
    >>> from shuffledp import KRR, Repeated, Shuffled
    >>> Shuffled(KRR(4, eps0=1.0), 100) ** 7 == Shuffled(Repeated(KRR(4, eps0=1.0), 7), 100)
    True
    """

    rounds: int
    layer = 2

    @property
    def eps0(self) -> float:  # type: ignore[override]
        return self.rounds * self.randomizer.pure

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rounds", checks.count("rounds", self.rounds))

    def __str__(self) -> str:
        return f"{self.randomizer}, {self.rounds:,} round{'s' * (self.rounds > 1)}"
