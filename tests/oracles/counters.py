"""What counters tell, by every data set of a few users, in fractions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

Law = dict[tuple[int, ...], Fraction]


def hockey_stick(p: Law, q: Law, t: Fraction) -> Fraction:
    """sum of (p - t q)+."""
    return sum(
        (max(mass - t * q.get(key, Fraction(0)), Fraction(0)) for key, mass in p.items()),
        Fraction(0),
    )


def worst(
    laws: Callable[[tuple[int | None, ...]], Law], k: int, n: int, removed: bool, t: Fraction
) -> Fraction:
    """Largest divergence over all data sets and both directions; None: the user holds no value."""
    best = Fraction(0)
    for others in itertools.combinations_with_replacement(range(k), n - 1):
        held: list[Law] = [laws((x, *others)) for x in range(k)]
        changed = [laws((None, *others))] if removed else held
        for p, q in itertools.product(held, changed):
            best = max(best, hockey_stick(p, q, t), hockey_stick(q, p, t))
    return best


def _convolved(a: Law, b: Law) -> Law:
    found: Law = {}
    for (x, p), (y, q) in itertools.product(a.items(), b.items()):
        key = tuple(i + j for i, j in zip(x, y, strict=True))
        found[key] = found.get(key, Fraction(0)) + p * q
    return found


def _independent(laws: list[dict[int, Fraction]]) -> Law:
    return {
        tuple(values): math.prod(
            (law[v] for law, v in zip(laws, values, strict=True)), start=Fraction(1)
        )
        for values in itertools.product(*laws)
    }


def unary_sums(k: int, keep: Fraction, flip: Fraction) -> Callable[[tuple[int | None, ...]], Law]:
    """Sums of unary encodings."""

    def law(held: tuple[int | None, ...]) -> Law:
        total: Law = {(0,) * k: Fraction(1)}
        for x in held:
            chances = [keep if value == x else flip for value in range(k)]
            total = _convolved(total, _independent([{0: 1 - p, 1: p} for p in chances]))
        return total

    return law


def binary_sums(keep: Fraction) -> Callable[[tuple[int | None, ...]], Law]:
    """Sums of randomized responses, values 0 and 1."""

    def law(held: tuple[int | None, ...]) -> Law:
        total: Law = {(0,): Fraction(1)}
        for x in held:
            p = keep if x else 1 - keep
            total = _convolved(total, {(0,): 1 - p, (1,): p})
        return total

    return law


def noisy_counts(k: int, noise: dict[int, Fraction]) -> Callable[[tuple[int | None, ...]], Law]:
    """True counts plus noise of this law on each."""

    def law(held: tuple[int | None, ...]) -> Law:
        counts = [sum(x == value for x in held) for value in range(k)]
        return _independent([{c + z: mass for z, mass in noise.items()} for c in counts])

    return law


def thresholded(
    k: int, rate: Fraction, threshold: int, spread: int
) -> Callable[[tuple[int | None, ...]], Law]:
    """Sampled counts, 0 where they are below a threshold drawn for each value."""

    def law(held: tuple[int | None, ...]) -> Law:
        shown = []
        for value in range(k):
            users = sum(x == value for x in held)
            one: dict[int, Fraction] = {}
            for count in range(users + 1):
                mass = math.comb(users, count) * rate**count * (1 - rate) ** (users - count)
                for limit in range(threshold, threshold + spread + 1):
                    seen = count if count >= limit else 0
                    one[seen] = one.get(seen, Fraction(0)) + mass / (spread + 1)
            shown.append(one)
        return _independent(shown)

    return law


def randomized_with_dummies(
    k: int, eps0: float, rate: float, most: int, held: tuple[int, ...]
) -> np.ndarray:
    """Counts of randomized responses among Poisson numbers of dummies, up to ``most`` per value."""
    flip = 1.0 / (math.exp(eps0) + k - 1.0)
    total = np.zeros((1,) * k)
    total[...] = 1.0
    for x in held:
        grown = np.zeros(tuple(size + 1 for size in total.shape))
        for value in range(k):
            place = tuple(
                slice(int(axis == value), size + int(axis == value))
                for axis, size in enumerate(total.shape)
            )
            grown[place] += total * flip * (math.exp(eps0) if value == x else 1.0)
        total = grown
    masses = np.array([math.exp(-rate) * rate**j / math.factorial(j) for j in range(most)])
    for axis in range(k):
        total = np.apply_along_axis(lambda row: np.convolve(row, masses), axis, total)
    return np.asarray(total)
