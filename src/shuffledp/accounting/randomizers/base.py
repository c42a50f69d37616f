"""What every randomizer tells the accountant."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.accounting.randomizers.swaps import Swap
from shuffledp.errors import ParameterError


@dataclass(frozen=True, eq=False)
class VictimPair:
    """Two values of the victim against a base, in words and in numbers.

    Parameters
    ----------
    victim, others
        What the victim holds, and the others, in words.
    outcomes
        Laws of a report: the victim's two, and the base (a blanket, or the others' law).
    symmetric
        Whether exchanging the victim's two values changes nothing.
    """

    victim: str
    others: str
    outcomes: Outcomes
    symmetric: bool = False

    @property
    def ways(self) -> list[Outcomes]:
        """The outcomes, also with the victim's two values exchanged if that makes a difference."""
        return [self.outcomes] if self.symmetric else [self.outcomes, self.outcomes.swapped()]


class Randomizer(ABC):
    """A local randomizer, described but never run.

    A subclass tells the accountant ``eps0`` (infinite if there is no pure local budget),
    ``blankets`` and ``datasets``. ``blankets`` must cover the worst pair of inputs for every n and
    epsilon, up to exchanging the two (the accountant tries both); ``pair_argument`` says why.
    ``datasets`` are real data sets: all others at one value. docs/howto/extend.md writes one.
    """

    pair_argument: ClassVar[str] = ""
    layer: ClassVar[int] = 0
    """0 for one user's report, 1 for a draw of users, 2 for many rounds:
    each wraps lower ones only."""
    resolution: float = 0.0
    """Relative width of delta below which it takes too long to compute."""
    eps0: float
    """Pure local privacy budget, infinite if there is none."""

    @property
    def pure(self) -> float:
        """The budget at which delta is 0: eps0, or infinite if a local delta comes with it."""
        return math.inf if getattr(self, "delta0", 0.0) else self.eps0

    @property
    def domain(self) -> tuple[float, float] | None:
        """Interval of inputs, for randomizers of real values."""
        return None

    @abstractmethod
    def blankets(self) -> list[VictimPair]:
        """Candidate worst pairs against a blanket below every law."""

    @abstractmethod
    def datasets(self, points: Sequence[float] = ()) -> list[VictimPair]:
        """Concrete data sets. ``points`` of the domain, if it has one, replace the usual values."""

    def swaps(self) -> list[Swap]:
        """Candidate worst pairs for the swap bound, up to exchanging the two; none if unknown."""
        return []

    def part_swaps(self) -> list[Swap]:
        """The same where a report tells of one of several parts, and pairs of all kinds mix."""
        return self.swaps()


@dataclass(frozen=True)
class Wrapper(Randomizer):
    """Around a randomizer; delegates what does not change."""

    randomizer: Randomizer

    @property
    def eps0(self) -> float:  # type: ignore[override]
        return self.randomizer.pure

    @property
    def pair_argument(self) -> str:  # type: ignore[override]
        return self.randomizer.pair_argument

    @property
    def domain(self) -> tuple[float, float] | None:
        return self.randomizer.domain


def wrapped(randomizer: Randomizer, below: int, example: str) -> None:
    """Check what is to be wrapped: a randomizer of a layer lower than ``below``."""
    if not isinstance(randomizer, Randomizer):
        raise ParameterError("randomizer", f"a randomizer such as {example}", randomizer)
    if randomizer.layer >= below:
        condition = "wrapped in the order Repeated(Subsampled(CheckIn(report)))"
        raise ParameterError("randomizer", condition, str(randomizer))
