"""Where a binomial lives: quantiles by Chernoff, and certified masses of runs of counts."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.numerics.binomial import TAIL_ERROR, deviance, log_mass, tail_ratio
from shuffledp.numerics.rounding import Array, down, roundings, up
from shuffledp.numerics.search import bisect_whole

_SUMMED = 8192
"""Runs spanning fewer counts are summed atom by atom; longer ones are differences of tails."""
_PIECES = 20_000
"""A refinement never asks for many more groups than this."""


def chernoff(k: float, trials: float, p: float, q: float) -> float:
    """trials * KL(k/trials || p), rounded down: the mass at and beyond k is <= exp(-this)."""
    if k < 0.0 or k > trials:
        return math.inf
    exponent = deviance(k, trials * p) + deviance(trials - k, trials * q)
    return max(down(exponent, roundings(512)) - roundings(4) * abs(k - trials * p), 0.0)


@lru_cache(maxsize=256)
def quantile(exponent: float, side: int, trials: float, p: float, q: float) -> float:
    """A count beyond which (side -1: below, 1: above) Bin(trials, p) has mass <= exp(-exponent)."""
    outer = 0 if side < 0 else int(trials)

    def beyond(k: int) -> bool:
        return chernoff(float(k), trials, p, q) > exponent

    if not beyond(outer):
        return float(outer)
    return float(bisect_whole(beyond, outer, math.floor(trials * p)).good)


def first_groups(first: float, last: float, count: int) -> tuple[Array, Array]:
    """Cut first..last into at most ``count`` runs of nearly equal length: their starts and ends."""
    cuts = np.unique(np.floor(np.linspace(first, last + 1.0, count + 1)))
    return cuts[:-1], cuts[1:] - 1.0


def refine(
    starts: Array, ends: Array, least: Array, most: Array, width: float
) -> tuple[Array, Array]:
    """Split groups where least and most differ, with the fewest pieces for a relative ``width``.

    A piece of s counts keeps (s - 1) / (size - 1) of the spread of its group.
    """
    total = float(most.sum())
    if total <= 1e-280:
        return starts, ends
    spread = np.maximum(most - least, 1e-12 * total / len(most))
    size = ends - starts + 1.0
    steps = np.maximum(size - 1.0, 1.0)
    budget = width * total + float(np.sum(spread / steps))
    room = budget / float(np.sum(np.sqrt(spread * size / steps)))
    piece = np.maximum(np.floor(room * np.sqrt(size * steps / spread)), 1.0)
    pieces = np.ceil(size / piece)
    pieces = np.ceil(pieces * min(1.0, _PIECES / float(pieces.sum()))).astype(np.intp)
    piece_number = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    new_starts = np.repeat(starts, pieces) + np.floor(
        np.repeat(size, pieces) * piece_number / np.repeat(pieces, pieces)
    )
    return new_starts, np.append(new_starts[1:] - 1.0, ends[-1])


def group_masses(
    starts: Array, ends: Array, trials: float, p: float, q: float
) -> tuple[Array, Array]:
    """Lower and upper mass of Bin(trials, p) on adjoining groups starts..ends."""
    if ends[-1] - starts[0] < _SUMMED:
        counts = np.arange(starts[0], ends[-1] + 1.0)
        log_values, error = log_mass(counts, trials, p, q)
        values, error = np.exp(log_values), error + roundings(16)
        groups = (starts - starts[0]).astype(np.intp)
        return (
            np.add.reduceat(down(values, error), groups),
            np.add.reduceat(up(values, 2.0 * error), groups),
        )
    cuts = np.append(starts - 1.0, ends[-1])
    if p <= 0.5:
        return _masses_between(cuts, trials, p, q)
    least, most = _masses_between(trials - 1.0 - cuts[::-1], trials, q, p)
    return least[::-1], most[::-1]


def _masses_between(cuts: Array, trials: float, p: float, q: float) -> tuple[Array, Array]:
    """Lower and upper mass of Bin(trials, p) above each cut, up to the next (p <= 1/2,
    sd >= 150)."""
    mean = trials * p
    right = cuts >= mean
    tail = _smaller_tail(cuts, right, trials, p, q)
    tail_below, tail_above = tail[:-1], tail[1:]
    one_side = right[:-1] == right[1:]
    value = np.where(one_side, np.abs(tail_below - tail_above), 1.0 - tail_below - tail_above)
    relative = 4.0 * TAIL_ERROR + roundings(256) * math.sqrt(mean / q)
    slack = relative * (tail_below + tail_above) + np.where(one_side, 0.0, roundings(4))
    return np.maximum(value - slack, 0.0), value + slack


def _smaller_tail(k: Array, right: NDArray[np.bool_], trials: float, p: float, q: float) -> Array:
    """Pr[X > k] where ``right``, Pr[X <= k] elsewhere, for X ~ Bin(trials, p)."""
    result = np.zeros_like(k)
    if np.any(inside := right & (k < trials)):
        t = k[inside]
        mass = np.exp(log_mass(t, trials, p, q)[0])
        result[inside] = mass * tail_ratio(t, t - (trials - 1.0) * p, trials, p, q)
    if np.any(inside := ~right & (k >= 0.0)):
        # Pr[X <= k] is the upper tail of trials - X ~ Bin(trials, q) beyond trials - k - 1.
        t = k[inside]
        mass = np.exp(log_mass(t + 1.0, trials, p, q)[0])
        result[inside] = mass * tail_ratio(trials - t - 1.0, (trials - 1.0) * p - t, trials, q, p)
    return result
