"""Families of noise by one number: about the variance that all who add noise bring together.

What each of them adds can be drawn exactly by a device.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from shuffledp.accounting.randomizers.noise import (
    BinomialNoise,
    DiscreteGaussianNoise,
    NegativeBinomialNoise,
    Noise,
    PoissonNoise,
    SkellamNoise,
)
from shuffledp.errors import ParameterError
from shuffledp.numerics.search import bisect

_RATIO = 0.25
"""Of negative binomial noise: a larger one needs fewer dummies, and has a larger error."""
_COIN_BITS = 60
_LEAST_CHANCE = 1e-9
"""Coins that a device tosses exactly are multiples of 2^-60; rarer ones are hardly ever heads."""
_GAUSSIAN_BITS = 50.0
"""Of whole numbers that a device calculates with, to draw discrete Gaussian noise."""
_ROUND, _LEAST_SPREAD = 2.0, 0.01
"""From this variance on a discrete Gaussian number has the variance of a normal one."""

Family = Callable[[float, int], Noise]
"""Variance of all noise together, and how many add it: what each of them adds."""


def _binomial(variance: float, users: int) -> BinomialNoise:
    """As few coins as have that variance, of the rarer kind."""
    trials = max(math.ceil(4.0 * variance / users), 1)
    all_coins = float(users) * trials
    share = min(4.0 * variance / all_coins, 1.0)
    chance = 0.5 * share / (1.0 + math.sqrt(1.0 - share))
    if chance < _LEAST_CHANCE:
        raise ParameterError("n", "fewer users for binomial noise of each", users)
    return BinomialNoise(trials, math.ceil(math.ldexp(chance, _COIN_BITS)) / 2.0**_COIN_BITS)


def drawable_spread(spread: float) -> float:
    """A spread of discrete Gaussian noise at least this, of so few digits that a device draws it
    exactly."""
    room = _GAUSSIAN_BITS - math.log2(spread * (math.sqrt(spread) + 1.0) ** 2)
    bits = math.floor(0.5 * room)
    return math.ldexp(math.ceil(math.ldexp(spread, bits)), -bits)


def _discrete_gaussian(variance: float, users: int) -> DiscreteGaussianNoise:
    each = variance / users
    if each >= _ROUND:
        return DiscreteGaussianNoise(drawable_spread(each))
    enough = bisect(
        lambda spread: DiscreteGaussianNoise(spread).variance >= each,
        _ROUND,
        _LEAST_SPREAD,
        share=1e-6,
    )
    return DiscreteGaussianNoise(drawable_spread(enough.good))


FAMILIES: dict[str, Family] = {
    "poisson": lambda variance, users: PoissonNoise(variance / users),
    "binomial": _binomial,
    "negative-binomial": lambda variance, users: NegativeBinomialNoise(
        variance * (1.0 - _RATIO) ** 2 / (_RATIO * users), _RATIO
    ),
    "skellam": lambda variance, users: SkellamNoise(0.5 * variance / users),
    "discrete-gaussian": _discrete_gaussian,
}
"""By the names of the laws."""
DUMMIES = ("poisson", "binomial", "negative-binomial")
"""Those that are never negative."""
