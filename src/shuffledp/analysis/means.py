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
    def levels(self) -> float:
        """Steps of the grid a value is put on, up or down at random."""
        if isinstance(self.device, OneBitDevice):
            return 1.0
        if isinstance(self.device, GaussianVectorDevice):
            return math.inf
        return float(self.device.levels)  # type: ignore[attr-defined]

    def noise(self, reports: Reports, decoded: Array) -> Array:
        """Numbers whose expectation is the variance at the value's place on the grid."""
        device = self.device
        if isinstance(device, OneBitDevice):  # 0 and 1 are all there is, and alike
            return np.full(decoded.shape, self.variance(0.0))
        if isinstance(device, LaplaceDevice) and device.clamped:
            ratio = self._ratio
            ends = (reports == 0) | (reports == device.levels)
            lost = np.where(ends, ratio / (1.0 - ratio) ** 2, 0.0)
            return (2.0 * ratio / (1.0 - ratio) ** 2 - lost) / device.levels**2
        # a + b x + c x^2, and the expectation of decoded^2 is that and x^2
        a, middle, end = (self.variance(value) for value in (0.0, 0.5, 1.0))
        b, c = 4.0 * middle - 3.0 * a - end, 2.0 * (a + end) - 4.0 * middle
        linear = a + b * decoded
        return np.asarray(linear + c * (decoded**2 - linear) / (1.0 + c))

    def least_variance(self) -> float:
        """Smallest variance over all values."""
        return min(self.variance(i / 4.0) for i in range(5))

    def worst_variance(self) -> float:
        """Largest variance over all values."""
        return max(self.variance(i / 4.0) for i in range(5))

    def hardest_users(self, asked: float) -> tuple[float, float, float, float]:
        """The largest variance per report if a share ``asked`` of the users reports, by chance.

        Noise, and the spread of the values as far as it is not asked of everyone. It is attained by
        a share of users at one value and the rest at another: share, the two values, the variance.
        """
        grid, chance = [i / 8.0 for i in range(9)], 1.0 - asked
        squares = {v: self.variance(v) + chance * v * v for v in grid}

        def spread(low: float, high: float) -> tuple[float, float, float, float]:
            gap = high - low  # quadratic in the share of the users at ``high``
            rise = squares[high] - squares[low] - 2.0 * chance * low * gap
            curve = 2.0 * chance * gap * gap
            share = min(max(rise / curve, 0.0), 1.0) if curve else float(rise > 0.0)
            mean = low + share * gap
            second = (1.0 - share) * squares[low] + share * squares[high]
            return share, high, low, second - chance * mean * mean

        pairs = ((low, high) for low in grid for high in grid if low < high)
        return max((spread(low, high) for low, high in pairs), key=lambda found: found[3])


def _squares(count: float) -> float:
    """0^2 + 1^2 + ... + (count - 1)^2."""
    return (count - 1.0) * count * (2.0 * count - 1.0) / 6.0


class Means:
    """Mean of a number, or of each coordinate of a vector; parts are added."""

    def __init__(self, device: Device) -> None:
        self._asked = 1.0
        if isinstance(device, CheckInDevice):
            self._asked, device = device.randomizer.rate, device.inner
        self._device = device
        self.dimensions: int = getattr(device, "dimensions", 1)
        if isinstance(device, CoordinateDevice):
            self._asked /= self.dimensions
            device = device.inner
        self.decoder = Decoder(device)
        self.sums = np.zeros((4, self.dimensions))
        """Number of reports; sums of the decoded ones, of their squares, and of their noise."""

    @property
    def reports(self) -> int:
        """How many were counted."""
        number = self.sums[0]
        return int(number.sum() if isinstance(self._device, CoordinateDevice) else number[0])

    def add(self, reports: Reports) -> None:
        """Count a block of reports."""
        if not isinstance(self._device, CoordinateDevice):
            decoded = self.decoder.decode(reports)
            self.sums += [column.sum(axis=0) for column in self._columns(reports, decoded)]
            return
        place, reports = reports[:, 0].astype(np.int64), reports[:, 1]
        decoded = self.decoder.decode(reports)
        for row, column in enumerate(self._columns(reports, decoded)):
            self.sums[row] += np.bincount(place, column, minlength=self.dimensions)

    def _columns(self, reports: Reports, decoded: Array) -> tuple[Array, ...]:
        """What is summed."""
        noise = self.decoder.noise(reports, decoded)
        return np.ones_like(decoded), decoded, decoded**2, noise

    def merge(self, other: Means) -> None:
        """Add what another counted."""
        self.sums += other.sums

    def estimate(self, names: Sequence[Any] | None = None) -> Estimate:
        """Mean share of the range over the users at hand, and the variance of its error.

        That is the noise of the devices, estimated from the reports where it depends on the values,
        and, where not everyone is asked, the chance of who is. Which step of the grid a value is put
        on is chance, too, and leaves no trace: it counts as the most it can be. That is next to nothing
        on a fine grid. Of one bit it is all the spread of the values, and intervals are too wide
        by that: 95 % ones cover 99.8 % at eps0 = 2 if half of the users are at either end.
        """
        if np.any(self.sums[0] < 2):
            raise ParameterError(
                "users", "at least two for each coordinate", int(self.sums[0].min())
            )
        number, (values, squares, noise) = self.sums[0], self.sums[1:] / self.sums[0]
        decoder = self.decoder
        noise = np.clip(noise, decoder.least_variance(), decoder.worst_variance())
        inside = np.clip(values, 0.0, 1.0)
        spread = np.clip(squares - noise - values**2, 0.0, inside * (1.0 - inside))
        rounding = np.minimum(spread, 0.25 / decoder.levels**2)
        variances = (noise + rounding + (1.0 - self._asked) * (spread - rounding)) / number
        if names is None:
            names = range(self.dimensions) if hasattr(self._device, "dimensions") else ("mean",)
        return Estimate("mean", tuple(names), values, variances, self.reports)
