"""Central training by plain quadrature over the noise of a few steps."""

import itertools
import math

import numpy as np


def nodes(count: int, reach: float = 12.0) -> tuple[np.ndarray, np.ndarray]:
    """A fine midpoint rule for a standard normal variable."""
    step = 2.0 * reach / count
    z = -reach + step * (np.arange(count) + 0.5)
    return z, step * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


def allocation(sigma: float, steps: int, k: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The likelihood ratio of an epoch and its weights, without the victim."""
    z, w = nodes(count)
    x = np.exp(z / sigma - 0.5 / sigma**2)
    axes = np.meshgrid(*[x] * steps, indexing="ij")
    weights = np.prod(np.meshgrid(*[w] * steps, indexing="ij"), axis=0)
    sets = list(itertools.combinations(range(steps), k))
    ratio = sum(np.prod([axes[i] for i in chosen], axis=0) for chosen in sets) / len(sets)
    return ratio.ravel(), weights.ravel()


def merged(ratio: np.ndarray, weights: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The same law with neighbouring ratios, on a logarithmic scale, put at their mean."""
    place = np.log(ratio)
    cell = np.floor((place - place.min()) / (place.max() - place.min()) * (count - 1)).astype(int)
    mass = np.bincount(cell, weights, count)
    mean = np.bincount(cell, weights * ratio, count)
    return (mean / np.maximum(mass, 1e-300))[mass > 0.0], mass[mass > 0.0]


def deltas(ratio: np.ndarray, weights: np.ndarray, epsilon: float) -> tuple[float, float]:
    """With the victim against without, and conversely."""
    e = math.exp(epsilon)
    forward = float(weights @ np.maximum(ratio - e, 0.0))
    return forward, float(weights @ np.maximum(1.0 - e * ratio, 0.0))


def batches(sigma: float, steps: int, share: float, epsilon: float, count: int) -> float:
    """delta of the pair of shuffled batches, the larger direction."""
    z, w = nodes(count)
    axes = np.meshgrid(*[z] * steps, indexing="ij")
    weights = np.prod(np.meshgrid(*[w] * steps, indexing="ij"), axis=0)
    first, second = (
        1.0
        - share
        + share * sum(np.exp(a * axis / sigma - 0.5 * (a / sigma) ** 2) for axis in axes) / steps
        for a in (2.0, 1.0)
    )
    e = math.exp(epsilon)
    return max(
        float((weights * np.maximum(first - e * second, 0.0)).sum()),
        float((weights * np.maximum(second - e * first, 0.0)).sum()),
    )


def simulated(
    sigma: float, steps: int, k: int, epsilon: float, runs: int, moved: float = 1.7
) -> tuple[float, float]:
    """delta, the victim against none, and its standard error, by importance sampling: k steps are
    moved by more than the victim moves them."""
    rng = np.random.default_rng(steps + k)
    z = rng.normal(size=(runs, steps)) * sigma
    z[:, :k] += moved
    ratio = np.exp(_symmetric_mean((z - 0.5) / sigma**2, k))
    weight = np.exp(-_symmetric_mean((moved * z - 0.5 * moved**2) / sigma**2, k))
    gains = weight * np.maximum(ratio - math.exp(epsilon), 0.0)
    return float(gains.mean()), float(gains.std() / math.sqrt(runs))


def _symmetric_mean(logs: np.ndarray, k: int) -> np.ndarray:
    """ln of the mean product of k of the variables with these logarithms."""
    found = np.full((logs.shape[0], k + 1), -np.inf)
    found[:, 0] = 0.0
    for column in logs.T:
        found[:, 1:] = np.logaddexp(found[:, 1:], found[:, :-1] + column[:, None])
    return found[:, k] - math.log(math.comb(logs.shape[1], k))
