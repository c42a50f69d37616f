"""Composition of (epsilon, delta) guarantees and of revealed participation."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.numerics.binomial import log_mass
from shuffledp.numerics.frequencies import inner
from shuffledp.numerics.rounding import SUMS, Array, up
from shuffledp.numerics.search import bisect

_TAIL = 1e-24
"""Bounds the binomial mass left out below (Bernstein), charged to the result."""


def binomial_window(n: int, p: float, q: float) -> tuple[Array, Array]:
    """Counts and masses (rounded up) of Bin(n, p) outside of which less than _TAIL lies."""
    if q <= 0.0:
        return np.array([float(n)]), np.ones(1)
    spread = math.sqrt(2.0 * 60.0 * n * p * q) + 2.0 * 60.0
    low, high = max(0, math.floor(n * p - spread)), min(n, math.ceil(n * p + spread))
    k = np.arange(low, high + 1.0)
    logs, error = log_mass(k, float(n), p, q)
    return k, np.exp(logs + error)


def composed_epsilon(epsilon: float, rounds: int, delta: float) -> float:
    """Smallest total epsilon of ``rounds`` epsilon-DP mechanisms at ``delta``, any such mechanisms.

    The optimum of Kairouz, Oh, Viswanath 2015: that many randomized responses. The value returned
    is certified from above up to rounding.
    """
    if not math.isfinite(epsilon):
        return epsilon
    decay = math.exp(-epsilon)
    k, mass = binomial_window(rounds, 1.0 / (1.0 + decay), decay / (1.0 + decay))
    loss = (2.0 * k - rounds) * epsilon

    def spent(total: float) -> float:
        gap = -np.expm1(np.minimum(total - loss, 0.0))
        return up(inner(mass, gap), SUMS) + _TAIL

    if spent(0.0) <= delta:
        return 0.0
    return bisect(lambda total: spent(total) <= delta, rounds * epsilon, 0.0, halvings=80).good
