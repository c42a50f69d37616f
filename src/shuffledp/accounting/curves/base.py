"""What every privacy curve can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from shuffledp.errors import ConversionError


class Curve:
    """A bound on the privacy loss, as a curve.

    An upper curve answers with upper bounds on the loss, a lower curve with lower bounds; for the
    trade-off function an upper bound on the loss is a number below the true trade-off.
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

    def sketched(self, quantity: str, at: Sequence[float]) -> list[float]:
        """Answers at many points for a picture: as sound, but a few percent of slack may save time."""
        answer = getattr(self, quantity)
        return [float(answer(x)) for x in at]

    def _cannot(self, question: str) -> ConversionError:
        return ConversionError(f"A {self.kind} bound does not answer {question!r} questions.")
