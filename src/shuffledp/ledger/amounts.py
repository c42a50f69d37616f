"""Exact decimals: budgets and stated losses are never floats, so nothing drifts."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction

from shuffledp.errors import ParameterError

_DIGITS, _PLACES, _LARGEST = 30, 60, 10**9
_EXACT = 120
"""Digits that hold 1e12 rounds of any amount, and many of those, exactly."""


def amount(name: str, value: object, below: int = _LARGEST) -> Decimal:
    """An exact decimal >= 0 from text, an integer or a Decimal; floats are not exact."""
    condition = f"an exact decimal such as '0.1', >= 0 and < {below}, of at most {_DIGITS} digits"
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise ParameterError(name, condition, value)
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise ParameterError(name, condition, value) from None
    if not (number.is_finite() and 0 <= number < below):
        raise ParameterError(name, condition, value)
    whole = Context(prec=len(number.as_tuple().digits))
    number = _plain(number.normalize(whole).copy_abs())
    _, digits, exponent = number.as_tuple()
    if len(digits) > _DIGITS or not isinstance(exponent, int) or exponent < -_PLACES:
        raise ParameterError(name, condition, value)
    return number


def decimal_above(number: Fraction, digits: int = _EXACT) -> Decimal:
    """A decimal of this many digits, no less than the number; equal if they suffice."""
    return _decimal(number, Context(prec=digits, rounding=ROUND_CEILING))


def decimal_below(number: Fraction, digits: int = _EXACT) -> Decimal:
    """A decimal of this many digits, no more than the number; equal if they suffice."""
    return _decimal(number, Context(prec=digits, rounding=ROUND_FLOOR))


def in_words(number: Decimal) -> str:
    """As other numbers are shown (0.25, 1e-06): six digits, rounded up where there are more."""
    return f"{float(decimal_above(Fraction(number), digits=6)):g}"


def limit_in_words(number: Decimal) -> str:
    """The same for what may not be exceeded: every digit where there are more."""
    return (
        in_words(number) if decimal_above(Fraction(number), digits=6) == number else f"{number:f}"
    )


def _decimal(number: Fraction, context: Context) -> Decimal:
    quotient = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return _plain(quotient.normalize(context))


def _plain(number: Decimal) -> Decimal:
    """The same number, 50 rather than 5E+1 in text."""
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or exponent <= 0:
        return number
    return number.quantize(
        Decimal(1), context=Context(prec=exponent + len(number.as_tuple().digits))
    )


def float_below(number: Fraction) -> float:
    """The nearest float, or the next one, no more than the number."""
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, 0.0)


def float_above(number: Fraction) -> float:
    """The nearest float, or the next one, no less than the number."""
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)
