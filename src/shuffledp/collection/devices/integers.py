"""Exact random integers, many at a time: no floating point takes part.

Discrete Laplace and Gaussian noise follow Canonne, Kamath, Steinke, "The discrete Gaussian for
differential privacy" (2020), Algorithms 1 to 3: a proposal for every sample still missing, the
accepted ones kept. Acceptance does not depend on the place, so the kept ones are independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.devices.stream import Stream
from shuffledp.errors import ParameterError

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_BLOCK = 1 << 16
"""Samples at a time: everything stays in the cache."""


def uniform(stream: Stream, bound: int, size: int) -> NDArray[Any]:
    """Uniform on 0 .. bound - 1, in the smallest unsigned type."""
    count = (bound - 1).bit_length()
    if bound == 1 << count:
        return stream.bits(size, count) if count else np.zeros(size, np.uint8)
    if bound >= 1 << 32:
        share = bound / (1 << count)
        return _accepted(size, share, lambda more: _below(stream.bits(more, count), bound))
    # Lemire: the product's upper half is the result, unless its lower half is in the odd remainder
    width = next(width for width in (8, 16, 32) if bound < 1 << (width - 4) or width == 32)
    narrow, wide = np.dtype(f"u{width // 8}"), np.dtype(f"u{width // 4}")
    out = np.empty(size, np.min_scalar_type(bound - 1))
    missing: Any = slice(None)
    left = size
    while left:
        product = stream.words(left, narrow).astype(wide)
        product *= wide.type(bound)
        out[missing] = product >> wide.type(width)
        low = product.astype(narrow)
        bad = np.flatnonzero(low < narrow.type((1 << width) % bound))
        missing = bad if isinstance(missing, slice) else missing[bad]
        left = bad.size
    return out


def _below(values: NDArray[Any], bound: int) -> NDArray[Any]:
    return np.asarray(values[values < values.dtype.type(bound)])


def _accepted(size: int, share: float, propose: Callable[[int], NDArray[Any]]) -> NDArray[Any]:
    """The first ``size`` accepted proposals, if about this share of them is accepted."""
    kept: list[NDArray[Any]] = []
    have = 0
    while not kept or have < size:
        kept.append(propose(int(1.01 * (size - have) / share) + 16))
        have += kept[-1].size
    return (kept[0] if len(kept) == 1 else np.concatenate(kept))[:size]


def bernoulli(stream: Stream, numerator: int, bits: int, size: int) -> Bools:
    """True with probability numerator / 2^bits. One byte each; ties ask for the other bits."""
    if numerator in (0, 1 << bits):
        return np.full(size, numerator > 0)
    rest = bits - 8
    if rest <= 0:
        return np.asarray(stream.bits(size, bits) < numerator)
    first = stream.words(size, np.uint8)
    top, low = numerator >> rest, numerator & ((1 << rest) - 1)
    out = first < top
    ties = np.flatnonzero(first == top)
    tail = stream.bits(ties.size, rest)
    out[ties] = tail < tail.dtype.type(low)
    return out


def bernoulli_each(stream: Stream, numerators: NDArray[np.uint64], bits: int) -> Bools:
    """True with probability numerators[i] / 2^bits, each its own; bits < 64."""
    return np.asarray(stream.bits(numerators.size, bits) < numerators)


def _bernoulli_exp(stream: Stream, numerators: NDArray[Any], denominator: int) -> Bools:
    """True with probability exp(-numerators[i] / denominator), ratios in [0, 1] (Algorithm 1)."""
    out = np.ones(numerators.size, np.bool_)
    active, trial = np.arange(numerators.size), 1
    while active.size:
        goes_on = np.asarray(uniform(stream, denominator, active.size) < numerators)
        if trial > 1:
            goes_on &= uniform(stream, trial, active.size) == 0
        active, numerators = active[goes_on], numerators[goes_on]
        trial += 1
        out[active] = trial % 2 == 1  # true if the first failure comes at an odd trial
    return out


def _units(stream: Stream, size: int) -> Ints:
    """How often a coin of probability 1/e succeeds before it fails."""
    out = np.zeros(size, np.int64)
    active = np.arange(size)
    while active.size:
        active = active[_bernoulli_exp(stream, np.ones(active.size, np.uint8), 1)]
        out[active] += 1
    return out


def geometric(stream: Stream, rate: Fraction, size: int) -> Ints:
    """Pr[y] proportional to exp(-y rate) on y >= 0."""
    if not (0 < rate.numerator < 1 << 52 and rate.denominator < 1 << 52):
        raise ParameterError("rate", "a positive fraction of integers below 2^52", rate)

    def propose(more: int) -> Ints:
        part = uniform(stream, rate.denominator, more)
        part = part[_bernoulli_exp(stream, part, rate.denominator)]
        whole = _units(stream, part.size) * rate.denominator + part.astype(np.int64)
        return np.asarray(whole // rate.numerator)

    return _in_blocks(size, 0.63, propose)  # 1 - 1/e


def discrete_laplace(stream: Stream, rate: Fraction, size: int) -> Ints:
    """Pr[y] proportional to exp(-|y| rate) (Algorithm 2)."""

    def propose(more: int) -> Ints:
        distance = geometric(stream, rate, more)
        negative = stream.bits(more, 1).astype(np.bool_)
        once = (distance > 0) | ~negative  # zero has one sign only
        return np.asarray(np.where(negative, -distance, distance)[once])

    return _in_blocks(size, 1.0 + 0.5 * math.expm1(-min(float(rate), 1.0)), propose)


def discrete_gaussian(stream: Stream, variance: Fraction, size: int) -> Ints:
    """Pr[y] proportional to exp(-y^2 / (2 variance)) (Algorithm 3)."""
    top, bottom = variance.numerator, variance.denominator
    scale = math.isqrt(max(top, 0) // bottom) + 1
    denominator = 2 * top * bottom * scale * scale
    if not 0 < denominator < 1 << 52:
        raise ParameterError("variance", "positive, with fewer digits (or below 2^25)", variance)

    def propose(more: int) -> Ints:
        y = discrete_laplace(stream, Fraction(1, scale), more)
        far = int(np.abs(y).max(initial=0)) * scale * bottom >= 1 << 31
        exponent = (np.abs(y).astype(object if far else np.int64) * (scale * bottom) - top) ** 2
        whole, part = exponent // denominator, exponent % denominator
        keep = np.asarray(_units(stream, y.size) >= whole, np.bool_)
        keep[keep] = _bernoulli_exp(stream, part[keep].astype(np.uint64), denominator)
        return np.asarray(y[keep])

    return _in_blocks(size, 0.7, propose)


def _in_blocks(size: int, share: float, propose: Callable[[int], Ints]) -> Ints:
    """Accepted proposals, drawn a block at a time."""
    out = np.empty(size, np.int64)
    for start in range(0, size, _BLOCK):
        part = out[start : start + _BLOCK]
        part[...] = _accepted(part.size, share, propose)
    return out
