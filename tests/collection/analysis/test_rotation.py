"""Turning vectors: lengths are kept, turning back undoes it, hardly anything is clamped."""

import math

import numpy as np
import pytest

from shuffledp.collection.analysis.rotation import Rotation, clamped, reach
from shuffledp.collection.devices import simulation


@pytest.mark.parametrize("dimensions", [1, 2, 3, 16, 50])
def test_back_again(dimensions: int) -> None:
    turn = Rotation.drawn(dimensions, 2.0, 10**6, simulation(3))
    size = turn.signs.size
    assert size & (size - 1) == 0
    assert dimensions <= size < max(2 * dimensions, 3)
    vectors = np.random.default_rng(1).normal(size=(40, dimensions))
    vectors *= 2.0 / np.linalg.norm(vectors, axis=1, keepdims=True)
    shares = turn.shares(vectors)
    assert np.all((shares >= 0.0) & (shares <= 1.0))
    for row, vector in zip(shares, vectors, strict=True):
        found, _ = turn.back(row, np.zeros(size), dimensions)
        if size >= 32:  # else a coordinate may be as long as the vector: it is never clamped
            assert np.allclose(found, vector, atol=1e-12)
        assert np.linalg.norm(found) <= 2.0 * (1.0 + 1e-12)


def test_longer_vectors_are_cut() -> None:
    turn = Rotation.drawn(4, 1.0, 100, simulation(1))
    found, _ = turn.back(turn.shares(np.array([[3.0, 0.0, 4.0, 0.0]]))[0], np.zeros(4), 4)
    assert np.allclose(found, [0.6, 0.0, 0.8, 0.0])


def test_noise_is_shared_by_all_coordinates() -> None:
    turn = Rotation.drawn(5, 0.5, 1000, simulation(1))
    variances = np.arange(1.0, 9.0) * 1e-4
    _, spread = turn.back(np.full(8, 0.5), variances, 5)
    noise = turn.span**2 * variances.mean()
    assert np.allclose(spread, noise + clamped(1000) * 0.25 / 8)
    rng = np.random.default_rng(2)
    draws = [
        turn.back(0.5 + rng.normal(0.0, np.sqrt(variances)), variances, 5)[0] for _ in range(4000)
    ]
    assert np.allclose(np.var(draws, axis=0), noise, rtol=0.15)


@pytest.mark.parametrize("hard", ["one coordinate", "all alike", "a row of the matrix"])
def test_hardly_anything_is_clamped_whatever_the_vectors(hard: str) -> None:
    """Over random signs; a vector that one turn sends to a single coordinate is spread by others."""
    size, n = 64, 50
    vector = np.zeros(size)
    vector[0] = 1.0
    if hard == "all alike":
        vector[:] = 1.0 / math.sqrt(size)
    elif hard == "a row of the matrix":
        vector[:] = (1.0 - 2.0 * (np.arange(size) & 1)) / math.sqrt(size)
    squares = []
    for seed in range(300):
        turn = Rotation.drawn(size, 1.0, n, simulation(seed))
        found, _ = turn.back(turn.shares(vector[None, :])[0], np.zeros(size), size)
        squares.append(float(((found - vector) ** 2).mean()) * size)
    assert np.mean(squares) <= clamped(n)
    assert reach(n) > 3.0
    assert reach(1) > 1.0
