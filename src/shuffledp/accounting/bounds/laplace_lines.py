"""Lines of triples (victim's two values, another user's) under Laplace noise: which to compute.

Between two computed triples more is charged the farther they are apart (docs/proofs/swap.md,
section 6). So they lie close together where E (a - b)^2 / r^2, which the bound grows with, is
largest, and farther apart where it is smaller. Any choice is valid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from shuffledp.numerics.rounding import Array, up

_SUMMED = 1e-9
_CHARGES = 3.0, 4.0
"""What a step is taken to cost, in squares times eps0: of another user's value, of the victim's."""
_WIDEST, _FEW, _MORE = 0.06, 110, 250
"""Of the steps, over eps0; how many of them on a line, and more of its length."""
_SPARE = tuple(2e-4 * 2.0**k for k in range(9))
"""By such a share what is charged may exceed the largest square: the first of few enough steps."""


@lru_cache(maxsize=8)
def lines(rate: float, near: float, far: float) -> tuple[Array, Array]:
    """Others' values for a pair at 0 and ``far``; distances of pairs, from there to ``near``, with
    the other user's value a whole interval from one of them."""
    length, whole = 2.0 - far, moment(rate, 2)

    def aside(square: float, spare: float) -> float:
        return spare / (_CHARGES[0] * square)

    def shorter(square: float, spare: float) -> float:
        steps = spare / math.sqrt(whole * square), math.sqrt(_CHARGES[1] * spare / whole)
        return min(steps) / _CHARGES[1]

    half = _places(rate, lambda x: square_of_ratio(rate, far, x - (1.0 - far)), 0.5 * length, aside)
    pairs = _places(rate, lambda x: square_of_ratio(rate, far - x, 1.0), far - near, shorter)
    return np.unique(np.concatenate([half, length - half])) - (1.0 - far), far - pairs


def _places(
    rate: float,
    square: Callable[[float], float],
    length: float,
    step: Callable[[float, float], float],
) -> Array:
    """From 0, where the square is largest, to ``length``."""
    square, most = lru_cache(maxsize=None)(square), _FEW + math.ceil(_MORE * length)
    for share in _SPARE:
        allowed, places = (1.0 + share) * square(0.0), [0.0]
        while places[-1] < length and len(places) <= most:
            here = square(places[-1])
            further = min(step(here, max(allowed - here, share * allowed)), _WIDEST)
            places.append(min(places[-1] + further / rate, length))
        if places[-1] == length:
            break
    else:
        return np.linspace(0.0, length, most)
    return np.array(places)


def square_of_ratio(rate: float, second: float, third: float) -> float:
    """About E_r (a - b)^2 / r^2: the victim's values 0 and ``second``, another user's ``third``."""
    kinks = sorted((0.0, second, third))

    def mean(p: float, q: float) -> float:
        """E_r of the product of two ratios, exponential between kinks, of odd exponents."""
        logs = [-abs(y - p) - abs(y - q) + abs(y - third) for y in kinks]
        ends = [math.exp(rate * x) for x in logs]
        total = ends[0] + ends[-1]
        for i, (low, high) in enumerate(itertools.pairwise(kinks)):
            if high > low:
                total += (ends[i + 1] - ends[i]) / round((logs[i + 1] - logs[i]) / (high - low))
        return 0.5 * total

    apart = mean(0.0, 0.0) - 2.0 * mean(0.0, second) + mean(second, second)
    return max(apart, 1e-12 * moment(rate, 2))


@lru_cache(maxsize=32)
def moment(rate: float, k: int) -> float:
    """E (a / r)^k for values a whole interval apart."""
    value = k * math.exp((k - 1.0) * rate) + (k - 1.0) * math.exp(-k * rate)
    return up(value / (2.0 * k - 1.0), _SUMMED)
