"""What shuffled reports leak: every data set, every pair of values of the victim, term by term.

A world is a pair of neighbouring data sets, as the list of (p, q): the probability of everything
the analyst may see under the one and under the other. Nothing here imports ``shuffledp``.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

from flint import arb

from tests.oracles.mechanisms import Row, Rows, order

World = list[tuple[arb, arb]]
Law = dict[tuple[int, ...], arb]
"""Histogram of reports -> probability."""
NOTHING: World = [(arb(1), arb(1))]


def joined(law: Law, row: Row) -> Law:
    """One more user's report thrown in."""
    bigger: Law = {}
    for histogram, mass in law.items():
        for z, share in enumerate(row):
            if not share.is_zero():  # a ball around zero is no zero
                key = (*histogram[:z], histogram[z] + 1, *histogram[z + 1 :])
                bigger[key] = bigger[key] + mass * share if key in bigger else mass * share
    return bigger


def empty(rows: Rows) -> Law:
    return {(0,) * len(rows[0]): arb(1)}


def crowds(rows: Rows, users: int) -> dict[tuple[int, ...], Law]:
    """The law of the reports of so many users, for every multiset of their values."""
    found: dict[tuple[int, ...], Law] = {(): empty(rows)}
    for _ in range(users):
        found = {
            (*values, x): joined(law, rows[x])
            for values, law in found.items()
            for x in range(values[-1] if values else 0, len(rows))
        }
    return found


def _pairs(laws: Sequence[Law]) -> Iterator[World]:
    """Both orders of every two laws."""
    zero = arb(0)
    for first, second in itertools.permutations(laws, 2):
        yield [
            (first.get(key, zero), second.get(key, zero)) for key in first.keys() | second.keys()
        ]


def shuffled(rows: Rows, n: int) -> Iterator[World]:
    """All users of one randomizer."""
    for law in crowds(rows, n - 1).values():
        yield from _pairs([joined(law, row) for row in rows])


def drawn(rows: Rows, n: int, m: int) -> Iterator[World]:
    """Of n users m, drawn without replacement, report."""
    laws = crowds(rows, m)
    share = arb(1) / math.comb(n, m)
    for others in itertools.combinations_with_replacement(range(len(rows)), n - 1):
        mixtures = []
        for x in range(len(rows)):
            mixture: Law = {}
            for chosen in itertools.combinations(sorted((*others, x)), m):
                for key, mass in laws[chosen].items():
                    mixture[key] = mixture.get(key, arb(0)) + share * mass
            mixtures.append(mixture)
        yield from _pairs(mixtures)


def personal(victim: Rows, others: Sequence[Rows], gone: int) -> Iterator[World]:
    """Every user has rows of one's own; any ``gone`` of the others may be missing."""
    seen = set()
    for left in itertools.combinations(range(len(others)), len(others) - gone):
        key = tuple(sorted(id(others[i]) for i in left))
        if key in seen:
            continue
        seen.add(key)
        alike = [
            list(group)
            for _, group in itertools.groupby(sorted((others[i] for i in left), key=id), key=id)
        ]
        values = [
            itertools.combinations_with_replacement(range(len(group[0])), len(group))
            for group in alike
        ]
        for choice in itertools.product(*values):
            law = empty(victim)
            for group, held in zip(alike, choice, strict=True):
                for x in held:
                    law = joined(law, group[0][x])
            yield from _pairs([joined(law, row) for row in victim])


def stated(epsilon: float, delta: float) -> World:
    """The release that leaks most of all that are (epsilon, delta)-DP."""
    likely = 1 / (1 + (-arb(epsilon)).exp())
    rest = 1 - arb(delta)
    return [
        (arb(delta), arb(0)),
        (arb(0), arb(delta)),
        (rest * likely, rest * (1 - likely)),
        (rest * (1 - likely), rest * likely),
    ]


def together(first: World, second: World) -> World:
    """Both releases, independent given the data."""
    return [(a * c, b * d) for a, b in first for c, d in second]


def repeated(world: World, rounds: int) -> World:
    """The same pair of data sets, this many rounds: how often each outcome came up."""
    found: World = []
    for counts in itertools.combinations_with_replacement(range(len(world)), rounds):
        ways, p, q = math.factorial(rounds), arb(1), arb(1)
        for outcome, group in itertools.groupby(counts):
            times = len(list(group))
            ways //= math.factorial(times)
            p, q = p * world[outcome][0] ** times, q * world[outcome][1] ** times
        found.append((ways * p, ways * q))
    return found


def delta(world: World, epsilon: float) -> arb:
    """H_e: the sum of (p - e q)+."""
    e = arb(epsilon).exp()
    total = arb(0)
    for p, q in world:
        excess = p - e * q
        if not excess <= 0:
            total += excess.nonnegative_part()
    return total


def renyi(world: World, power: float) -> arb | None:
    """D of this order; None if infinite."""
    total, excess = arb(0), arb(power) - 1
    for p, q in world:
        if p == 0:
            continue
        if q == 0:
            return None
        total += p * (p / q) ** excess
    return total.log() / excess


def tradeoff(world: World, alpha: float) -> arb:
    """The smallest type II error at type I error alpha, by Neyman and Pearson."""

    def telling(one: tuple[arb, arb], other: tuple[arb, arb]) -> int:
        return order(other[1] * one[0], one[1] * other[0])

    # what never happens is as telling as anything: it would break the order
    possible = [(p, q) for p, q in world if not (p.is_zero() and q.is_zero())]
    left, missed = arb(alpha), sum((q for _, q in world), arb(0))
    for p, q in sorted(possible, key=functools.cmp_to_key(telling)):
        if p <= left:
            left, missed = left - p, missed - q
        else:
            return missed - q * left / p
    return missed


def budget(rows: Rows) -> arb | None:
    """The pure local budget of these rows; None if infinite."""
    largest = arb(1)
    for first, second in itertools.permutations(rows, 2):
        for a, b in zip(first, second, strict=True):
            if a == 0:
                continue
            if b == 0:
                return None
            if a / b > largest:
                largest = a / b
    return largest.log()


def largest(values: Iterable[arb | None]) -> arb | None:
    """The largest ball; None, for infinity, exceeds all."""
    best = arb(0)
    for value in values:
        if value is None:
            return None
        if value > best:
            best = value
    return best
