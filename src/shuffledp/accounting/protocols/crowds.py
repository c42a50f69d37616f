"""What released numbers have in common: rounds of them, neighbours, who takes part."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from shuffledp import checks
from shuffledp.accounting.bounds.counters import Counter
from shuffledp.accounting.protocols.counted import Counted
from shuffledp.accounting.protocols.rounds import Rounds
from shuffledp.errors import ParameterError
from shuffledp.labels import counted

NEIGHBOURS = {"replace": "replaced", "remove": "removed"}
"""One user's value is another one, or none; whatever is sent without a value is still sent."""
C = TypeVar("C", bound=Counter)


class Released(Counted):
    """Rounds of it are a power."""

    def __pow__(self, rounds: int) -> Rounds:
        """The same users, this many rounds."""
        return Rounds([(self, rounds)])

    def moved(self, counter: C) -> list[list[C]]:
        """A counter up, and another down if values are replaced."""
        if self.neighbours == "remove":
            return [[counter]]
        return [[counter, replace(counter, falls=True)]]  # type: ignore[type-var]


class Crowded(Released):
    """Of ``n`` users: ``colluders`` tell the analyst what they sent, at least ``minimum_batch``
    take part."""

    n: int
    colluders: int
    minimum_batch: int | None

    @property
    def crowd(self) -> int:
        """How many users, the victim included, are sure to hide each other."""
        return (self.minimum_batch or self.n) - self.colluders

    def check_crowd(self) -> None:
        """Neighbours, n, colluders and the smallest batch, as everywhere."""
        checks.one_of("neighbours", self.neighbours, NEIGHBOURS)
        n = checks.count("n", self.n)
        object.__setattr__(self, "n", n)
        colluders = checks.count("colluders", self.colluders, least=0)
        object.__setattr__(self, "colluders", colluders)
        if self.minimum_batch is not None:
            batch = checks.count("minimum_batch", self.minimum_batch)
            if batch > n:
                raise ParameterError("minimum_batch", f"at most n = {n}", batch)
            object.__setattr__(self, "minimum_batch", batch)
        if self.crowd < 1:
            raise ParameterError("colluders", "fewer than the users in a batch", colluders)

    def crowd_words(self) -> list[str]:
        """Who takes part, and what may change, for people."""
        parts = []
        if self.minimum_batch is not None:
            parts.append(f"at least {counted(self.minimum_batch, 'user')}")
        if self.colluders:
            parts.append(f"{self.colluders:,} colluding")
        return [*parts, f"values {NEIGHBOURS[self.neighbours]}"]
