"""Slow and obvious: shuffled reports as histograms, rounds as products."""

from __future__ import annotations

import itertools
from collections import defaultdict

import mpmath


def histograms(laws):
    """Law of the histogram of independent reports, one row of probabilities per user."""
    found = {(0,) * len(laws[0]): mpmath.mpf(1)}
    for law in laws:
        following = defaultdict(mpmath.mpf)
        for counts, mass in found.items():
            for symbol, p in enumerate(law):
                if p:
                    after = tuple(c + (i == symbol) for i, c in enumerate(counts))
                    following[after] += mass * p
        found = following
    return found


def pair(first, second, other, n):
    """Masses of one shuffled round under both data sets: the victim's two laws, n - 1 others."""
    p = histograms([first] + [other] * (n - 1))
    q = histograms([second] + [other] * (n - 1))
    keys = sorted(set(p) | set(q))
    return [(p.get(key, mpmath.mpf(0)), q.get(key, mpmath.mpf(0))) for key in keys]


def product(rounds):
    """All rounds together."""
    found = [(mpmath.mpf(1), mpmath.mpf(1))]
    for one in rounds:
        found = [(a * p, b * q) for (a, b), (p, q) in itertools.product(found, one)]
    return found


def delta(masses, epsilon):
    e = mpmath.exp(epsilon)
    return mpmath.fsum(max(p - e * q, mpmath.mpf(0)) for p, q in masses)


def krr(k, eps0):
    """Rows of the channel."""
    high = mpmath.exp(eps0)
    total = high + k - 1
    return [[(high if i == j else 1) / total for j in range(k)] for i in range(k)]


def clones(eps0, n):
    """The pair behind the generic bound: C others are clones, each of two kinds."""
    high = mpmath.exp(eps0)
    p = 2 / (high + 1)
    masses = []
    for c in range(n):
        weight = mpmath.binomial(n - 1, c) * p**c * (1 - p) ** (n - 1 - c)
        for a in range(c + 2):
            base = mpmath.binomial(c + 1, a) / mpmath.mpf(2) ** (c + 1) * weight
            x, y = mpmath.mpf(a) / (c + 1), mpmath.mpf(c + 1 - a) / (c + 1)
            w = 1 / (high + 1)
            masses.append((2 * base * ((1 - w) * x + w * y), 2 * base * ((1 - w) * y + w * x)))
    return masses


def composed(parts, epsilon):
    """delta of rounds given by losses, second masses and what is revealed; each so many times."""
    masses, certain = [(mpmath.mpf(1), mpmath.mpf(1))], mpmath.mpf(1)
    for part, count in parts:
        one = [
            (mpmath.mpf(float(q)) * mpmath.exp(float(v)), mpmath.mpf(float(q)))
            for v, q in zip(part.values, part.masses, strict=True)
        ]
        masses = product([masses, *[one] * count])
        certain *= (1 - mpmath.mpf(part.revealing)) ** count
    return delta(masses, epsilon) + 1 - certain
