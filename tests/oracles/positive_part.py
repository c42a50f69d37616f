"""(1/n) E[(V_1 + ... + V_n)+] term by term, in balls and in rationals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from flint import arb, arb_poly


def exact(x: float) -> arb:
    """The float x as a ball of radius 0."""
    numerator, denominator = float(x).as_integer_ratio()
    return arb(numerator) / arb(denominator)


def lattice(values: list[int], weights: Sequence[float], n: int, unit: float) -> arb:
    """(1/n) E[S+] for V = unit * integer, by a power of the generating polynomial in balls."""
    low = min(values)
    total = sum((exact(w) for w in weights), arb(0))
    coefficients = [arb(0)] * (max(values) - low + 1)
    for value, weight in zip(values, weights, strict=True):
        coefficients[value - low] += exact(weight) / total
    power = (arb_poly(coefficients) ** n).coeffs()
    positive = (p * (k + n * low) for k, p in enumerate(power) if k + n * low > 0)
    return sum(positive, arb(0)) * exact(unit) / n


def rational(values: list[float], weights: list[float], n: int) -> Fraction:
    """(1/n) E[S+] over all multisets, in rationals."""
    v = [Fraction(x) for x in values]
    total = sum(Fraction(w) for w in weights)
    p = [Fraction(w) / total for w in weights]
    result = Fraction(0)
    for chosen in itertools.combinations_with_replacement(range(len(v)), n):
        s = sum(v[i] for i in chosen)
        if s > 0:
            term = s * math.factorial(n)
            for i in set(chosen):
                term *= p[i] ** chosen.count(i) / math.factorial(chosen.count(i))
            result += term
    return result / n


def two_valued(gain: float, loss: float, weight: float, n: int) -> arb:
    """(1/n) E[S+] for V = gain with the given weight, else -loss: a binomial sum in balls."""
    p, g, c = exact(weight), exact(gain), exact(loss)
    first = max(0, math.floor(n * loss / (gain + loss)) - 2)
    pmf = arb(math.comb(n, first)) * p**first * (1 - p) ** (n - first)
    ratio = p / (1 - p)
    result = arb(0)
    for k in range(first, n + 1):
        s = g * k - c * (n - k)
        if s > 0:
            result += pmf * s
            if pmf < result * arb(2) ** -200:
                break
        if k < n:
            pmf *= ratio * (n - k) / (k + 1)
    return result / n
