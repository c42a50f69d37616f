"""Slow, obvious references: all data sets of unequal k-RR users, in rationals."""

from __future__ import annotations

import itertools
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
