"""Means of numbers and of vectors, as shares of the declared range.

Every numeric report is decoded to a number whose expectation is the user's value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from shuffledp.analysis.estimate import Array, Estimate
from shuffledp.errors import ParameterError
from shuffledp.sampling import Device
from shuffledp.sampling.checkin import CheckInDevice
from shuffledp.sampling.device import Reports
from shuffledp.sampling.dyadic import ONE
from shuffledp.sampling.numeric import (
    CoordinateDevice,
    GaussianDevice,
    LaplaceDevice,
    OneBitDevice,
    PiecewiseDevice,
)


class Decoder:
    """Unbiased numbers from reports, and the variance they have."""

    def __init__(self, device: Device) -> None:
        self.device = device
        if isinstance(device, OneBitDevice):
            self._share = device._response.beta / ONE
        elif isinstance(device, PiecewiseDevice):
            self._piecewise(device)
        elif isinstance(device, LaplaceDevice):
            self._ratio = math.exp(-float(device.rate))
        elif not isinstance(device, GaussianDevice):
            raise ParameterError("device", "one for users who hold a number", device.randomizer)

    def _piecewise(self, device: PiecewiseDevice) -> None:
        # expectation of the report: offset + slope * value
        outside, window, levels = device.outside / ONE, device.window, device.levels
        cells = levels + window
        self._slope = (1.0 - outside) - outside * window / levels
        middle = 0.5 * (window - 1)
        self._offset = self._slope * middle + outside * 0.5 * cells * (cells - 1) / levels

    def decode(self, reports: Array) -> Array:
        """Numbers whose expectation is the share."""
        device = self.device
        values = reports.astype(np.float64)
        if isinstance(device, OneBitDevice):
            return (values - 0.5 * self._share) / (1.0 - self._share)
        if isinstance(device, PiecewiseDevice):
            return (values - self._offset) / (self._slope * device.levels)
        if isinstance(device, GaussianDevice):
            return (values - device.reach) / device.levels
        assert isinstance(device, LaplaceDevice)
        if device.clamped:
            # what lies beyond an end is geometric, whatever the value: its mean stands in
            beyond = self._ratio / (1.0 - self._ratio)
            values[reports == 0] = -beyond
            values[reports == device.levels] = device.levels + beyond
        return values / device.levels

    def variance(self, value: float) -> float:
        """Variance of the decoded report of a user with this value (of the grid)."""
        device = self.device
        if isinstance(device, OneBitDevice):
            one = (1.0 - self._share) * value + 0.5 * self._share
            return one * (1.0 - one) / (1.0 - self._share) ** 2
        if isinstance(device, PiecewiseDevice):
            start, window, levels = value * device.levels, device.window, device.levels
            outside = device.outside / ONE
            cells = levels + window
            inner = _squares(start + window) - _squares(start)
            second = (1.0 - outside) * inner / window + outside * (_squares(cells) - inner) / levels
            mean = self._offset + self._slope * start
            return (second - mean**2) / (self._slope * levels) ** 2
        if isinstance(device, GaussianDevice):
            row = device.randomizer.matrix[round(value * device.levels)]
            places = np.arange(row.size)
            return float(row @ places**2 - (row @ places) ** 2) / device.levels**2
        assert isinstance(device, LaplaceDevice)
        ratio = self._ratio
        free = 2.0 * ratio / (1.0 - ratio) ** 2
        if device.clamped:
            # the variance of the geometric rest beyond an end is gone where it happens
            start = value * device.levels
            low, high = ratio**start, ratio ** (device.levels - start)
            free -= (low + high) / (1.0 + ratio) * ratio / (1.0 - ratio) ** 2
        return free / device.levels**2

    def worst_variance(self) -> float:
        """Largest variance over all values."""
        return max(self.variance(i / 4.0) for i in range(5))


def _squares(count: float) -> float:
    """0^2 + 1^2 + ... + (count - 1)^2."""
    return (count - 1.0) * count * (2.0 * count - 1.0) / 6.0


class Means:
    """Mean of a number, or of each coordinate of a vector; parts are added."""

    def __init__(self, device: Device) -> None:
        self._everyone = not isinstance(device, CheckInDevice)
        inner = device.inner if isinstance(device, CheckInDevice) else device
        self.dimensions = inner.dimensions if isinstance(inner, CoordinateDevice) else 1
        self._vector = isinstance(inner, CoordinateDevice)
        self.decoder = Decoder(inner.inner if isinstance(inner, CoordinateDevice) else inner)
        self.sums = np.zeros((3, self.dimensions))
        """Number, sum and sum of squares of the decoded reports."""

    @property
    def reports(self) -> int:
        """How many were counted."""
        return int(self.sums[0].sum())

    def add(self, reports: Reports) -> None:
        """Count a block of reports."""
        decoded = self.decoder.decode(reports[:, -1])
        place = reports[:, 0].astype(np.int64) if self._vector else np.zeros(len(decoded), np.int64)
        for row, weights in enumerate((None, decoded, decoded**2)):
            self.sums[row] += np.bincount(place, weights, minlength=self.dimensions)

    def merge(self, other: Means) -> None:
        """Add what another counted."""
        self.sums += other.sums

    def estimate(self, names: Sequence[Any] | None = None) -> Estimate:
        """Mean share of the range, and its variance.

        The variance is that of the noise where it does not depend on the values; otherwise the
        sample's, which also holds the spread of the values: an upper bound for the users at hand.
        """
        number, total, squares = self.sums
        if np.any(number < 2):
            raise ParameterError("reports", "at least two of each coordinate", int(number.min()))
        values = total / number
        spread = np.maximum(squares / number - values**2, 0.0) * number / (number - 1.0)
        device = self.decoder.device
        free = isinstance(device, LaplaceDevice) and not device.clamped
        if self._everyone and not self._vector and (free or isinstance(device, GaussianDevice)):
            spread = np.minimum(spread, self.decoder.worst_variance() + _grid(device))
        if names is None:
            names = range(self.dimensions) if self._vector else ("mean",)
        return Estimate("mean", tuple(names), values, spread / number, self.reports)


def _grid(device: Device) -> float:
    """Variance that putting a value on the grid adds, at most."""
    assert isinstance(device, LaplaceDevice | GaussianDevice)
    return 0.25 / device.levels**2
