"""Slow, obvious references: sums over integer partitions, direct integration."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import mpmath as mp
import numpy as np


def partitions(total: int, largest: int | None = None) -> Iterator[list[int]]:
    """All partitions of ``total`` into parts, largest first."""
    if total == 0:
        yield []
        return
    for part in range(min(total, largest or total), 0, -1):
        for rest in partitions(total - part, part):
            yield [part, *rest]


def moment_by_partitions(order: int, n: int, moments: list[mp.mpf]) -> mp.mpf:
    """E[(mean of n Y)^order] from E[Y^k]: Algorithm 1 of Liew and Takahashi, any law of Y."""
    total = mp.mpf(0)
    for parts in partitions(order):
        if len(parts) > n:
            continue
        term = mp.mpf(math.factorial(order))
        for part in parts:
            term *= moments[part] / math.factorial(part)
        ways = math.perm(n, len(parts))
        for count in Counter(parts).values():
            ways //= math.factorial(count)
        total += term * ways
    return total / mp.mpf(n) ** order


def ratio_moments(h: float, top: int, thin: float = 1.0, share: float = 1.0) -> list[mp.mpf]:
    """E[Y^k] of one slot."""
    x = [mp.exp(mp.mpf(h) * k * (k - 1) / 2) for k in range(top + 1)]
    q, s = mp.mpf(thin), mp.mpf(share)
    if thin < 1.0:
        return [1 - q + q * value for value in x]
    return [
        mp.fsum(mp.binomial(k, j) * (1 - s) ** (k - j) * s**j * x[j] for j in range(k + 1))
        for k in range(top + 1)
    ]


def divergence(order: int, n: int, h: float, thin: float = 1.0, share: float = 1.0) -> float:
    """D_order(M(D')||M(D)) in high precision."""
    with mp.workdps(120):
        moment = moment_by_partitions(order, n, ratio_moments(h, order, thin, share))
        return float(mp.log(moment) / (order - 1))


def grid(h: float, thin: float, share: float, step: float = 0.08) -> tuple[np.ndarray, np.ndarray]:
    """Values and weights of Y by the trapezoidal rule."""
    v = np.arange(-16.0, 16.0 + step, step)
    weight = np.exp(-0.5 * v * v) * step / math.sqrt(2.0 * math.pi)
    x = np.exp(math.sqrt(h) * v - 0.5 * h)
    if thin < 1.0:
        return np.append(x, 1.0), np.append(thin * weight, 1.0 - thin)
    return 1.0 - share + share * x, weight


def excess_by_integration(power: float, h: float, n: int, thin: float, share: float) -> float:
    """E R^power - 1 for n = 2 or 3."""
    y, w = grid(h, thin, share)
    ratio, weight = y, w
    for _ in range(n - 1):
        ratio = np.add.outer(ratio, y)
        weight = np.multiply.outer(weight, w)
    ratio = ratio / n
    return float(np.sum(weight * (np.expm1(power * np.log(ratio)) - power * (ratio - 1.0))))
