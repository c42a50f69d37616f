"""Every data set of a small channel, both directions, in exact fractions."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction

Channel = tuple[tuple[Fraction, ...], ...]
"""channel[x][z] = probability that a user holding x reports z."""


def shuffled_law(channel: Channel, inputs: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """Law of the histogram of reports of users holding ``inputs``."""
    law = {(0,) * len(channel[0]): Fraction(1)}
    for x in inputs:
        bigger: dict[tuple[int, ...], Fraction] = {}
        for histogram, mass in law.items():
            for z, share in enumerate(channel[x]):
                key = (*histogram[:z], histogram[z] + 1, *histogram[z + 1 :])
                bigger[key] = bigger.get(key, Fraction(0)) + mass * share
        law = bigger
    return law


def hockey_stick(
    p: dict[tuple[int, ...], Fraction], q: dict[tuple[int, ...], Fraction], e: Fraction
) -> Fraction:
    """sum of (p - e q)+."""
    return sum((max(mass - e * q[key], Fraction(0)) for key, mass in p.items()), Fraction(0))


def worst_delta(channel: Channel, n: int, e: Fraction) -> Fraction:
    """The largest H_e over all neighbouring data sets of n users, both directions."""
    scaled, unit = _integers(channel)
    values = range(len(channel))
    # the same histogram law in integers (times unit^n), for speed
    laws = {
        inputs: _integer_law(scaled, inputs)
        for inputs in itertools.combinations_with_replacement(values, n)
    }
    worst = 0
    for others in itertools.combinations_with_replacement(values, n - 1):
        for x, y in itertools.permutations(values, 2):
            p = laws[tuple(sorted((*others, x)))]
            q = laws[tuple(sorted((*others, y)))]
            excess = sum(
                max(e.denominator * mass - e.numerator * q[key], 0) for key, mass in p.items()
            )
            worst = max(worst, excess)
    return Fraction(worst, e.denominator * unit**n)


def _integers(channel: Channel) -> tuple[list[list[int]], int]:
    unit = 1
    for share in itertools.chain.from_iterable(channel):
        unit = unit * share.denominator // _gcd(unit, share.denominator)
    return [[int(share * unit) for share in row] for row in channel], unit


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


def _integer_law(rows: list[list[int]], inputs: tuple[int, ...]) -> dict[tuple[int, ...], int]:
    law = {(0,) * len(rows[0]): 1}
    for x in inputs:
        bigger: dict[tuple[int, ...], int] = {}
        for histogram, mass in law.items():
            for z, share in enumerate(rows[x]):
                key = (*histogram[:z], histogram[z] + 1, *histogram[z + 1 :])
                bigger[key] = bigger.get(key, 0) + mass * share
        law = bigger
    return law


def local_ratio(channel: Channel) -> Fraction:
    """The smallest E such that the channel is ln(E)-LDP."""
    return max(
        a[z] / b[z] for a, b in itertools.permutations(channel, 2) for z in range(len(channel[0]))
    )


def local_delta(channel: Channel, e: Fraction) -> Fraction:
    """The smallest delta0 such that the channel is (ln e, delta0)-LDP."""
    return max(
        sum((max(s - e * t, Fraction(0)) for s, t in zip(a, b, strict=True)), Fraction(0))
        for a, b in itertools.permutations(channel, 2)
    )


def random_channel(rng: random.Random, zeros: bool = False) -> Channel:
    """2 to 4 inputs and outputs; half of the channels two-valued per column, hence near extreme."""
    inputs, outputs = rng.randint(2, 4), rng.randint(2, 4)
    big = rng.choice([2, 3, 5, 9, 20, 100])
    columns = []
    for _ in range(outputs):
        scale = rng.randint(1, 10)
        levels = [1, big] if rng.random() < 0.5 else list(range(1, big + 1))
        if zeros and rng.random() < 0.3:
            levels = [0, *levels]
        columns.append([scale * rng.choice(levels) for _ in range(inputs)])
    rows = [[column[x] for column in columns] for x in range(inputs)]
    if any(sum(row) == 0 for row in rows):
        return random_channel(rng, zeros)
    return tuple(tuple(Fraction(value, sum(row)) for value in row) for row in rows)


def response_with_spectator(big: int, spectators: int) -> Channel:
    """k-RR on 2 + spectators symbols: all others on a third symbol is nearly the worst data set."""
    k = 2 + spectators
    return tuple(
        tuple(Fraction(big if x == z else 1, big + k - 1) for z in range(k)) for x in range(k)
    )


def channels(seed: int, count: int, zeros: bool = False) -> Iterator[Channel]:
    """A reproducible stream of random channels."""
    rng = random.Random(seed)
    for _ in range(count):
        yield random_channel(rng, zeros)
