"""Where a curve ends and where a search ends: never to be taken for each other."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.numerics.rounding import Array


@dataclass(frozen=True)
class PureEnd:
    """delta is proven to be 0 from this epsilon on, a pure budget; infinite: nowhere."""

    epsilon: float

    @property
    def reached(self) -> bool:
        """Whether delta ever vanishes."""
        return math.isfinite(self.epsilon)

    def vanished(self, epsilon: float) -> bool:
        """Whether delta is 0 at this epsilon."""
        return self.epsilon <= epsilon and self.reached


@dataclass(frozen=True)
class SearchLimit:
    """Searches stop at this epsilon; nothing is said of delta beyond it."""

    epsilon: float


NEVER = PureEnd(math.inf)
"""Some delta is left at every epsilon."""
End = PureEnd | SearchLimit
Ends = tuple[Array, Array]
"""Lower and upper ends of delta at some epsilons."""
