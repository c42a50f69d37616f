"""Shuffled shares of a few users, every outcome counted, in fractions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction

Bag = tuple[int, ...]
"""How often each residue is sent: all that shuffled messages tell."""
Law = dict[Bag, Fraction]


def shares(numbers: Mapping[int, Fraction], messages: int, modulus: int) -> Law:
    """What one user sends: a number of this law, in shares that are uniform but for their sum."""
    found: Law = {}
    for number, mass in numbers.items():
        for first in itertools.product(range(modulus), repeat=messages - 1):
            bag = [0] * modulus
            for share in (*first, (number - sum(first)) % modulus):
                bag[share] += 1
            key = tuple(bag)
            found[key] = found.get(key, Fraction(0)) + mass / modulus ** (messages - 1)
    return found


def mixed(users: list[Law]) -> Law:
    """All messages together."""
    total: Law = {(0,) * len(next(iter(users[0]))): Fraction(1)}
    for user in users:
        found: Law = {}
        for (x, p), (y, q) in itertools.product(total.items(), user.items()):
            key = tuple(a + b for a, b in zip(x, y, strict=True))
            found[key] = found.get(key, Fraction(0)) + p * q
        total = found
    return total


def uniform(total: int, messages: int, modulus: int) -> Law:
    """Messages of this sum, all as likely."""
    found: Law = {}
    for bag in _bags(messages, modulus):
        if sum(i * times for i, times in enumerate(bag)) % modulus == total % modulus:
            ways = math.factorial(messages)
            for times in bag:
                ways //= math.factorial(times)
            found[bag] = Fraction(ways, modulus ** (messages - 1))
    return found


def _bags(messages: int, modulus: int) -> list[Bag]:
    if modulus == 1:
        return [(messages,)]
    return [
        (first, *rest)
        for first in range(messages + 1)
        for rest in _bags(messages - first, modulus - 1)
    ]


def distance(p: Law, q: Law) -> Fraction:
    """Statistical distance."""
    keys = p.keys() | q.keys()
    zero = Fraction(0)
    return sum((abs(p.get(key, zero) - q.get(key, zero)) for key in keys), zero) / 2


def components(users: int, messages: int, modulus: int) -> Fraction:
    """E[q^(C - 1)] of the random graph of two pairings, by its generating function."""
    weights = [
        Fraction(math.factorial(messages * k), math.factorial(k) ** 2) for k in range(users + 1)
    ]
    power = [Fraction(1)] + [Fraction(0)] * users
    for _ in range(modulus):
        power = [
            sum((power[i] * weights[k - i] for i in range(k + 1)), Fraction(0))
            for k in range(users + 1)
        ]
    return power[users] / weights[users] / modulus
