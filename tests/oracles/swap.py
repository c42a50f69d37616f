"""What every data set leaks, slowly: exact sums over all counts, for the tests of the swap bound."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _binomial(n: int, p: float) -> Array:
    k = np.arange(n + 1)
    logs = [math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1) for j in k]
    with np.errstate(divide="ignore"):
        found = np.exp(np.array(logs) + k * math.log(p) + (n - k) * math.log1p(-p))
    return found / found.sum()


def binary_deltas(eps0: float, n: int, epsilons: list[float], held: range) -> Array:
    """Largest delta of binary randomized response over others who hold 1 in these numbers, both ways."""
    p = 1.0 / (1.0 + math.exp(-eps0))
    worst = np.zeros(len(epsilons))
    for ones in held:
        others = np.convolve(_binomial(ones, p), _binomial(n - 1 - ones, 1.0 - p))
        high, low = (np.convolve(others, law) for law in ([1.0 - p, p], [p, 1.0 - p]))
        for i, epsilon in enumerate(epsilons):
            e = math.exp(epsilon)
            for one, two in ((high, low), (low, high)):
                worst[i] = max(worst[i], float(np.maximum(one - e * two, 0.0).sum()))
    return worst


def channel_deltas(rows: Array, n: int, epsilons: list[float]) -> Array:
    """Largest delta of a channel over all data sets of n users and all pairs of values."""
    inputs, outputs = rows.shape
    shape = (n + 1,) * (outputs - 1)

    worst = np.zeros(len(epsilons))
    for counts in itertools.product(range(n), repeat=inputs):
        if sum(counts) != n - 1:
            continue
        law = np.zeros(shape)
        law[(0,) * (outputs - 1)] = 1.0
        for row, count in zip(rows, counts, strict=True):
            for _ in range(count):
                law = _report(law, row)
        laws = [_report(law, row) for row in rows]
        for one, two in itertools.permutations(laws, 2):
            for i, epsilon in enumerate(epsilons):
                excess = float(np.maximum(one - math.exp(epsilon) * two, 0.0).sum())
                worst[i] = max(worst[i], excess)
    return worst


def _report(law: Array, row: Array) -> Array:
    """The counts of all symbols but the last, with one more report."""
    found = law * row[-1]
    for j in range(len(row) - 1):
        found = found + row[j] * np.roll(law, 1, axis=j)
    return found


def _worst(laws: list[Array], epsilons: list[float]) -> Array:
    return np.array(
        [
            max(
                float(np.maximum(one - math.exp(epsilon) * two, 0.0).sum())
                for one, two in itertools.permutations(laws, 2)
            )
            for epsilon in epsilons
        ]
    )


def drawn_deltas(rows: Array, n: int, drawn: int, epsilons: list[float]) -> Array:
    """Largest delta over all data sets of n users of whom so many, drawn in secret, report."""
    inputs, outputs = rows.shape
    worst = np.zeros(len(epsilons))
    for others in itertools.combinations_with_replacement(range(inputs), n - 1):
        sums = np.zeros((drawn + 1, *(drawn + 1,) * (outputs - 1)))  # over all choices of j users
        sums[(0,) * outputs] = 1.0
        for x in others:
            for j in range(drawn, 0, -1):
                sums[j] += _report(sums[j - 1], rows[x])
        laws = [(sums[drawn] + _report(sums[drawn - 1], row)) / math.comb(n, drawn) for row in rows]
        worst = np.maximum(worst, _worst(laws, epsilons))
    return worst


def class_deltas(victim: Array, classes: list[tuple[Array, int]], epsilons: list[float]) -> Array:
    """Largest delta of a victim with this channel among so many others of each channel, all data sets."""
    outputs, n = victim.shape[1], 1 + sum(count for _, count in classes)
    worst = np.zeros(len(epsilons))
    choices = [
        itertools.combinations_with_replacement(range(len(rows)), count) for rows, count in classes
    ]
    for held in itertools.product(*choices):
        law = np.zeros((n + 1,) * (outputs - 1))
        law[(0,) * (outputs - 1)] = 1.0
        for (rows, _), values in zip(classes, held, strict=True):
            for x in values:
                law = _report(law, rows[x])
        worst = np.maximum(worst, _worst([_report(law, row) for row in victim], epsilons))
    return worst


def excess_in_order(
    laws: list[tuple[Array, Array, Array]],
    m: int,
    lam: float,
    own: tuple[Array, Array],
    place: int,
) -> float:
    """sup over all ways to choose each law by what came before of E[(V + W_1 + ...)+ e^(-lam (g_1 + ...))].

    Laws: (mass, W, g); ``own``: (mass, V), the victim's step, after ``place`` others. By backward
    induction on a grid, linear between: what that adds is far below a millionth.
    """
    reach = sum(float(np.abs(value).max()) for value in (laws[0][1], own[1]))
    grid = np.linspace(-6.0 * reach * math.sqrt(m), 6.0 * reach * math.sqrt(m), 6001)
    now = np.maximum(grid, 0.0)
    for i in reversed(range(m + 1)):
        before = now
        if i == place:
            now = sum(p * np.interp(grid + v, grid, before) for p, v in zip(*own, strict=True))
            continue
        steps = [
            sum(
                p * math.exp(-lam * g) * np.interp(grid + w, grid, before)
                for p, w, g in zip(*law, strict=True)
            )
            for law in laws
        ]
        now = np.max(steps, axis=0)
    return float(np.interp(0.0, grid, now))


def ordered_deltas(
    rng: np.random.Generator, eps0: float, n: int, ones: int, epsilons: list[float]
) -> Array:
    """Delta of data shuffled, then randomizers in order, each a random eps0-LDP function of all earlier bits.

    ``ones`` of the others hold 1, the rest 2; the victim holds 0 or 3. Exact: all bits, all orders.
    """
    big = math.exp(eps0)
    # ways[k][h, j]: sums over orders of the chance of history h, j others of value 1 and the victim placed (k) or not
    ways = np.zeros((2, 2, 1, ones + 1))  # victim's value, placed or not, history, ones placed
    ways[:, 0, 0, 0] = 1.0
    for slot in range(n):
        histories = 1 << slot
        low = rng.uniform(0.0, 1.0, histories) * rng.choice([0.05, 1.0]) / (1.0 + big)
        high = np.minimum(big * low, 1.0 - (1.0 - low) / big)
        chances = np.where(rng.integers(0, 2, (4, histories)), high, low)  # of a 1, by value
        flip = rng.integers(0, 2, histories).astype(np.bool_)
        chances = np.where(flip, 1.0 - chances, chances)
        after = np.zeros((2, 2, 2 * histories, ones + 1))
        for bit in (0, 1):
            p = chances if bit else 1.0 - chances
            to = slice(bit * histories, (bit + 1) * histories)
            for value, held in ((0, 0), (1, 3)):
                for placed in (0, 1):
                    now = ways[value, placed]
                    after[value, placed, to, 1:] += now[:, :-1] * p[1][:, None]
                    others = slot - placed - np.arange(ones + 1)  # twos placed so far
                    after[value, placed, to] += np.where(
                        (others >= 0) & (others < n - 1 - ones), now * p[2][:, None], 0.0
                    )
                after[value, 1, to] += ways[value, 0] * p[held][:, None]
        ways = after
    laws = [ways[value, 1, :, ones] for value in (0, 1)]
    return _worst([law / law.sum() for law in laws], epsilons)


def expected_excess(
    laws: list[tuple[Array, Array, Array]], lam: float, first: Array, chance: Array
) -> float:
    """E[(Y + sum of W)+ e^(-lam sum of g)], one (masses, W, g) per summand, over every combination."""
    sums, masses = np.asarray(first), np.asarray(chance)
    for mass, value, decay in laws:
        sums = np.add.outer(sums, value).ravel()
        masses = np.multiply.outer(masses, mass * np.exp(-lam * decay)).ravel()
    return float(np.maximum(sums, 0.0) @ masses)
