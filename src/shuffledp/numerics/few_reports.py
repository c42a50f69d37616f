"""E(R - c)+ and E(c - R)+ for a mean R of at most three lognormal variables, certified.

A sum of k equal lognormal variables is e^w A: w, the mean of the logarithms, is normal and
independent of A = sum_j e^(d_j), d the deviations from it. The kink is integrated out in w (the
Black-Scholes formula), and what is left, a function of k - 1 normal coordinates, is analytic
around the real axis: the trapezoidal rule errs by e^(-2 pi eta / step) times a bound on the
integrand at distance eta from it (docs/proofs/shuffle_gaussian.md, "A few reports").
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.frequencies import inner, product
from shuffledp.numerics.lognormal_mean import LognormalMean
from shuffledp.numerics.normal import cdf
from shuffledp.numerics.rounding import Array, roundings

MOST_REPORTS = 3
_WIDEST = 25.0
_REACH = 12.0
"""Coordinates beyond this many standard deviations are charged, not summed."""
_DEPTH = 40.0
"""The trapezoidal error is below e^-40 of what the reports and the strike come to."""
_TURNS = {2: [[0.5**0.5], [-(0.5**0.5)]]}
_TURNS[3] = [[0.5**0.5, 6.0**-0.5], [-(0.5**0.5), 6.0**-0.5], [0.0, -2.0 * 6.0**-0.5]]
"""d = turn @ y: orthonormal columns, orthogonal to (1, ..., 1)."""
_ANGLE = 1.39
"""Largest argument of A, below pi / 2."""


def reachable(ratio: LognormalMean) -> bool:
    """Whether this way is open."""
    return ratio.count <= MOST_REPORTS and 0.0 < ratio.h <= _WIDEST


def expected_excess(ratio: LognormalMean, c: float) -> Enclosure:
    """E(R - c)+."""
    return _enclose(ratio, c, 1.0)


def expected_shortfall(ratio: LognormalMean, c: float) -> Enclosure:
    """E(c - R)+."""
    return _enclose(ratio, c, -1.0)


def _enclose(ratio: LognormalMean, c: float, sign: float) -> Enclosure:
    n, share, q = ratio.count, ratio.share, ratio.thin
    total, error = 0.0, 0.0
    for k in range(n + 1):  # slots that report; the others have the value 1
        mass = math.comb(n, k) * q**k * (1.0 - q) ** (n - k) if q < 1.0 else float(k == n)
        if mass:
            strike = (n * c - (n - k) - k * (1.0 - share)) / share
            price, slack = _price(k, ratio.h, strike, sign)
            # a price moves less than its strike
            slack += roundings(16) * (n * (c + 1.0) / share + price)
            total += mass * share / n * price
            error += mass * share / n * slack
    error += roundings(64) * total
    return Enclosure(max(total - error, 0.0), total + error)


def _price(k: int, h: float, strike: float, sign: float) -> tuple[float, float]:
    """E(sign (X_1 + ... + X_k - strike))+ and a bound on its error."""
    if k == 0 or strike <= 0.0:
        return max(sign * (k - strike), 0.0), 0.0
    if k == 1:
        value, size = _given(np.ones(1), np.zeros(1), 1, h, strike, sign)
        return max(float(value[0]), 0.0), float(size[0])
    turn = np.array(_TURNS[k])
    lean = float(np.abs(turn).max())
    root = math.sqrt(h)
    angle = min(lean * 8.0 * root, _ANGLE)
    away = angle / lean
    grown = (away * away + k * angle * angle) / (2.0 * h)
    step = 2.0 * math.pi * away / (_DEPTH + grown)
    last = math.ceil(_REACH * root / step)
    y = step * np.arange(-last, last + 1.0)
    density = step / math.sqrt(2.0 * math.pi * h) * np.exp(-y * y / (2.0 * h))
    deviations = product(turn, _products([y] * (k - 1)))
    weight = np.prod(_products([density] * (k - 1)), axis=0)
    total, most = np.exp(deviations).sum(axis=0), np.abs(deviations).max(axis=0)
    value, rounding = _given(total, most, k, h, strike, sign)
    alias = 2.01 * (k - 1) * math.exp(-_DEPTH)
    tail = 2.0 * (k - 1) * math.erfc((_REACH - 1.0 - lean * root) / math.sqrt(2.0))
    price = inner(weight, value)
    return price, inner(weight, rounding) + (alias + tail) * (k + strike) + roundings(2048) * price


def _products(axes: list[Array]) -> Array:
    """All combinations of one entry of each, a column for each combination."""
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])


def _given(
    total: Array, most: Array, k: int, h: float, strike: float, sign: float
) -> tuple[Array, Array]:
    """E(sign (e^w total - strike))+ over w ~ N(-h/2, h/k), and a bound on its rounding."""
    s = math.sqrt(h / k)
    d = (np.log(total) - math.log(strike) - 0.5 * h + s * s) / s
    gain = total * math.exp(0.5 * (s * s - h)) * cdf(sign * d)
    loss = strike * cdf(sign * (d - s))
    size = np.abs(np.log(total)) + abs(math.log(strike)) + most + h + 4.0
    rounding = roundings(64) * (1.0 + 2.0 * (1.0 + np.abs(d) + s) * size / s) * (gain + loss)
    return np.maximum(sign * (gain - loss), 0.0), rounding
