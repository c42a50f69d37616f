"""Users who report only sometimes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shuffledp import checks
from shuffledp.accounting.randomizers.base import VictimPair, Wrapper, wrapped
from shuffledp.accounting.randomizers.swaps import Swap
from shuffledp.errors import ParameterError


@dataclass(frozen=True)
class CheckIn(Wrapper):
    """Each user, independently, runs the randomizer with probability ``rate``, else stays silent.

    The number of users n is public and the number of reports visible: silence is one more symbol.
    (m of n chosen without replacement is another protocol, :class:`Subsampled`.)

    Parameters
    ----------
    randomizer
        What those run who report.
    rate
        Probability of a report.

    Examples
    --------
    >>> from shuffledp import KRR, CheckIn, Shuffled
    >>> protocol = Shuffled(CheckIn(KRR(16, eps0=2.0), rate=0.1), n=100_000)
    >>> round(protocol.bound("blanket", delta=1e-6).value, 4)
    0.0056
    """

    rate: float

    def __post_init__(self) -> None:
        wrapped(self.randomizer, 1, "KRR(k=16, eps0=2.0)")
        rate = checks.unit("rate", self.rate)
        if rate == 0.0:
            raise ParameterError("rate", "a number in (0, 1]", self.rate)
        object.__setattr__(self, "rate", rate)

    def __str__(self) -> str:
        return f"{self.randomizer}, checked in with probability {self.rate:g}"

    def _thin(self, pairs: list[VictimPair]) -> list[VictimPair]:
        return [replace(pair, outcomes=pair.outcomes.thinned(self.rate)) for pair in pairs]

    def blankets(self) -> list[VictimPair]:
        return self._thin(self.randomizer.blankets())

    def swaps(self) -> list[Swap]:
        return [swap.thinned(self.rate) for swap in self.randomizer.swaps()]

    def datasets(self, points: Sequence[float] = ()) -> list[VictimPair]:
        return self._thin(self.randomizer.datasets(points))
