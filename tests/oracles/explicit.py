"""Channel matrices written out outcome by outcome from the mechanisms' published descriptions.

Nothing here imports ``shuffledp``. Row x is the law of the report of a user with value x.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

Matrix = np.ndarray


def randomized_response(k: int, eps0: float) -> Matrix:
    big = math.exp(eps0)
    return (np.ones((k, k)) + (big - 1.0) * np.eye(k)) / (big + k - 1.0)


def unary(k: int, keep: float, flip: float) -> Matrix:
    """All 2^k vectors of bits."""
    rows = []
    for x in range(k):
        row = []
        for bits in itertools.product((0, 1), repeat=k):
            on = [keep if value == x else flip for value in range(k)]
            row.append(math.prod(p if bit else 1.0 - p for p, bit in zip(on, bits, strict=True)))
        rows.append(row)
    return np.array(rows)


def subsets(k: int, d: int, eps0: float) -> Matrix:
    """All subsets of size d, e^eps0 times likelier if they hold the value."""
    rows = np.array(
        [
            [
                math.exp(eps0) if x in chosen else 1.0
                for chosen in itertools.combinations(range(k), d)
            ]
            for x in range(k)
        ]
    )
    return rows / rows.sum(axis=1, keepdims=True)


def hadamard(words: list[int], size: int, eps0: float) -> Matrix:
    """Sylvester's matrix: word w likes the positions z with an even number of common bits."""
    rows = np.array(
        [
            [math.exp(eps0) if (word & z).bit_count() % 2 == 0 else 1.0 for z in range(size)]
            for word in words
        ]
    )
    return rows / rows.sum(axis=1, keepdims=True)


def hashing(domain: int, g: int, eps0: float) -> Matrix:
    """All g^domain hash functions, each with its g answers."""
    big = math.exp(eps0)
    rows = np.array(
        [
            [
                big if table[x] == y else 1.0
                for table in itertools.product(range(g), repeat=domain)
                for y in range(g)
            ]
            for x in range(domain)
        ]
    )
    return rows / (g**domain * (big + g - 1.0))


def piecewise(inputs: list[float], eps0: float) -> Matrix:
    """Cells between all ends of windows; Wang et al. 2019, Algorithm 2."""
    root = math.exp(eps0 / 2.0)
    reach = (root + 1.0) / (root - 1.0)
    windows = [
        (
            (reach + 1.0) / 2.0 * x - (reach - 1.0) / 2.0,
            (reach + 1.0) / 2.0 * x + (reach - 1.0) / 2.0,
        )
        for x in inputs
    ]
    high = (root * root - root) / (2.0 * root + 2.0)
    edges = np.unique(np.array([-reach, reach, *itertools.chain.from_iterable(windows)]))
    middle = 0.5 * (edges[1:] + edges[:-1])
    return np.array(
        [
            np.diff(edges) * np.where((left < middle) & (middle < right), high, high / root**2)
            for left, right in windows
        ]
    )


def one_bit(inputs: list[float], eps0: float) -> Matrix:
    """Duchi et al. 2018, one dimension."""
    slope = math.tanh(eps0 / 2.0)
    return np.array([[0.5 - 0.5 * slope * x, 0.5 + 0.5 * slope * x] for x in inputs])


def laplace(inputs: list[float], eps0: float, cells: int) -> Matrix:
    """Reports cut at 0, 1/cells, ..., 1; inputs must be among these."""
    edges = np.arange(cells + 1) / cells
    rows = []
    for x in inputs:
        below = np.where(
            edges <= x, 0.5 * np.exp(-eps0 * (x - edges)), 1.0 - 0.5 * np.exp(-eps0 * (edges - x))
        )
        rows.append(np.diff(np.concatenate([[0.0], below, [1.0]])))
    return np.array(rows)


def discrete_laplace(levels: int, eps0: float, reach: int) -> Matrix:
    """Reports from -reach to levels + reach, the rest of both tails in the last ones."""
    rate = eps0 / levels
    z = np.arange(-reach, levels + reach + 1)
    ratio = math.exp(-rate)
    rows = (
        (1.0 - ratio) / (1.0 + ratio) * np.exp(-rate * np.abs(z - np.arange(levels + 1)[:, None]))
    )
    rows[:, 0] /= 1.0 - ratio
    rows[:, -1] /= 1.0 - ratio
    return rows
