"""What a data set leaks when all other users share one law: every histogram, one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator

from flint import arb

from tests.oracles.balls import precise

Law = tuple[arb, ...]


@precise
def randomized_response(symbols: int, eps0: float) -> list[Law]:
    """Rows of k-ary randomized response."""
    big = arb(eps0).exp()
    total = big + symbols - 1
    return [tuple((big if x == z else 1) / total for z in range(symbols)) for x in range(symbols)]


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for head in range(total + 1):
        for rest in _compositions(total - head, parts - 1):
            yield (head, *rest)


def outcomes(a: Law, b: Law, r: Law, n: int) -> Iterator[tuple[arb, arb]]:
    """Probability of each histogram when the victim reports by a, and by b; the others by r."""
    for histogram in _compositions(n, len(r)):
        p = q = arb(0)
        for z, count in enumerate(histogram):
            if count == 0:
                continue
            others = [c - (i == z) for i, c in enumerate(histogram)]
            ways = math.factorial(n - 1)
            for c in others:
                ways //= math.factorial(c)
            mass = arb(ways)
            for law, c in zip(r, others, strict=True):
                mass *= law**c
            p, q = p + a[z] * mass, q + b[z] * mass
        yield p, q


@precise
def delta(a: Law, b: Law, r: Law, n: int, epsilon: float) -> arb:
    """H_e of the shuffled reports, victim a against victim b."""
    e = arb(epsilon).exp()
    total = arb(0)
    for p, q in outcomes(a, b, r, n):
        total += (p - e * q).nonnegative_part()
    return total


@precise
def renyi(a: Law, b: Law, r: Law, n: int, order: float) -> arb:
    """D_order of the shuffled reports, victim a against victim b."""
    power = arb(order)
    total = arb(0)
    for p, q in outcomes(a, b, r, n):
        total += q * (p / q) ** power
    return total.log() / (power - 1)
