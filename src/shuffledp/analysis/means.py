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
    GaussianDevice,
    LaplaceDevice,
    OneBitDevice,
    PiecewiseDevice,
)
from shuffledp.sampling.vectors import DROPPED, CoordinateDevice, GaussianVectorDevice


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
        elif not isinstance(device, GaussianDevice | GaussianVectorDevice):
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
            return values / device.levels
        if isinstance(device, GaussianVectorDevice):
            return 0.5 + (values + 0.5) * 2.0**DROPPED * device.step
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
            return float(device.variance) / device.levels**2
        if isinstance(device, GaussianVectorDevice):
            return device.deviation**2
        assert isinstance(device, LaplaceDevice)
        ratio = self._ratio
        free = 2.0 * ratio / (1.0 - ratio) ** 2
        if device.clamped:
            # the variance of the geometric rest beyond an end is gone where it happens
            start = value * device.levels
            low, high = ratio**start, ratio ** (device.levels - start)
            free -= (low + high) / (1.0 + ratio) * ratio / (1.0 - ratio) ** 2
        return free / device.levels**2

    @property
    def noise(self) -> float | None:
        """Variance of what device and grid add at most, if it does not depend on the value."""
        device = self.device
        if isinstance(device, GaussianVectorDevice):
            return self.variance(0.0)
        if isinstance(device, GaussianDevice) or (
            isinstance(device, LaplaceDevice) and not device.clamped
        ):
            return self.variance(0.0) + 0.25 / device.levels**2
        return None

    def worst_variance(self) -> float:
        """Largest variance over all values."""
        return max(self.variance(i / 4.0) for i in range(5))


def _squares(count: float) -> float:
    """0^2 + 1^2 + ... + (count - 1)^2."""
    return (count - 1.0) * count * (2.0 * count - 1.0) / 6.0


class Means:
    """Mean of a number, or of each coordinate of a vector; parts are added."""

    def __init__(self, device: Device) -> None:
        self._everyone = not isinstance(device, CheckInDevice | CoordinateDevice)
        device = device.inner if isinstance(device, CheckInDevice) else device
        self._device = device
        self.dimensions: int = getattr(device, "dimensions", 1)
        self.decoder = Decoder(device.inner if isinstance(device, CoordinateDevice) else device)
        self.sums = np.zeros((3, self.dimensions))
        """Number, sum and sum of squares of the decoded reports."""

    @property
    def reports(self) -> int:
        """How many were counted."""
        number = self.sums[0]
        return int(number.sum() if isinstance(self._device, CoordinateDevice) else number[0])

    def add(self, reports: Reports) -> None:
        """Count a block of reports."""
        if not isinstance(self._device, CoordinateDevice):
            decoded = self.decoder.decode(reports)
            ones = np.full(self.dimensions, len(decoded))
            self.sums += np.stack([ones, decoded.sum(axis=0), (decoded**2).sum(axis=0)])
            return
        decoded, place = self.decoder.decode(reports[:, 1]), reports[:, 0].astype(np.int64)
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
        if self._everyone and self.decoder.noise is not None:
            spread = np.minimum(spread, self.decoder.noise)
        if names is None:
            names = range(self.dimensions) if hasattr(self._device, "dimensions") else ("mean",)
        return Estimate("mean", tuple(names), values, spread / number, self.reports)
