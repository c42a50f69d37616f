"""E(R - c)+ and E(c - R)+ for a mean R of at most three lognormal variables, by quadrature.

The kink is integrated out exactly in the last variable (the Black-Scholes formula). The others are
integrated in turn, up to where one of them alone decides (beyond, the rest is explicit), by the
double-exponential rule, which copes with the flat but not analytic end there. The error is taken
from a rule of twice the step, which overstates it.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.numerics.binomial import Array, U
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.lognormal_mean import LognormalMean

MOST_REPORTS = 3
_WIDEST = 25.0
_STEP, _REACH = 0.02, 12.0
"""Of the double-exponential rule; in standard deviations."""
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def reachable(ratio: LognormalMean) -> bool:
    """Whether this way is open."""
    return ratio.count <= MOST_REPORTS and ratio.h <= _WIDEST


def call(ratio: LognormalMean, c: float) -> Enclosure:
    """E(R - c)+."""
    return _enclose(ratio, c, 1.0)


def put(ratio: LognormalMean, c: float) -> Enclosure:
    """E(c - R)+."""
    return _enclose(ratio, c, -1.0)


def _enclose(ratio: LognormalMean, c: float, sign: float) -> Enclosure:
    coarse, fine = (_value(ratio, c, sign, step) for step in (2.0 * _STEP, _STEP))
    error = 2.0 * abs(fine - coarse) + 1e-12 * fine + 64.0 * U * (1.0 + c)
    return Enclosure(max(fine - error, 0.0), fine + error)


def _value(ratio: LognormalMean, c: float, sign: float, step: float) -> float:
    n, share, q = ratio.count, ratio.share, ratio.thin
    total = 0.0
    for k in range(n + 1):  # slots that report; the others have the value 1
        mass = math.comb(n, k) * q**k * (1.0 - q) ** (n - k) if q < 1.0 else float(k == n)
        if mass:
            strike = (n * c - (n - k) - k * (1.0 - share)) / share
            price = _price(k, ratio.h, np.array([strike]), sign, step)
            total += mass * share / n * float(price[0])
    return total


def _price(k: int, h: float, strike: Array, sign: float, step: float) -> Array:
    """E(sign (X_1 + ... + X_k - strike))+ for each strike."""
    root = math.sqrt(h)
    if k == 0:
        return np.maximum(-sign * strike, 0.0)
    if k == 1:
        return _black_scholes(strike, root, sign)
    surely = np.maximum(sign * (k - strike), 0.0)
    with np.errstate(divide="ignore"):
        decides = (np.log(np.maximum(strike, 0.0)) + 0.5 * h) / root  # where X_1 = strike
    end = np.clip(decides, -_REACH, _REACH)
    share, weight = _rule(step)
    v = -_REACH + (end + _REACH)[:, None] * share
    density = np.exp(-0.5 * v * v) / math.sqrt(2.0 * math.pi) * weight
    left = strike[:, None] - np.exp(root * v - 0.5 * h)
    inner = _price(k - 1, h, left.ravel(), sign, step).reshape(left.shape)
    value = np.sum(density * inner, axis=1) * (end + _REACH)
    if sign > 0.0:
        value += (k - 1.0 - strike) * _tail(decides) + _tail(decides - root)
    return np.where(strike > 0.0, value, surely)


def _rule(step: float) -> tuple[Array, Array]:
    """Nodes and weights of the double-exponential rule on [0, 1]."""
    u = np.arange(-3.5, 3.5 + step / 2, step)
    bend = 0.5 * math.pi * np.sinh(u)
    return 1.0 / (1.0 + np.exp(-2.0 * bend)), step * 0.25 * math.pi * np.cosh(u) / np.cosh(
        bend
    ) ** 2


def _tail(x: Array) -> Array:
    return np.asarray(0.5 * _erfc(x / math.sqrt(2.0)))


def _black_scholes(strike: Array, root: float, sign: float) -> Array:
    """E(sign (X - strike))+ for one lognormal X of mean 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        d = -np.log(np.maximum(strike, 0.0)) / root + 0.5 * root
    upper, lower = _tail(-sign * d), _tail(-sign * (d - root))
    priced = sign * (upper - np.maximum(strike, 0.0) * lower)
    return np.where(strike > 0.0, np.maximum(priced, 0.0), np.maximum(sign * (1.0 - strike), 0.0))
