"""Slow, obvious references: all data sets of unequal k-RR users, in rationals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

Law = dict[tuple[int, ...], Fraction]


def report(k: int, big: Fraction, value: int) -> list[Fraction]:
    """Law of the report of k-RR with E = big."""
    total = big + k - 1
    return [(big if symbol == value else Fraction(1)) / total for symbol in range(k)]


def histogram(k: int, laws: list[list[Fraction]]) -> Law:
    """Law of the counts of each symbol: all the shuffled reports tell."""
    current: Law = {(0,) * k: Fraction(1)}
    for law in laws:
        after: Law = {}
        for counts, mass in current.items():
            for symbol, p in enumerate(law):
                key = tuple(c + (i == symbol) for i, c in enumerate(counts))
                after[key] = after.get(key, Fraction(0)) + mass * p
        current = after
    return current


def divergence(p: Law, q: Law, e: Fraction) -> Fraction:
    """H_e(P||Q)."""
    return sum((max(mass - e * q.get(key, 0), Fraction(0)) for key, mass in p.items()), Fraction(0))


def worst_delta(k: int, others: list[Fraction], victim: Fraction, e: Fraction) -> Fraction:
    """The largest delta over all values of everybody."""
    worst = Fraction(0)
    for values in itertools.combinations_with_replacement(range(k), len(others)):
        for order in set(itertools.permutations(values)) if len(set(others)) > 1 else {values}:
            crowd = [report(k, big, x) for big, x in zip(others, order, strict=True)]
            base = histogram(k, crowd)
            for first, second in itertools.permutations(range(k), 2):
                laws = []
                for value in (first, second):
                    law: Law = {}
                    for counts, mass in base.items():
                        for symbol, p in enumerate(report(k, victim, value)):
                            key = tuple(c + (i == symbol) for i, c in enumerate(counts))
                            law[key] = law.get(key, Fraction(0)) + mass * p
                    laws.append(law)
                worst = max(worst, divergence(laws[0], laws[1], e))
    return worst


def published_delta(
    matrices: list[Sequence[Sequence[float]]], deltas: list[float], epsilon: float
) -> float:
    """HPS 2024, section 3, word for word; the victim is the first user, one matrix per user."""
    worst = 0.0
    victim, outcomes = matrices[0], range(len(matrices[0][0]))
    for zero, one in itertools.permutations(victim, 2):
        mistaken = [
            sum(zero[z] for z in outcomes if zero[z] < one[z]),
            sum(one[z] for z in outcomes if one[z] < zero[z]),
        ]
        w = min(mistaken) - deltas[0] / 2
        law = {0: 1.0}
        for matrix, delta in zip(matrices[1:], deltas[1:], strict=True):
            chances = []
            for own in matrix:
                for mine, other in ((zero, one), (one, zero)):
                    region = [z for z in outcomes if own[z] < mine[z] and other[z] < mine[z]]
                    chances.append(sum(own[z] for z in region) if region else 1.0)
            p = min(max(min(chances) - delta / 2, 0.0), 0.5)
            law = {
                c: law.get(c, 0.0) * (1 - 2 * p) + law.get(c - 1, 0.0) * 2 * p
                for c in range(len(law) + 1)
            }
        twice = (1 - deltas[0]) * 2 * w + deltas[0]
        g = (math.exp(epsilon) - twice) / (1 - twice)
        total = 0.0
        for c, weight in law.items():
            for a in range(c + 2):  # P0 = (A+1, C-A), Q0 = (A, C-A+1)
                p0 = math.comb(c, a - 1) / 2**c if a else 0.0
                total += weight * max(p0 - g * math.comb(c, a) / 2**c, 0.0)
        worst = max(worst, (1 - twice) * total)
    return worst
