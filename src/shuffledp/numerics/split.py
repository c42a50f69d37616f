"""How far shuffled shares of numbers are from shares that tell their sum only.

n users split numbers modulo q into shares that are uniform but for their sum. Two random pairings
of users with shares make a graph; the distance is governed by the number C of its components: it
is at most sqrt(E[q^(C-1)] - 1) / 2 (docs/proofs/split.md). The expectation is bounded by a short
sum whose length does not grow with n.
"""

from __future__ import annotations

import math
from functools import lru_cache

from shuffledp.numerics.rounding import SUMS, up

_FEW, _TERMS = 64, 64
"""Users up to which pairs of parts are counted exactly; parts whose terms are listed."""
_NEGLIGIBLE, _LEAST = 1e-40, 1e-150
"""Terms that end the list, of its sum; and a distance that no underflow is above."""


@lru_cache(maxsize=256)
def split_distance(users: int, messages: int, modulus: int) -> float:
    """At least the statistical distance of the shuffled shares from uniform ones of the same sum.

    Of at least 3 ``messages`` of each of the ``users``, whatever numbers they split.
    """
    if users == 1:
        return 0.0
    excess = _excess(users, messages, modulus)
    return min(max(up(0.5 * math.sqrt(excess), SUMS), _LEAST), 1.0)


def _excess(n: int, m: int, q: int) -> float:
    """Above E[q^(C-1)] - 1; infinite where the bound says nothing."""
    pairs, term, total = _pairs(m), 1.0, 0.0
    last = min(n, _TERMS)
    for r in range(2, last + 1):
        term *= q / r * pairs * _lone(n - r + 2, m)
        total += term
        if term < _NEGLIGIBLE * total or not math.isfinite(total):
            last = r
            break
    if not math.isfinite(total):
        return math.inf
    if last == n:
        return up(total, SUMS)
    term = max(term, math.ulp(0.0))
    # beyond, terms lie below the chord of a convex function from here to the n-th
    weight = n * math.lgamma(m + 1) + 2.0 * math.lgamma(n + 1) - math.lgamma(m * n + 1)
    highest = (n - 1) * math.log(pairs * q) + weight
    highest -= math.lgamma(last + 1) + (n - last) * math.log(last + 1.0)
    slope = (highest - math.log(term)) / (n - last)
    ratio = math.exp(min(slope + SUMS * (1.0 + abs(slope)), 0.0))
    return up(total + term * ratio / (1.0 - ratio), SUMS) if ratio < 1.0 else math.inf


def _lone(n: int, m: int) -> float:
    """n^2 / C(mn, m): the expected number of users whose shares are those of one user again."""
    value = float(n) * float(n)
    for i in range(m):
        value *= (i + 1.0) / (m * n - i)
    return value


@lru_cache(maxsize=64)
def _pairs(m: int) -> float:
    """Sums over two parts are at most this many times that of the largest, whatever n."""
    weights = [math.factorial(m * k) // math.factorial(k) ** 2 for k in range(_FEW + 2)]

    def share(j: int, n: int) -> float:
        return weights[j] * weights[n - j] / (weights[1] * weights[n - 1])

    exact = max(math.fsum(share(j, n) for j in range(1, n)) for n in range(2, _FEW + 1))
    n = _FEW + 1  # and for all that are larger
    beyond = 2.0 + 2.0 * share(2, n) + (n - 5) * share(3, n)
    return up(max(exact, beyond), SUMS)
