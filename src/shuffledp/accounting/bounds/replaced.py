"""A value that is replaced by another: as if removed and the other one added.

H_t(P || P') <= H_s(P || Q) + s H_(t/s)(Q || P') for every s, Q being what is seen without either
value (docs/proofs/allocation.md, section 7).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shuffledp.accounting.bounds.counters import Counter
from shuffledp.accounting.curves.ends import Ends
from shuffledp.numerics.composed_losses import Losses
from shuffledp.numerics.rounding import Array, roundings, up

_SHARES = (0.43, 0.48, 0.52, 0.57)
"""Of epsilon: what the removal takes."""
_FARTHEST = 600.0


@dataclass(frozen=True)
class ReplacedValue(Counter):
    """What ``removed`` tells of a value that is there or not, of one that may be another."""

    removed: Counter
    falls: bool = field(default=False, init=False)

    @property
    def pure(self) -> float:
        return 2.0 * self.removed.pure

    @property
    def farthest(self) -> float:
        return min(2.0 * self.removed.farthest, _FARTHEST)

    @property
    def rising(self) -> ReplacedValue:
        return self

    def worst(self, epsilons: Array) -> tuple[Ends, Ends]:
        low, high = self.one(epsilons), self._chained(epsilons)
        return (np.minimum(low[0][0], high), high), (np.minimum(low[1][0], high), high)

    def one(self, epsilons: Array) -> tuple[Ends, Ends]:
        """The other value changes nothing that is seen: what its removal leaks."""
        return self.removed.one(epsilons)

    def _chained(self, epsilons: Array) -> Array:
        near = np.minimum(epsilons, _FARTHEST)  # delta falls: beyond it is no larger
        first = np.multiply.outer(_SHARES, near)
        rest = np.maximum(near - first, 0.0) * (1.0 - roundings(4))
        places, back = np.unique(np.concatenate([first, rest]), return_inverse=True)
        (_, ahead), (_, reverse) = self.removed.worst(places)
        at = back.reshape(2 * len(_SHARES), near.size)
        grown = np.exp(first)
        found = ahead[at[: len(_SHARES)]] + grown * reverse[at[len(_SHARES) :]]
        return np.asarray(np.minimum(up(found.min(axis=0), roundings(64)), 1.0))

    def leaked_losses(self) -> tuple[Losses, Losses]:
        return self.removed.leaked_losses()
