"""Probabilities as multiples of 2^-48, always rounded towards more noise.

48 bits keep every probability and its complement exact as a float, too: the accountant sees the
very numbers the device uses.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

from shuffledp.errors import ParameterError

BITS = 48
ONE = 1 << BITS
_DIGITS = 60


def exp_below(eps0: float) -> Fraction:
    """A rational number at most exp(eps0), relatively closer than 1e-55."""
    with localcontext(prec=_DIGITS, Emax=10**9, Emin=-(10**9)):
        value = Fraction(Decimal(eps0).exp())  # correctly rounded
    return value * (1 - Fraction(1, 10 ** (_DIGITS - 2)))


def log_above(ratio: Fraction) -> float:
    """The smallest float known to be at least ln(ratio)."""
    with localcontext(prec=_DIGITS, Emax=10**9, Emin=-(10**9)):
        value = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        value += abs(value) * Decimal(10) ** (5 - _DIGITS) + Decimal(10) ** (10 - _DIGITS)
    number = float(value)
    return number if Decimal(number) >= value else math.nextafter(number, math.inf)


def numerator_up(probability: Fraction) -> int:
    """The least multiple of 2^-48 that is at least this."""
    return -((-probability.numerator << BITS) // probability.denominator)


def budget(claimed: float, ratio: Fraction) -> float:
    """eps0 of a device whose likelihoods differ by at most ``ratio``; never above the claim."""
    if ratio <= 1:
        raise ParameterError("eps0", "large enough to be told from 0 with 48 bits", claimed)
    return min(claimed, log_above(ratio))
