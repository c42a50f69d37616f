"""Rényi divergences of spends at one order, rounded up, and what a total allows, rounded down."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

from shuffledp.accounting.protocols import Counted, Rounds, Shuffled
from shuffledp.errors import LedgerError, ShuffleDPError
from shuffledp.labels import Status
from shuffledp.ledger.amounts import decimal_above, decimal_below
from shuffledp.ledger.entries import Guarantee, Spendable, rounds_of

_FINE = Context(prec=250)
"""An epsilon of 1e-60 is squared to 1e-120: more than a hundred digits of the answer are left."""
_OUTWARD = Decimal("1e-60")
"""Relative; far above the roundings of some ten operations with that many digits."""
_FAR = 10_000
_DIGITS, _SHORT = 30, 12
_ORDERS = (
    *(1 + i / 16 for i in range(1, 16)),
    *(i / 4 for i in range(8, 40)),
    *map(float, range(10, 100)),
    *(float(round(100 * 1.1**i)) for i in range(73)),
)
"""From 17/16 to about 1e5; all exact as floats."""


def divergence(what: Spendable, order: float) -> Fraction:
    """Of one round, in both directions; of a stated guarantee, of its part without delta."""
    if isinstance(what, Guarantee):
        return Fraction(_of_pure(Decimal(what.epsilon), order))
    return _of_protocol(what, order)


@lru_cache(maxsize=1024)
def _of_protocol(what: Shuffled | Counted | Rounds, order: float) -> Fraction:
    try:
        found = rounds_of(what).bound("composition", order=order)
    except ShuffleDPError as error:
        raise LedgerError(
            f"The Rényi divergence of order {order:g} of {what} cannot be computed: {error}"
        ) from error
    if found.status is not Status.PROVEN or not 0.0 <= found.value < math.inf:
        raise LedgerError(f"No finite Rényi divergence of order {order:g} is proven for {what}.")
    return Fraction(found.value)


@lru_cache(maxsize=1024)
def _of_pure(epsilon: Decimal, order: float) -> Decimal:
    """Of randomized response, the worst of all that are epsilon-DP; never above epsilon."""
    exact = Decimal(order)
    if epsilon == 0 or epsilon * exact > _FAR:
        return epsilon
    powers = _FINE.add(
        _FINE.exp(_FINE.multiply(exact, epsilon)), _FINE.exp(_FINE.multiply(1 - exact, epsilon))
    )
    ratio = _FINE.divide(powers, _FINE.add(1, _FINE.exp(epsilon)))
    found = _FINE.divide(_FINE.ln(ratio), _FINE.subtract(exact, Decimal(1)))
    return min(decimal_above(Fraction(found) * (1 + Fraction(_OUTWARD)), _DIGITS), epsilon)


def largest_divergence(epsilon: Decimal, delta: Fraction, order: float) -> Decimal:
    """The B with delta = exp((order-1)(B-epsilon)) (order-1)^(order-1) / order^order."""
    exact = Decimal(order)
    less = _FINE.subtract(exact, Decimal(1))
    terms = (
        _FINE.multiply(exact, _FINE.ln(exact)),
        -_FINE.multiply(less, _FINE.ln(less)),
        _FINE.ln(decimal_below(delta)),
    )
    error = sum(abs(Fraction(term)) for term in terms) * Fraction(_OUTWARD)
    shift = (sum(map(Fraction, terms)) - error) / Fraction(less)
    return decimal_below(Fraction(epsilon) + shift, _SHORT)


def best_order(epsilon: Decimal, delta: Fraction, expected: Spendable | None) -> float:
    """Under which most spends fit: of the expected kind, or of any that lose order times little."""
    limits = {order: Fraction(largest_divergence(epsilon, delta, order)) for order in _ORDERS}
    place = max(range(len(_ORDERS)), key=lambda i: limits[_ORDERS[i]] / Fraction(_ORDERS[i]))
    if expected is None:
        return _ORDERS[place]

    def fitting(index: int) -> Fraction:
        order = _ORDERS[min(max(index, 0), len(_ORDERS) - 1)]
        if limits[order] <= 0:
            return Fraction(-1)
        return limits[order] / max(divergence(expected, order), Fraction(1, 10**120))

    for step in (9, 3, 1):  # uphill; another order would only admit less
        while (better := max((place, place - step, place + step), key=fitting)) != place:
            place = better
    return _ORDERS[min(max(place, 0), len(_ORDERS) - 1)]
