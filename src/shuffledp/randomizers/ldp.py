"""Any local randomizer, known only by its local guarantee."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp import checks


@dataclass(frozen=True)
class LDP:
    """Any eps0-LDP randomizer (or (eps0, delta0)-LDP), one for all users of a slot.

    Replacing one user's value changes the law of that user's report by a factor of at most
    exp(eps0), up to delta0.
    """

    eps0: float
    delta0: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", checks.positive("eps0", self.eps0))
        if self.delta0 != 0.0:
            object.__setattr__(self, "delta0", checks.probability("delta0", self.delta0))

    def __str__(self) -> str:
        if self.delta0:
            return f"any (eps0={self.eps0:g}, delta0={self.delta0:g})-LDP randomizer"
        return f"any {self.eps0:g}-LDP randomizer"
