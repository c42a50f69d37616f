"""A pair of numbers that holds the truth between them."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.errors import InternalError

FINE, SEARCH, COMPOSED, COARSE, QUICK = 0.0, 1e-4, 2e-3, 0.01, 0.05
"""Relative widths to ask for: as narrow as offered, enough for a root, for one round of many, for a
picture, for a direction."""


@dataclass(frozen=True)
class Enclosure:
    """lower <= truth <= upper, all numerical error included."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise InternalError(f"empty enclosure: {self.lower!r} above {self.upper!r}")

    @property
    def width(self) -> float:
        """Relative width, 0 for an exact value."""
        return 0.0 if self.upper == self.lower else (self.upper - self.lower) / self.upper

    @property
    def middle(self) -> float:
        """The best guess."""
        return 0.5 * (self.lower + self.upper)

    def narrowed(self, other: Enclosure) -> Enclosure:
        """What both allow."""
        return Enclosure(max(self.lower, other.lower), min(self.upper, other.upper))
