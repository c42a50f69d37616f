"""What every privacy curve can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from shuffledp.accounting.curves.ends import Ends
from shuffledp.errors import ConversionError
from shuffledp.numerics.enclosure import FINE, Enclosure


class Curve:
    """A bound on the privacy loss, as a curve.

    An upper curve answers with upper bounds on the loss, a lower curve with lower bounds; for the
    trade-off function an upper bound on the loss is a number below the true trade-off.

    Examples
    --------
    >>> from shuffledp import LDP, Shuffled
    >>> curve = Shuffled(LDP(eps0=1.0), n=10_000).curve("stronger-clones")
    >>> curve.delta(0.05) < curve.delta(0.04)
    True
    """

    kind: ClassVar[str] = "curve"

    def delta(self, epsilon: float) -> float:
        """Bound on delta at this epsilon."""
        raise self._cannot("delta")

    def epsilon(self, delta: float) -> float:
        """Bound on epsilon at this delta."""
        raise self._cannot("epsilon")

    def renyi(self, order: float) -> float:
        """Bound on the Rényi divergence of this order."""
        raise self._cannot("renyi")

    def tradeoff(self, alpha: float) -> float:
        """Bound on the smallest type II error at type I error alpha."""
        raise self._cannot("tradeoff")

    def enclose(self, epsilon: float, width: float = FINE) -> Enclosure:
        """What the curve says of delta, about as exactly as ``width`` asks for: less saves time."""
        value = self.delta(epsilon)
        return Enclosure(value, value)

    def sampled(self, epsilons: list[float]) -> tuple[Ends, Ends]:
        """Coarse ends of H(P||Q) and of H(Q||P) at many epsilons, for pictures and compositions."""
        values = np.array([self.delta(epsilon) for epsilon in epsilons])
        return (values, values), (values, values)

    def pairs(self) -> list[Any]:
        """The profiles of the pairs of data sets it is made of, if so."""
        return []

    def likely_epsilon(self, delta: float, most: float) -> float:
        """A quick estimate of epsilon(delta), at most ``most``; 0 if there is none."""
        return 0.0

    def seen_below(self, epsilon: float, delta: float) -> bool:
        """Whether a quick look shows that delta(epsilon) <= delta."""
        return False

    def seen_above(self, epsilon: float, delta: float) -> bool:
        """Whether a quick look shows that delta(epsilon) is well above delta."""
        return False

    def likely_above(self, epsilon: float, delta: float) -> bool:
        """Whether epsilon(delta) is likely to be well above this one: a limit theorem tells."""
        return False

    def expecting(self, epsilon: float) -> Curve:
        """The same curve, whose epsilon is likely to be near this one: fewer looks may find it."""
        return self

    def sketched(self, quantity: str, at: Sequence[float]) -> list[float]:
        """Answers at many points for a picture: as sound,
        but a few percent of slack may save time."""
        answer = getattr(self, quantity)
        return [float(answer(x)) for x in at]

    def _cannot(self, question: str) -> ConversionError:
        return ConversionError(f"A {self.kind} bound does not answer {question!r} questions.")
