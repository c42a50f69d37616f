"""Any local randomizer, known only by its local guarantee."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shuffledp import checks
from shuffledp.accounting.randomizers.base import Randomizer, VictimPair
from shuffledp.accounting.randomizers.finite import KRR
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.accounting.randomizers.swaps import Swap, any_randomizer
from shuffledp.errors import ConversionError


@dataclass(frozen=True)
class LDP(Randomizer):
    """Any eps0-LDP randomizer (or (eps0, delta0)-LDP), one for all users.

    Replacing one user's value changes the law of that user's report by a factor of at most
    exp(eps0), up to delta0.

    Parameters
    ----------
    eps0, delta0
        The local guarantee.
    sequential
        Whether what a user reports may depend on earlier reports, not on that user's value alone.

    Examples
    --------
    >>> from shuffledp import LDP, Shuffled
    >>> Shuffled(LDP(eps0=2.0), n=100_000).bound("stronger-clones", delta=1e-6).value
    0.033187...
    """

    eps0: float
    delta0: float = 0.0
    sequential: bool = False
    """The data are shuffled, then visited in order:
    each randomizer may depend on earlier reports."""
    pair_argument: ClassVar[str] = (
        "the largest law of all eps0-LDP randomizers (docs/proofs/stronger_clones.md)"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", checks.positive("eps0", self.eps0))
        if self.delta0 != 0.0 or isinstance(self.delta0, bool):
            object.__setattr__(self, "delta0", checks.probability("delta0", self.delta0))

    def __str__(self) -> str:
        if self.delta0:
            return f"any (eps0={self.eps0:g}, delta0={self.delta0:g})-LDP randomizer"
        order = ", each chosen by looking at earlier reports" if self.sequential else ""
        return f"any {self.eps0:g}-LDP randomizer{order}"

    def blankets(self) -> list[VictimPair]:
        if self.delta0:
            raise ConversionError("A blanket is known for pure randomizers only (delta0 = 0).")
        decay = math.exp(-self.eps0)
        likely, rare = 1.0 / (1.0 + decay), decay / (1.0 + decay)
        rest = math.tanh(0.5 * self.eps0)  # 1 - 2 rare
        pair = Outcomes.discrete([likely, rare], [rare, likely], np.full(2, rare), rest)
        return [VictimPair("any two values", "blanket", pair, symmetric=True)]

    def swaps(self) -> list[Swap]:
        return [] if self.delta0 or self.sequential else [any_randomizer(self.eps0)]

    def datasets(self, points: Sequence[float] = ()) -> list[VictimPair]:
        eps0 = min(self.eps0, 299.0)
        return [
            VictimPair(f"{k}-RR: {pair.victim}", pair.others, pair.outcomes, pair.symmetric)
            for k in (2, 3)
            for pair in KRR(k, eps0=eps0).datasets()
        ]
