"""Logarithms that neither warn at zero nor cancel near one, and complements."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.numerics.rounding import BELOW_ONE, Array


def log(x: Array) -> Array:
    """ln x, -inf at 0 without a warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(x))


def log_above_zero(excess: Array) -> Array:
    """ln(1 + excess), finite where 1 + excess vanishes but for rounding."""
    return np.log1p(np.maximum(excess, -BELOW_ONE))


def complement_above(share: Array | float) -> Array:
    """1 - share, rounded up."""
    rest = np.asarray(1.0 - share)
    return np.where(1.0 - rest == share, rest, np.minimum(np.nextafter(rest, 2.0), 1.0))


def log_factorials(top: int) -> Array:
    """ln k! for k = 0, ..., top."""
    return np.array([math.lgamma(k + 1.0) for k in range(top + 1)])


def log1p_exp(x: float) -> float:
    """ln(1 + exp(x))."""
    return x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))


def log_convex_gap(log_ratio: Array, order: float) -> Array:
    """ln( r^order - 1 - order (r - 1) ), r = exp(log_ratio), without cancellation."""
    x = order * log_ratio
    near = np.abs(x) < 0.5
    small = np.where(near, x, 0.0)
    series = np.zeros_like(small)
    for k in range(18, 1, -1):  # sum over k >= 2 of x^(k-2) (1 - order^(1-k)) / k!
        series = series * small - math.expm1((1 - k) * math.log(order)) / math.factorial(k)
    by_series = log(series) + 2.0 * log(np.abs(small))
    up, ratio_up = np.where(near | (x < 0.0), 1.0, x), np.where(near | (x < 0.0), 0.0, log_ratio)
    rising = up + log(-np.expm1(-up) - order * np.exp(ratio_up - up) * -np.expm1(-ratio_up))
    down, ratio_down = (
        np.where(near | (x > 0.0), -1.0, x),
        np.where(near | (x > 0.0), -1.0, log_ratio),
    )
    falling = log(np.maximum(np.expm1(down) - order * np.expm1(ratio_down), 0.0))
    return np.where(near, by_series, np.where(x > 0.0, rising, falling))
