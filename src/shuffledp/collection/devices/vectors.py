"""Devices of users who hold a vector of numbers, each given as a share of its declared range."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.randomizers import Gaussian, GaussianVector, OneCoordinate
from shuffledp.collection.devices.device import Device, Reports, device, runs, shares
from shuffledp.collection.devices.fine import FINE, FINE_NOISE
from shuffledp.collection.devices.integers import uniform
from shuffledp.collection.devices.stream import Stream
from shuffledp.errors import ParameterError
from shuffledp.numerics.rounding import SUMS, down

_MARGIN = 2.0**-20
"""Relative growth of the noise: covers floating point and what a grid lacks of a continuous law."""
DROPPED = 24
"""Lowest bits of a report that are not sent."""


class Vector(Device):
    """Several numbers of [0, 1] per user."""

    dimensions: int

    def _inputs(self, values: ArrayLike) -> NDArray[Any]:
        table = np.asarray(values)
        if table.ndim != 2 or table.shape[1] != self.dimensions:
            raise ParameterError(
                "values", f"rows of {self.dimensions} numbers", f"shape {table.shape}"
            )
        return shares(table.ravel()).reshape(table.shape)


@runs(OneCoordinate)
class CoordinateDevice(Vector):
    """The number of a coordinate, then that coordinate's report."""

    columns = 2

    def __init__(self, asked: OneCoordinate) -> None:
        self.inner = device(asked.randomizer)
        self.dimensions = asked.dimensions
        self.randomizer = replace(asked, randomizer=self.inner.randomizer)
        self.dtype = np.promote_types(np.min_scalar_type(self.dimensions - 1), self.inner.dtype)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        drawn = uniform(stream, self.dimensions, len(inputs))
        report = self.inner._encode(inputs[np.arange(len(inputs)), drawn], stream)
        return np.stack([drawn.astype(self.dtype), report.ravel().astype(self.dtype)], axis=1)


@runs(GaussianVector)
class GaussianVectorDevice(Vector):
    """All coordinates, clipped to a ball around the middle, each with normal noise on a fine grid.

    The noise is a little larger than asked for, so that the report is post-processing of the
    continuous one that is accounted for (docs/proofs/devices.md).
    """

    dtype = np.dtype(np.int32)

    def __init__(self, asked: GaussianVector) -> None:
        self.randomizer = Gaussian(asked.sigma, asked.sensitivity, ball=True)
        self.dimensions = self.columns = asked.dimensions
        self.width = 4 * asked.dimensions
        self.radius = 0.5 * asked.sensitivity
        # rounding moves two values at most one step apart per coordinate
        spread = math.sqrt(self.dimensions) * asked.sigma / asked.sensitivity / 2.0**FINE
        if not asked.sigma >= asked.sensitivity / 2.0**10 or spread > _MARGIN:
            raise ParameterError("sigma", "0.001 to 1000 sensitivities to be run", asked.sigma)
        self.deviation = asked.sigma * (1.0 + _MARGIN + 2.0 * spread)
        self.step = self.deviation / 2.0**FINE

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        offset = inputs - 0.5
        norm = np.sqrt((offset**2).sum(axis=1, keepdims=True))
        offset *= np.minimum(1.0, down(self.radius, SUMS) / np.maximum(norm, 1e-300))
        noise = FINE_NOISE.gaussian(offset.size, stream).reshape(offset.shape)
        return (np.rint(offset / self.step).astype(np.int64) + noise) >> DROPPED
