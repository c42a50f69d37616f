"""What a fixed list of entries costs: a proven epsilon at a delta, never rounded down."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from shuffledp.accounting.protocols import Counted, Rounds, Shuffled, Stated
from shuffledp.errors import BudgetExceededError, LedgerError, ShuffleDPError
from shuffledp.labels import Status
from shuffledp.ledger.amounts import decimal_above, float_above, float_below
from shuffledp.ledger.entries import Entry, Guarantee, rounds_of


def composed(entries: Iterable[Entry], delta: Decimal) -> Decimal:
    """A proven epsilon of all entries together; raises LedgerError where no theorem gives one."""
    return _composed(tuple(sorted(entries, key=lambda entry: entry.text)), delta)


def pure(entry: Entry) -> Fraction | None:
    """The epsilon of all rounds of a protocol without any delta, if it has one."""
    assert not isinstance(entry.what, Guarantee)
    each = rounds_of(entry.what).pure
    return Fraction(each) * entry.rounds if math.isfinite(each) else None


@lru_cache(maxsize=1024)
def _composed(entries: tuple[Entry, ...], delta: Decimal) -> Decimal:
    """Stated guarantees add up exactly (Dwork, Kenthapadi, McSherry, Mironov, Naor 2006). Protocols
    compose at the delta these leave, or together with them: the better."""
    stated = [(each.what, each.rounds) for each in entries if isinstance(each.what, Guarantee)]
    protocols = [each for each in entries if not isinstance(each.what, Guarantee)]
    rounds = [
        (part, count * each.rounds)
        for each in protocols
        if not isinstance(each.what, Guarantee)
        for part, count in rounds_of(each.what).entries
    ]
    epsilon = sum((Fraction(what.epsilon) * count for what, count in stated), Fraction(0))
    left = Fraction(delta) - sum(Fraction(what.delta) * count for what, count in stated)
    if left < 0:
        raise BudgetExceededError(f"The stated deltas add up to more than the total, {delta}.")
    if not protocols:
        return decimal_above(epsilon)
    if left == 0:
        budgets = [pure(each) for each in protocols]
        known = [budget for budget in budgets if budget is not None]
        if len(known) < len(budgets):
            raise BudgetExceededError(
                "Of the total delta nothing is left for shuffled protocols without a pure budget."
            )
        return decimal_above(epsilon + sum(known))
    bound = epsilon + _together(rounds, left)
    if stated:
        said = [(Stated(*map(_above, (what.epsilon, what.delta))), n) for what, n in stated]
        bound = min(bound, _together([*rounds, *said], Fraction(delta)))
    return decimal_above(bound)


def _above(number: Any) -> float:
    return float_above(Fraction(number))


def _together(
    rounds: Sequence[tuple[Shuffled | Counted | Stated, int]], delta: Fraction
) -> Fraction:
    try:
        found = Rounds(rounds).guaranteed(delta=float_below(delta))
    except ShuffleDPError as error:
        raise LedgerError(f"The loss of these rounds cannot be computed: {error}") from error
    if found.status is not Status.PROVEN or not math.isfinite(found.value):
        raise LedgerError(f"No finite bound is proven for {Rounds(rounds)}.")
    return Fraction(found.value)
