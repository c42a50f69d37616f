"""What every data set leaks, slowly: exact sums over all counts, for the tests of the swap bound."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _binomial(n: int, p: float) -> Array:
    k = np.arange(n + 1)
    logs = [math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1) for j in k]
    with np.errstate(divide="ignore"):
        found = np.exp(np.array(logs) + k * math.log(p) + (n - k) * math.log1p(-p))
    return found / found.sum()


def binary_deltas(eps0: float, n: int, epsilons: list[float], held: range) -> Array:
    """Largest delta of binary randomized response over others who hold 1 in these numbers, both ways."""
    p = 1.0 / (1.0 + math.exp(-eps0))
    worst = np.zeros(len(epsilons))
    for ones in held:
        others = np.convolve(_binomial(ones, p), _binomial(n - 1 - ones, 1.0 - p))
        high, low = (np.convolve(others, law) for law in ([1.0 - p, p], [p, 1.0 - p]))
        for i, epsilon in enumerate(epsilons):
            e = math.exp(epsilon)
            for one, two in ((high, low), (low, high)):
                worst[i] = max(worst[i], float(np.maximum(one - e * two, 0.0).sum()))
    return worst


def channel_deltas(rows: Array, n: int, epsilons: list[float]) -> Array:
    """Largest delta of a channel over all data sets of n users and all pairs of values."""
    inputs, outputs = rows.shape
    shape = (n + 1,) * (outputs - 1)

    def report(law: Array, row: Array) -> Array:
        found = law * row[-1]
        for j in range(outputs - 1):
            found = found + row[j] * np.roll(law, 1, axis=j)
        return found

    worst = np.zeros(len(epsilons))
    for counts in itertools.product(range(n), repeat=inputs):
        if sum(counts) != n - 1:
            continue
        law = np.zeros(shape)
        law[(0,) * (outputs - 1)] = 1.0
        for row, count in zip(rows, counts, strict=True):
            for _ in range(count):
                law = report(law, row)
        laws = [report(law, row) for row in rows]
        for one, two in itertools.permutations(laws, 2):
            for i, epsilon in enumerate(epsilons):
                excess = float(np.maximum(one - math.exp(epsilon) * two, 0.0).sum())
                worst[i] = max(worst[i], excess)
    return worst
