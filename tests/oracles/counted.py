"""What counts and sums leak: every number of holders, every outcome, term by term, in balls.

Laws of noise come from their definitions, sums of it from convolutions; what is cut off at the far
ends is kept as one outcome of unknown mass. Nothing here imports ``shuffledp``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flint import arb

from tests.oracles.truth import World

Law = dict[Any, arb]
"""What is seen -> probability; None: cut off."""
CUT = 1e-70
"""Masses below this are cut off, if there are infinitely many."""


def _masses(first: arb, ratio: Callable[[int], arb], limit: float) -> Law:
    """A law on 0, 1, ... from the ratios of its masses, which stay below ``limit`` far out."""
    found, k, mass = {}, 0, first
    while True:
        found[k] = mass
        step = ratio(k)
        if mass < CUT and step < limit:
            return found | {None: _unknown(mass * step / (1 - arb(limit)))}
        k, mass = k + 1, mass * step


def _unknown(most: arb) -> arb:
    half = most.upper() / 2
    return arb(0, 1) * half + half


def _poisson(rate: float) -> Law:
    return _masses((-arb(rate)).exp(), lambda k: arb(rate) / (k + 1), 0.5)


def _negative(shape: arb, ratio: arb) -> Law:
    limit = 0.5 * (1.0 + float(ratio.upper()))
    return _masses((1 - ratio) ** shape, lambda k: ratio * (k + shape) / (k + 1), limit)


def _binomial(trials: int, chance: arb) -> Law:
    return {
        k: math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        for k in range(trials + 1)
    }


def _normal(spread: float) -> Law:
    reach = math.ceil(math.sqrt(-2.0 * spread * math.log(CUT))) + 2
    raw = {k: (-arb(k * k) / (2 * arb(spread))).exp() for k in range(-reach, reach + 1)}
    beyond = _unknown(4 * raw[reach] / (1 - (-arb(reach) / arb(spread)).exp()))
    whole = sum(raw.values(), arb(0)) + beyond
    return {k: mass / whole for k, mass in raw.items()} | {None: beyond / whole}


def _laplace(centre: int, scale: float) -> Law:
    raw = {k: (-arb(abs(k - centre)) / arb(scale)).exp() for k in range(2 * centre + 1)}
    whole = sum(raw.values(), arb(0))
    return {k: mass / whole for k, mass in raw.items()}


def plus(one: Law, two: Law) -> Law:
    """The law of a sum."""
    found: Law = {}
    for (x, p), (y, q) in itertools.product(one.items(), two.items()):
        key = None if x is None or y is None else x + y
        found[key] = found.get(key, arb(0)) + p * q
    return found


def _minus(law: Law) -> Law:
    return {None if k is None else -k: mass for k, mass in law.items()}


def times(law: Law, count: int) -> Law:
    """The law of the sum of so many copies."""
    found: Law = {0: arb(1)}
    for _ in range(count):
        found = plus(found, law)
    return found


def noise(name: str, given: Mapping[str, Any]) -> Law:
    """The law of a noise of ``shuffledp``, by its name and fields."""
    if name == "PoissonNoise":
        return _poisson(given["rate"])
    if name == "SkellamNoise":
        return plus(_poisson(given["rate"]), _minus(_poisson(given["rate"])))
    if name == "NegativeBinomialNoise":
        return _negative(arb(given["shape"]), arb(given["ratio"]))
    if name == "PolyaNoise":
        one = _negative(arb(given["shape"]), (-1 / arb(given["scale"])).exp())
        return plus(one, _minus(one))
    if name == "BinomialNoise":
        return _binomial(given["trials"], arb(given["chance"]))
    one = _normal(given["spread"]) if name == "DiscreteGaussianNoise" else None
    if one is None:
        one = _laplace(given["centre"], given["scale"])
    return times(one, given.get("copies", 1))


def shifted(law: Law, by: int) -> Law:
    """The law of X + by."""
    return {None if k is None else k + by: mass for k, mass in law.items()}


def world(first: Law, second: Law) -> World:
    """Outcomes of both; what is cut off of either may tell everything, or nothing."""
    zero = arb(0)
    keys = (first.keys() | second.keys()) - {None}
    rest, other = first.get(None, zero), second.get(None, zero)
    found = [(first.get(key, zero) + rest, second.get(key, zero) + other) for key in keys]
    cut = [(first[None], zero)] if None in first else []
    return found + cut + ([(zero, second[None])] if None in second else [])


def both(one: World, two: World) -> World:
    """Two independent counters."""
    return [(a * c, b * d) for a, b in one for c, d in two]


def swapped(pair: World) -> World:
    """The data sets exchanged."""
    return [(q, p) for p, q in pair]


Pair = tuple[Law, Law]
"""A counter with the victim, and without."""


def moved(pairs: Iterator[tuple[Pair, Pair]], remove: bool) -> Iterator[World]:
    """The victim in one counter or in none, or in one or the other."""
    for (with_one, without_one), (with_two, without_two) in pairs:
        one = world(with_one, without_one)
        yield one if remove else both(one, world(without_two, with_two))


def bits(one: arb, other: arb, others: int, k: int, remove: bool) -> Iterator[World]:
    """Sums of bits of two values: all numbers of their holders."""
    laws = {h: plus(_binomial(h, one), _binomial(others - h, other)) for h in range(others + 1)}
    pairs = {
        h: (plus(law, {0: 1 - one, 1: one}), plus(law, {0: 1 - other, 1: other}))
        for h, law in laws.items()
    }
    if remove:
        return moved(((pair, pair) for pair in pairs.values()), True)
    numbers = itertools.product(range(others + 1), repeat=2)
    held = ((a, b) for a, b in numbers if (a + b <= others if k > 2 else a + b == others))
    return moved(((pairs[a], pairs[b]) for a, b in held), False)


def responses(one: arb, others: int) -> Iterator[World]:
    """The number of ones, of binary randomized responses."""
    for held in range(others + 1):
        law = plus(_binomial(held, one), _binomial(others - held, 1 - one))
        yield world(plus(law, {0: 1 - one, 1: one}), plus(law, {0: one, 1: 1 - one}))


def counts(total: Law, remove: bool) -> Iterator[World]:
    """Counts with noise: every data set is the same, but for a shift."""
    pair = shifted(total, 1), total
    return moved(iter([(pair, pair)]), remove)


def paired(noise: Law, pairs: Law, remove: bool) -> Iterator[World]:
    """Messages for a value and against it: two numbers, of which a holder moves the first."""
    both_numbers: Law = {}
    for (x, p), (y, q), (z, r) in itertools.product(noise.items(), noise.items(), pairs.items()):
        key = None if None in (x, y, z) else (x + z, y + z)
        both_numbers[key] = both_numbers.get(key, arb(0)) + p * q * r
    moved_one = {key and (key[0] + 1, key[1]): mass for key, mass in both_numbers.items()}
    pair = moved_one, both_numbers
    return moved(iter([(pair, pair)]), remove)


def numbers(total: Law, levels: int) -> Iterator[World]:
    """A sum with noise, moved by any number."""
    for by in range(1, levels + 1):
        yield world(shifted(total, by), total)


def thresholded(rate: arb, threshold: int, spread: int, others: int) -> dict[int, Pair]:
    """What is shown of a value that so many others hold, with the victim's and without."""

    def shown(law: Law) -> Law:
        found: Law = {}
        for count, mass in law.items():
            for limit in range(threshold, threshold + spread + 1):
                key = count if count >= limit else -1
                found[key] = found.get(key, arb(0)) + mass / (spread + 1)
        return found

    return {
        h: (shown(_binomial(h + 1, rate)), shown(_binomial(h, rate))) for h in range(others + 1)
    }


def samples(pairs: dict[int, Pair], remove: bool) -> Iterator[World]:
    """All numbers of other holders of one value, or of two."""
    if remove:
        return moved(((pair, pair) for pair in pairs.values()), True)
    most = max(pairs)
    held = ((a, b) for a in pairs for b in pairs if a + b <= most)
    return moved(((pairs[a], pairs[b]) for a, b in held), False)


def among_dummies(k: int, eps0: float, total: Law, others: int) -> Iterator[World]:
    """Randomized responses and numbers of dummies of every value: all counts together."""
    flip = 1 / (arb(eps0).exp() + k - 1)
    keep = 1 - (k - 1) * flip
    fake: Law = {(): arb(1)}
    for _ in range(k):
        fake = {
            None if key is None or c is None else (*key, c): arb(0) for key in fake for c in total
        } | _joined(fake, total)

    def more(law: Law, x: int) -> Law:
        found: Law = {}
        for key, mass in law.items():
            for value in range(k):
                new = None
                if key is not None:
                    new = tuple(c + (place == value) for place, c in enumerate(key))
                found[new] = found.get(new, arb(0)) + mass * (keep if value == x else flip)
        return found

    for held in itertools.combinations_with_replacement(range(k), others):
        law = fake
        for x in held:
            law = more(law, x)
        for x, y in itertools.combinations(range(k), 2):
            yield world(more(law, x), more(law, y))


def _joined(fake: Law, total: Law) -> Law:
    found: Law = {}
    for (key, p), (c, q) in itertools.product(fake.items(), total.items()):
        new = None if key is None or c is None else (*key, c)
        found[new] = found.get(new, arb(0)) + p * q
    return found


def split(share: Law, levels: int, users: int, messages: int, modulus: int) -> Iterator[World]:
    """Multisets of messages, uniform but for their sum, of each number with noise."""

    def sent(x: int) -> Law:
        found: Law = {}
        for z, mass in share.items():
            for first in itertools.product(range(modulus), repeat=messages - 1):
                bag = [0] * modulus
                for part in (*first, (x + z - sum(first)) % modulus):
                    bag[part] += 1
                found[tuple(bag)] = found.get(tuple(bag), arb(0)) + mass
        return {key: mass / modulus ** (messages - 1) for key, mass in found.items()}

    each = [sent(x) for x in range(levels + 1)]

    def more(law: Law, x: int) -> Law:
        found: Law = {}
        for (a, p), (b, q) in itertools.product(law.items(), each[x].items()):
            key = tuple(i + j for i, j in zip(a, b, strict=True))
            found[key] = found.get(key, arb(0)) + p * q
        return found

    for held in itertools.combinations_with_replacement(range(levels + 1), users - 1):
        law: Law = {(0,) * modulus: arb(1)}
        for x in held:
            law = more(law, x)
        for x, y in itertools.combinations(range(levels + 1), 2):
            yield world(more(law, x), more(law, y))
