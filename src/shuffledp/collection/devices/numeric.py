"""Devices of users who hold a number, given as a share of its declared range.

The share is clamped to [0, 1] and put on a grid, up or down at random so that its mean is kept
(what happens before the randomizer costs no privacy); then only integers follow.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.randomizers import (
    DiscreteGaussian,
    DiscreteLaplace,
    DiscretePiecewise,
    Gaussian,
    Laplace,
    OneBitMean,
    Piecewise,
    Plateau,
    RoundedResponse,
    TruncatedLaplace,
)
from shuffledp.collection.devices.categorical import Response
from shuffledp.collection.devices.device import Device, Reports, runs, shares
from shuffledp.collection.devices.dyadic import BITS, ONE, budget, exp_below, numerator_up
from shuffledp.collection.devices.integers import (
    bernoulli,
    bernoulli_each,
    discrete_gaussian,
    discrete_laplace,
    uniform,
)
from shuffledp.collection.devices.stream import Stream
from shuffledp.errors import ParameterError

LAPLACE_LEVELS = 1024
PIECEWISE_LEVELS = 1 << 16
GAUSSIAN_STEPS = 16
"""Steps of the grid per deviation: rounding adds less than a thousandth to the variance."""


def on_grid(inputs: NDArray[Any], levels: int, stream: Stream) -> NDArray[np.int64]:
    """One of the two nearest of 0 .. levels, the mean kept."""
    exact = inputs * levels
    below = np.floor(exact)
    share = ((exact - below) * (1 << 32)).astype(np.uint64)
    return np.asarray(below.astype(np.int64) + bernoulli_each(stream, share, 32))


class Numeric(Device):
    """One number of [0, 1] per user."""

    columns = 1

    def _inputs(self, values: ArrayLike) -> NDArray[Any]:
        return shares(values)


@runs(OneBitMean)
class OneBitDevice(Numeric):
    """0 or 1: a coin of the value's share, then binary randomized response."""

    dtype = np.dtype(np.uint8)

    def __init__(self, asked: OneBitMean) -> None:
        self.response = Response(2, asked.eps0)
        self.randomizer = replace(asked, eps0=self.response.eps0)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        coin = bernoulli_each(stream, np.rint(inputs * ONE).astype(np.uint64), BITS)
        return self.response.answer(coin, stream)


@runs(RoundedResponse)
class RoundingDevice(Numeric):
    """The number of a level, one of the two nearest, then k-ary randomized response."""

    def __init__(self, asked: RoundedResponse) -> None:
        self.response = Response(asked.k, asked.eps0)
        self.randomizer: RoundedResponse = replace(asked, eps0=self.response.eps0)
        self.dtype = np.min_scalar_type(asked.k - 1)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        return self.response.answer(on_grid(inputs, self.response.k - 1, stream), stream)


@runs(DiscretePiecewise)
class PiecewiseDevice(Numeric):
    """A cell of the likely window, or of the rest."""

    def __init__(self, asked: DiscretePiecewise) -> None:
        self.levels, self.window = asked.levels, asked.window
        share = Fraction(self.window, self.levels)
        self.outside = numerator_up(1 / (1 + share * exp_below(asked.eps0)))
        ratio = (Fraction(ONE, self.outside) - 1) / share
        self.randomizer: DiscretePiecewise = replace(asked, eps0=budget(asked.eps0, ratio))
        self.dtype = np.min_scalar_type(self.levels + self.window - 1)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        start = on_grid(inputs, self.levels, stream)
        out = start + uniform(stream, self.window, start.size)
        away = np.flatnonzero(bernoulli(stream, self.outside, BITS, start.size))
        cell = uniform(stream, self.levels, away.size).astype(np.int64)
        out[away] = np.where(cell >= start[away], cell + self.window, cell)
        return np.asarray(out)


def _sliding(width: float, eps0: float) -> PiecewiseDevice:
    """A window of this share of the range."""
    window = max(1, round(PIECEWISE_LEVELS * min(width, 1.0)))
    return PiecewiseDevice(DiscretePiecewise(PIECEWISE_LEVELS, window, eps0=eps0))


@runs(Piecewise)
def _piecewise(asked: Piecewise) -> PiecewiseDevice:
    return _sliding(math.exp(-0.5 * asked.eps0), asked.eps0)


@runs(Plateau)
def _plateau(asked: Plateau) -> PiecewiseDevice:
    assert asked.width is not None
    return _sliding(asked.width, asked.eps0)


@runs(DiscreteLaplace)
class LaplaceDevice(Numeric):
    """The value plus two-sided geometric noise; clamped to its range if asked."""

    def __init__(self, asked: DiscreteLaplace, clamped: bool = False) -> None:
        self.levels, self.clamped = asked.levels, clamped
        exact = Fraction(asked.eps0) / self.levels
        bits = 20 + max(0, math.ceil(-math.log2(exact)))
        if bits > 51:
            raise ParameterError("eps0", f"at least {self.levels} / 2^31", asked.eps0)
        self.rate = Fraction(math.floor(exact * (1 << bits)), 1 << bits)
        whole = self.rate * self.levels
        eps0 = float(whole) if Fraction(float(whole)) >= whole else math.nextafter(whole, math.inf)
        self.randomizer: DiscreteLaplace = replace(asked, eps0=min(eps0, asked.eps0))
        self.dtype = np.min_scalar_type(self.levels) if clamped else np.dtype(np.int64)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        start = on_grid(inputs, self.levels, stream)
        out = start + discrete_laplace(stream, self.rate, start.size)
        return np.clip(out, 0, self.levels) if self.clamped else out


@runs(Laplace, TruncatedLaplace)
def _laplace(asked: Laplace) -> LaplaceDevice:
    grid = DiscreteLaplace(LAPLACE_LEVELS, eps0=asked.eps0)
    return LaplaceDevice(grid, clamped=isinstance(asked, TruncatedLaplace))


@runs(DiscreteGaussian)
class GaussianDevice(Numeric):
    """The value plus discrete normal noise."""

    dtype = np.dtype(np.int64)

    def __init__(self, asked: DiscreteGaussian) -> None:
        self.randomizer: DiscreteGaussian = asked
        self.levels, self.variance = asked.levels, Fraction(asked.variance)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        start = on_grid(inputs, self.levels, stream)
        return np.asarray(start + discrete_gaussian(stream, self.variance, start.size))


@runs(Gaussian)
def _gaussian(asked: Gaussian) -> GaussianDevice:
    """On a grid of a sixteenth of the noise; its variance rounded up."""
    if not asked.scalar:
        raise ParameterError("randomizer", "on a line (scalar) or a GaussianVector", str(asked))
    scale = asked.sigma / asked.sensitivity
    if not 0.05 <= scale <= 1000.0:
        raise ParameterError("sigma", "0.05 to 1000 sensitivities to be run", asked.sigma)
    levels = math.ceil(GAUSSIAN_STEPS / scale)
    variance = (Fraction(asked.sigma) / Fraction(asked.sensitivity) * levels) ** 2
    return GaussianDevice(DiscreteGaussian(levels, math.ceil(16 * variance) / 16.0))
