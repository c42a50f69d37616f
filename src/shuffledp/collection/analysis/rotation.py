"""Turning short vectors before their coordinates are sent, so that no coordinate is large.

A random turn that is public (signs drawn anew for every collection, then Hadamard's matrix) spreads
the length of a vector over all coordinates. Each then needs a range of a few times length / sqrt(D)
instead of the whole length to either side. What is beyond is clamped, which hardly ever happens,
whatever the vectors are (docs/howto/columns.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.collection.devices import Stream
from shuffledp.numerics.rounding import Array


def reach(n: int) -> float:
    """Of the range of a turned coordinate, in lengths / sqrt(D): more where there is less noise."""
    return 0.5 + math.sqrt(2.0 * math.log(max(n, 2)))


def clamped(n: int) -> float:
    """The mean square of what is clamped, at most, in lengths^2 / D.

    A turned coordinate Y is sub-Gaussian: Pr[|Y| > x] <= 2 exp(-x^2 / 2) (Hoeffding), so the mean
    of (|Y| - t)+^2 is at most 4 exp(-t^2 / 2) / t^2; by Jensen that of the users' average is no
    larger.
    """
    t = reach(n)
    return 4.0 * math.exp(-0.5 * t * t) / t**2


@dataclass(frozen=True, eq=False)
class Rotation:
    """A turn of vectors of some length.

    Parameters
    ----------
    signs
        One for each coordinate: 1 or -1; a power of two, vectors being filled up with zeros.
    length
        Of the vectors, at most.
    n
        Users.

    Examples
    --------
    >>> from shuffledp.collection.devices import simulation
    >>> turn = Rotation.drawn(3, 1.0, 100, simulation(1))
    >>> found, _ = turn.back(turn.shares(np.array([[0.6, 0.0, -0.8]]))[0], np.zeros(4), 3)
    >>> np.round(found, 12).tolist()
    [0.6, 0.0, -0.8]
    """

    signs: Array
    length: float
    n: int

    @classmethod
    def drawn(cls, dimensions: int, length: float, n: int, stream: Stream) -> Rotation:
        """At random, of the next power of two; nothing about it is secret."""
        size = 1 << max(dimensions - 1, 1).bit_length()
        return cls(1.0 - 2.0 * stream.bits(size, 1).astype(np.float64), length, n)

    @property
    def span(self) -> float:
        """Of the range of a turned coordinate."""
        return 2.0 * reach(self.n) * self.length / math.sqrt(self.signs.size)

    def shares(self, vectors: Array) -> Array:
        """Turned coordinates as shares of their range, longer vectors cut to the length."""
        norms = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
        inside = vectors * np.minimum(1.0, self.length / np.maximum(norms, 1e-300))
        whole = np.zeros((len(vectors), self.signs.size))
        whole[:, : vectors.shape[1]] = inside
        turned = _hadamard(whole * self.signs)
        return np.asarray(np.clip(0.5 + turned / self.span, 0.0, 1.0))

    def back(self, shares: Array, variances: Array, dimensions: int) -> tuple[Array, Array]:
        """The mean vector and the variances of its coordinates, from those of the turned ones."""
        turned = _hadamard((shares - 0.5)[None, :] * self.span)[0] * self.signs
        bias = clamped(self.n) * self.length**2 / self.signs.size
        spread = np.full(dimensions, self.span**2 * variances.mean() + bias)
        return np.asarray(turned[:dimensions]), spread


def _hadamard(rows: Array) -> Array:
    """Hadamard's matrix over the square root of its size, times each row; its own inverse."""
    size, step = rows.shape[1], 1
    found = rows.copy()
    while step < size:
        pairs = found.reshape(len(rows), -1, 2, step)
        sums, gaps = pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]
        found = np.stack([sums, gaps], axis=2).reshape(len(rows), size)
        step *= 2
    return np.asarray(found / math.sqrt(size))
