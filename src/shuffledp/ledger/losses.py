"""What a list of entries has cost: a proven epsilon at the cohort's delta, never rounded down.

Composition is proven for spends planned in advance, whatever the rounds themselves do with earlier
results. Whoever picks the next spend by looking at earlier results is covered by fewer proofs:
sums of stated guarantees (Rogers, Roth, Ullman, Vadhan 2016), and rounds of one single protocol,
where a round left out is a round that says nothing. ``Loss.adaptive`` says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from shuffledp.errors import BudgetExceededError, LedgerError, ShuffleDPError
from shuffledp.labels import Status
from shuffledp.ledger.amounts import decimal_above, float_above, float_below
from shuffledp.ledger.entries import Entry, Guarantee
from shuffledp.protocols import Rounds, Shuffled, Stated


@dataclass(frozen=True)
class Loss:
    """A proven upper bound on epsilon, exact as a decimal, and how it was found."""

    epsilon: Decimal
    theorem: str
    adaptive: bool = True
    """The total holds even if spends were chosen by looking at earlier results."""

    def __str__(self) -> str:
        shown = decimal_above(Fraction(self.epsilon), digits=6)
        return f"{shown} ({Status.PROVEN.value} by {self.theorem})"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; the exact decimal is text."""
        return {
            "epsilon": str(self.epsilon),
            "status": Status.PROVEN.value,
            "direction": "UPPER",
            "theorem": self.theorem,
            "adaptive": self.adaptive,
        }


NOTHING = Loss(Decimal(0), "nothing-spent")


def composed(entries: Iterable[Entry], delta: Decimal) -> Loss:
    """The loss of all entries together; raises LedgerError where no theorem gives one."""
    return _composed(tuple(sorted(entries, key=lambda entry: entry.text)), delta)


@lru_cache(maxsize=1024)
def _composed(entries: tuple[Entry, ...], delta: Decimal) -> Loss:
    """Stated guarantees add up exactly (Dwork, Kenthapadi, McSherry, Mironov, Naor 2006). Protocols
    compose at the delta these leave, or together with them: the better."""
    stated = [(each.what, each.rounds) for each in entries if isinstance(each.what, Guarantee)]
    protocols = [(each.what, each.rounds) for each in entries if isinstance(each.what, Shuffled)]
    epsilon = sum((Fraction(what.epsilon) * rounds for what, rounds in stated), Fraction(0))
    left = Fraction(delta) - sum(Fraction(what.delta) * rounds for what, rounds in stated)
    if left < 0:
        raise BudgetExceededError(f"The stated deltas add up to more than the total, {delta}.")
    if not protocols:
        return Loss(decimal_above(epsilon), "basic-composition") if stated else NOTHING
    pure = Rounds(protocols).pure
    if left == 0 and math.isinf(pure):
        raise BudgetExceededError(
            f"Of the total delta, {delta}, nothing is left for shuffled protocols."
        )
    if left == 0:
        return Loss(decimal_above(epsilon + Fraction(pure)), "basic-composition")
    bound, theorem = _together(protocols, left)
    if stated:
        said = [(Stated(*map(_above, (what.epsilon, what.delta))), n) for what, n in stated]
        tight, tight_theorem = _together([*protocols, *said], Fraction(delta))
        if tight < epsilon + bound:
            return Loss(decimal_above(tight), tight_theorem, adaptive=False)
    return Loss(decimal_above(epsilon + bound), theorem, adaptive=len(entries) == 1)


def _above(number: Any) -> float:
    return float_above(Fraction(number))


def _together(
    rounds: Sequence[tuple[Shuffled | Stated, int]], delta: Fraction
) -> tuple[Fraction, str]:
    try:
        found = Rounds(rounds).guaranteed(delta=float_below(delta))
    except ShuffleDPError as error:
        raise LedgerError(f"The loss of these rounds cannot be computed: {error}") from error
    if found.status is not Status.PROVEN or not math.isfinite(found.value):
        raise LedgerError(f"No finite bound is proven for {Rounds(rounds)}.")
    return Fraction(found.value), found.theorem
