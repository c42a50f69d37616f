"""Whole noise, exactly: numbers of dummies, and shares of noise that add up.

A Poisson number below 1/2 on average is a run of coins of which one in n! is kept; larger means are
sums of such. Negative binomial numbers of any shape are sums of Poisson many logarithmic ones.
Means and shapes are exact, or a little larger: more noise never tells more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import singledispatch

import numpy as np

from shuffledp.accounting.randomizers.noise import (
    BinomialNoise,
    DiscreteGaussianNoise,
    NegativeBinomialNoise,
    Noise,
    PoissonNoise,
    PolyaNoise,
    SkellamNoise,
    TruncatedLaplaceNoise,
)
from shuffledp.collection.devices.fine import Chance
from shuffledp.collection.devices.integers import (
    Bools,
    Ints,
    bernoulli,
    discrete_gaussian,
    discrete_laplace,
    geometric,
    uniform,
)
from shuffledp.collection.devices.stream import Stream
from shuffledp.errors import ParameterError

_BITS = 72
"""Of a coin: doubles from 2^-19 on are exact."""
_SCALE_BITS = 20
_DIGITS = 60
"""More than a formula is asked for: what cancels in it."""
_BLOCK = 1 << 20
_MOST = 10**10
"""Coins for one call."""

Coins = Callable[[int], Bools]


@singledispatch
def draw(noise: Noise, size: int, stream: Stream) -> Ints:
    """Independent numbers of this law.

    Parameters
    ----------
    noise
        The law.
    size
        How many.
    stream
        Where randomness comes from.

    Examples
    --------
    >>> from shuffledp import PoissonNoise
    >>> from shuffledp.collection.devices import simulation
    >>> draw(PoissonNoise(3.0), 5, simulation(1)).shape
    (5,)
    """
    raise ParameterError("noise", "one that a device can draw", noise)


@draw.register
def _(noise: PoissonNoise, size: int, stream: Stream) -> Ints:
    return poisson(Fraction(noise.rate), size, stream)


@draw.register
def _(noise: SkellamNoise, size: int, stream: Stream) -> Ints:
    rate = Fraction(noise.rate)
    return poisson(rate, size, stream) - poisson(rate, size, stream)


@draw.register
def _(noise: BinomialNoise, size: int, stream: Stream) -> Ints:
    chance = Fraction(noise.chance)
    if (chance * (1 << _BITS)).denominator > 1:
        raise ParameterError("chance", f"a multiple of 2^-{_BITS} to be run", noise.chance)
    numerator = int(chance * (1 << _BITS))
    return _summed(
        lambda number: bernoulli(stream, numerator, _BITS, number).astype(np.int64),
        size,
        noise.trials,
    )


@draw.register
def _(noise: DiscreteGaussianNoise, size: int, stream: Stream) -> Ints:
    spread = Fraction(noise.spread)
    return _summed(lambda number: discrete_gaussian(stream, spread, number), size, noise.copies)


@draw.register
def _(noise: TruncatedLaplaceNoise, size: int, stream: Stream) -> Ints:
    rate = Fraction(round((1 << _SCALE_BITS) / noise.scale), 1 << _SCALE_BITS)
    if rate <= 0 or float(1 / rate) != noise.scale:  # neither more nor less noise is safer
        raise ParameterError(
            "scale", f"the inverse of a multiple of 2^-{_SCALE_BITS} to be run", noise.scale
        )

    def inside(number: int) -> Ints:
        kept: list[Ints] = []
        missing = number
        while missing > 0:
            proposed = discrete_laplace(stream, rate, missing + 16)
            kept.append(proposed[np.abs(proposed) <= noise.centre][:missing])
            missing -= kept[-1].size
        return np.concatenate(kept) + noise.centre if kept else np.zeros(0, np.int64)

    return _summed(inside, size, noise.copies)


@draw.register
def _(noise: PolyaNoise, size: int, stream: Stream) -> Ints:
    rate = _rate_below(1 / Fraction(noise.scale))
    if noise.shape == 1.0:
        return discrete_laplace(stream, rate, size)

    def jumps(number: int) -> Ints:
        return geometric(stream, rate, number)

    def odds() -> Decimal:  # -ln(1 - ratio)
        exponent = -Decimal(rate.numerator) / Decimal(rate.denominator)
        return -(1 - exponent.exp()).ln()

    ways = (_negative_binomial(Fraction(noise.shape), odds, jumps, size, stream) for _ in range(2))
    return next(ways) - next(ways)


@draw.register
def _(noise: NegativeBinomialNoise, size: int, stream: Stream) -> Ints:
    numerator = math.ceil(Fraction(noise.ratio) * (1 << _BITS))
    if numerator >= 1 << _BITS:
        raise ParameterError("ratio", "further below 1 to be run", noise.ratio)

    def jumps(number: int) -> Ints:
        return _runs(lambda more: bernoulli(stream, numerator, _BITS, more), number)

    def odds() -> Decimal:
        return -(1 - Decimal(numerator) / Decimal(1 << _BITS)).ln()

    return _negative_binomial(Fraction(noise.shape), odds, jumps, size, stream)


def _rate_below(rate: Fraction) -> Fraction:
    """A dyadic number at most this, close to it, that a geometric law can be drawn with."""
    bits = _SCALE_BITS + max(0, math.ceil(-math.log2(rate)))
    if not (bits <= 51 and rate < 1 << 20):
        raise ParameterError("scale", "from 2^-20 to 2^31 to be run", float(1 / rate))
    return Fraction(math.floor(rate * (1 << bits)), 1 << bits)


def _summed(one: Callable[[int], Ints], size: int, copies: int) -> Ints:
    """Sums of so many numbers each, a block at a time."""
    if size * copies > _MOST:
        raise ParameterError("noise", f"made of at most {_MOST:g} draws", f"{size * copies:g}")
    out = np.zeros(size, np.int64)
    if copies > _BLOCK:
        for place in range(size):
            whole, rest = divmod(copies, _BLOCK)
            out[place] = sum(int(one(part).sum()) for part in [_BLOCK] * whole + [rest])
        return out
    step = max(_BLOCK // copies, 1)
    for start in range(0, size, step):
        part = min(step, size - start)
        out[start : start + part] = one(part * copies).reshape(part, copies).sum(axis=1)
    return out


def _runs(coins: Coins, size: int) -> Ints:
    """How often a coin succeeds before it fails."""
    out = np.zeros(size, np.int64)
    active = np.arange(size)
    while active.size:
        active = active[coins(active.size)]
        out[active] += 1
    return out


def poisson(mean: Fraction, size: int, stream: Stream) -> Ints:
    """Poisson numbers of this mean, or a little more where it has more than 72 bits."""
    pieces = 1 << max(0, math.ceil(2 * mean) - 1).bit_length()
    numerator = math.ceil(mean / pieces * (1 << _BITS))
    return _summed(
        lambda number: _small_poisson(
            lambda more: bernoulli(stream, numerator, _BITS, more), number, stream
        ),
        size,
        pieces,
    )


def _small_poisson(coins: Coins, size: int, stream: Stream) -> Ints:
    """Poisson numbers whose mean is the coin's chance: runs of i successes, one in i! kept."""
    out = np.zeros(size, np.int64)
    missing = np.arange(size)
    while missing.size:
        count, kept = np.zeros(missing.size, np.int64), np.ones(missing.size, np.bool_)
        active, run = np.arange(missing.size), 0
        while active.size:
            active, run = active[coins(active.size)], run + 1
            if run > 1:
                goes_on = uniform(stream, run, active.size) == 0
                kept[active[~goes_on]] = False
                active = active[goes_on]
            count[active] = run
        out[missing[kept]] = count[kept]
        missing = missing[~kept]
    return out


def _negative_binomial(
    shape: Fraction,
    odds: Callable[[], Decimal],
    jumps: Callable[[int], Ints],
    size: int,
    stream: Stream,
) -> Ints:
    """Poisson many logarithmic numbers; the mean is shape times ``odds``, -ln(1 - ratio)."""

    def exact() -> Decimal:
        with localcontext() as context:
            context.prec += _DIGITS
            return odds() * Decimal(shape.numerator) / Decimal(shape.denominator)

    pieces = 1 << max(0, math.ceil(2 * exact()) - 1).bit_length()
    chance = Chance(lambda: exact() / pieces)
    numbers = _summed(
        lambda number: _small_poisson(lambda more: chance.draw(more, stream), number, stream),
        size,
        pieces,
    )
    out = np.zeros(size, np.int64)
    np.add.at(out, np.repeat(np.arange(size), numbers), _logarithmic(jumps, numbers.sum(), stream))
    return out


def _logarithmic(jumps: Callable[[int], Ints], size: int, stream: Stream) -> Ints:
    """Mass proportional to ratio^k / k from 1 on: geometric numbers, one in k kept."""
    kept: list[Ints] = [np.zeros(0, np.int64)]
    missing = int(size)
    while missing > 0:
        proposed = jumps(min(64 * missing + 64, _BLOCK)) + 1
        kept.append(proposed[_one_in(proposed, stream)][:missing])
        missing -= kept[-1].size
    return np.concatenate(kept)


def _one_in(numbers: Ints, stream: Stream) -> Bools:
    """True with probability 1 / numbers[i]."""
    wide = numbers.astype(np.uint64)
    limit = np.uint64(2**64 - 1) // wide * wide
    words = stream.words(numbers.size)
    while (late := np.flatnonzero(words >= limit)).size:
        words[late] = stream.words(late.size)
    return np.asarray(words % wide == 0)
