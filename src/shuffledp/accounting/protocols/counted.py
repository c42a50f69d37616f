"""What protocols have in common whose analyst sees numbers, not reports."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence

from shuffledp.accounting.bounds import Bound
from shuffledp.accounting.bounds.counted import COUNTERS, COUNTERS_DATASET, Scenes
from shuffledp.accounting.bounds.counters import Counter
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.protocols.base import BoundedProtocol, Bounds


class Counted(BoundedProtocol):
    """The analyst sees independent whole numbers; a user's change moves one of them, or two."""

    n: int | None
    neighbours: str

    @abstractmethod
    def scenes(self) -> Scenes:
        """Data sets, each as the counters that are moved; the guarantee is the same for all."""

    def counters(self) -> Sequence[Counter]:
        """What is moved in any of them: the guarantee needs no more."""
        return self.scenes()[0]

    def candidates(self) -> tuple[Bounds, Bounds]:
        return [COUNTERS], [COUNTERS_DATASET]

    def _known(self) -> Bounds:
        guaranteed, leaked = self.candidates()
        return [*guaranteed, *leaked]

    def _curve(self, bound: Bound[Curve]) -> Curve:
        return bound.function(self.scenes() if bound.leaks else [self.counters()], 0)

    def leakiest(self) -> Sequence[Counter]:
        """The counters of the data set for many rounds."""
        return self.scenes()[0]

    @property
    def eps0(self) -> float:
        """Local privacy budget of what one user sends, infinite if there is none."""
        return math.inf
