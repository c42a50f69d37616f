"""What a victim leaks among given others, exactly: one report is added after the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Crowd = Sequence[Array]
"""The law of each other user's report."""


def _with(law: Array, row: Array) -> Array:
    """The law of the counts of all symbols but the last, after one more report."""
    found: Array = law * row[-1]
    for axis, chance in enumerate(row[:-1]):
        later = [slice(None)] * law.ndim
        before = [slice(None)] * law.ndim
        later[axis], before[axis] = slice(1, None), slice(0, -1)
        found[tuple(later)] += chance * law[tuple(before)]
    return found


def _nothing(users: int, symbols: int) -> Array:
    law = np.zeros((users + 1,) * (symbols - 1))
    law[(0,) * (symbols - 1)] = 1.0
    return law


def seen(victim: Array, crowd: Crowd) -> list[Array]:
    """The law of what is seen, for each value of the victim."""
    law = _nothing(len(crowd) + 1, victim.shape[1])
    for row in crowd:
        law = _with(law, row)
    return [_with(law, row) for row in victim]


def seen_of_drawn(victim: Array, crowd: Crowd, drawn: int) -> list[Array]:
    """The same where so many of all users, drawn in secret, report."""
    sums = [_nothing(drawn, victim.shape[1])]  # over all choices of 0, 1, ... of the others
    sums += [np.zeros_like(sums[0]) for _ in range(drawn)]
    for row in crowd:
        for j in range(drawn, 0, -1):
            sums[j] = sums[j] + _with(sums[j - 1], row)
    choices = math.comb(len(crowd) + 1, drawn)
    return [(sums[drawn] + _with(sums[drawn - 1], row)) / choices for row in victim]


def leaked(laws: Sequence[Array], epsilon: float) -> float:
    """The largest delta over the victim's values, both ways."""
    e = math.exp(epsilon)
    return max(
        float(np.maximum(one - e * two, 0.0).sum()) for one, two in itertools.permutations(laws, 2)
    )


def crowds(rng: np.random.Generator, rows: Array, others: int) -> Iterator[Crowd]:
    """All at one value, all but one, halves of two values, and mixtures."""
    values = range(len(rows))
    for x in values:
        yield [rows[x]] * others
    for x, y in itertools.permutations(values, 2):
        yield [rows[x]] * (others - 1) + [rows[y]]
    x, y = rng.choice(len(rows), 2, replace=False)
    yield [rows[x]] * (others // 2) + [rows[y]] * (others - others // 2)
    yield [rows[x] for x in rng.choice(len(rows), others, p=rng.dirichlet(np.ones(len(rows))))]


def compositions(low: float, high: float, n: int, epsilon: float, numbers: range) -> float:
    """Bits that are 1 with these chances, the largest delta over so many others of the larger one.

    Values of a chance between are mixtures of the two: nobody leaks more.
    """
    victim = np.array([[1.0 - low, low], [1.0 - high, high]])
    return max(
        leaked(
            [
                np.convolve(np.convolve(_coins(j, high), _coins(n - 1 - j, low)), row)
                for row in victim
            ],
            epsilon,
        )
        for j in numbers
    )


def _coins(users: int, chance: float) -> Array:
    k = np.arange(users + 1)
    steps = np.log((users - k[:-1]) / (k[:-1] + 1.0)) + math.log(chance) - math.log1p(-chance)
    logs = users * math.log1p(-chance) + np.concatenate([[0.0], np.cumsum(steps)])
    found: Array = np.exp(logs)
    return found / found.sum()
