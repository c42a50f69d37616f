"""Long words, one prefix at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shuffledp import checks
from shuffledp.accounting.randomizers.base import Randomizer, VictimPair
from shuffledp.accounting.randomizers.finite import LocalHashing
from shuffledp.accounting.randomizers.swaps import Swap, one_of_several
from shuffledp.errors import ParameterError

_LETTER = 8
"""Bits by which prefixes grow: fewer lengths would need too many candidates."""


@dataclass(frozen=True)
class OnePrefix(Randomizer):
    """A word of bits: one prefix of it, hashed, its length drawn, whatever the word.

    Half of the users tell of the whole word, so that it can be counted, the others of ``step``, 2
    ``step``, ... bits, so that it is found. The length is public and tells nothing. Words whose
    shortest prefixes differ leak what local hashing leaks, others less (docs/proofs/devices.md).

    Parameters
    ----------
    bits
        Length of a word.
    step
        What prefixes grow by; the largest divisor of ``bits`` up to 8 unless given.
    g
        Hash range, the optimum unless given.
    eps0
        Local budget.

    Examples
    --------
    >>> from shuffledp import OnePrefix
    >>> OnePrefix(16, eps0=2.0).eps0
    2.0
    """

    bits: int
    step: int = None  # type: ignore[assignment]  # a number once it is made
    g: int | None = None
    eps0: float = field(kw_only=True)

    def __post_init__(self) -> None:
        if not 1 <= checks.store_size(self, "bits", 1) <= 62:
            raise ParameterError("bits", "an integer from 1 to 62", self.bits)
        asked: int | None = self.step
        if asked is None:
            step = next(step for step in range(_LETTER, 0, -1) if self.bits % step == 0)
            object.__setattr__(self, "step", step)
        if checks.store_size(self, "step", 1) > self.bits or self.bits % self.step:
            raise ParameterError("step", f"a divisor of bits = {self.bits}", self.step)
        object.__setattr__(self, "g", self.hashing.g)

    @property
    def hashing(self) -> LocalHashing:
        """What becomes of a prefix."""
        return LocalHashing(self.g, 1 << self.bits, eps0=self.eps0)

    @property
    def pair_argument(self) -> str:  # type: ignore[override]
        return f"{self.hashing.pair_argument} if the shortest prefixes differ"

    def __str__(self) -> str:
        return f"one prefix of {self.bits} bits: {self.hashing}"

    def swaps(self) -> list[Swap]:
        return one_of_several(self.hashing.swaps())

    def blankets(self) -> list[VictimPair]:
        return self.hashing.blankets()

    def datasets(self, points: Sequence[float] = ()) -> list[VictimPair]:
        return LocalHashing(self.g, min(1 << self.step, 3), eps0=self.eps0).datasets()
