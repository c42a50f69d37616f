"""Validation of numbers, with one message shape."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from difflib import get_close_matches

from shuffledp.errors import ParameterError

_LARGEST = 10**100


def _float(name: str, value: object, condition: str) -> float:
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ParameterError(name, condition, value)
    try:
        return float(value)
    except OverflowError:
        raise ParameterError(name, condition, "a number beyond 1e308") from None


def real(name: str, value: object, condition: str, low: float, high: float) -> float:
    """A finite real number strictly between low and high."""
    number = _float(name, value, condition)
    if not (math.isfinite(number) and low < number < high):
        raise ParameterError(name, condition, value)
    return number


def positive(name: str, value: object) -> float:
    """A finite number > 0."""
    return real(name, value, "a finite number > 0", 0.0, math.inf)


def non_negative(name: str, value: object) -> float:
    """A finite number >= 0."""
    if value == 0 and not isinstance(value, bool):
        return 0.0
    return real(name, value, "a finite number >= 0", 0.0, math.inf)


def probability(name: str, value: object) -> float:
    """A number strictly between 0 and 1."""
    return real(name, value, "a number strictly between 0 and 1", 0.0, 1.0)


def unit(name: str, value: object) -> float:
    """A number in [0, 1]."""
    if value in (0, 1) and not isinstance(value, bool):
        return 1.0 if value else 0.0
    return real(name, value, "a number in [0, 1]", 0.0, 1.0)


def order(name: str, value: object) -> float:
    """A Rényi order."""
    return real(name, value, "a number > 1 and < 1e9", 1.0, 1e9)


def count(name: str, value: object, least: int = 1) -> int:
    """An integer from ``least`` on; whole floats such as 1e6 are accepted, up to 1e12."""
    condition = f"an integer from {least} to 1e12"
    number = _float(name, value, condition)
    if not math.isfinite(number) or number != math.floor(number) or not least <= number <= 1e12:
        raise ParameterError(name, condition, value)
    return int(number)


def whole(name: str, value: object, least: int) -> int:
    """An integer of at least this size, and of at most 1e100."""
    if type(value) is int and least <= value <= _LARGEST:
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ParameterError(name, f"an integer >= {least}", value)
    number = int(value)
    if number > _LARGEST:
        raise ParameterError(name, "an integer up to 1e100", "a larger one")
    return number


def size(name: str, value: object, least: int) -> int:
    """The same; whole floats such as 16.0 are accepted."""
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        number = float(value)
        value = int(number) if number.is_integer() else value
    return whole(name, value, least)


def store_size(owner: object, name: str, least: int) -> int:
    """The same for a field of a frozen description, kept as an integer."""
    object.__setattr__(owner, name, size(name, getattr(owner, name), least))
    return int(getattr(owner, name))


def one_of(name: str, value: object, choices: Collection[str]) -> str:
    """One of these texts; the error suggests the nearest."""
    if isinstance(value, str) and value in choices:
        return value
    near = get_close_matches(str(value).lower(), choices, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise ParameterError(name, f"one of {', '.join(choices)}{hint}", value)
