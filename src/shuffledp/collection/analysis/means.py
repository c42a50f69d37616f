"""Means of numbers and of vectors, as shares of the declared range.

Every numeric report is decoded to a number whose expectation is the user's value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np

from shuffledp.collection.analysis.estimate import Array, Estimate
from shuffledp.collection.devices import Device
from shuffledp.collection.devices.checkin import CheckInDevice
from shuffledp.collection.devices.device import Reports
from shuffledp.collection.devices.dyadic import ONE
from shuffledp.collection.devices.numeric import (
    GaussianDevice,
    LaplaceDevice,
    OneBitDevice,
    PiecewiseDevice,
)
from shuffledp.collection.devices.vectors import DROPPED, CoordinateDevice, GaussianVectorDevice
from shuffledp.errors import ParameterError

_BLOCK = 1 << 18
_HALF, _SAFE = 20, 41
"""Up to 2^41, sums of 2^18 products of halves of 20 bits and more are below 2^63."""


class Decoder:
    """Unbiased numbers from reports, and the variance they have."""

    zero, unit = 0.0, 1.0
    """A report less ``zero``, in units of ``unit``, has the user's share as its expectation."""
    largest: int | None = None
    """Of the reports a device can send, from 0 on; none if there is no end."""

    def __init__(self, device: Device) -> None:
        self.device = device
        if isinstance(device, OneBitDevice):
            self._share = device._response.beta / ONE
            self.zero, self.unit, self.largest = 0.5 * self._share, 1.0 - self._share, 1
        elif isinstance(device, PiecewiseDevice):
            self._piecewise(device)
        elif isinstance(device, LaplaceDevice):
            self._ratio, self.unit = math.exp(-float(device.rate)), float(device.levels)
            self.largest = device.levels if device.clamped else None
        elif isinstance(device, GaussianDevice):
            self.unit = float(device.levels)
        elif isinstance(device, GaussianVectorDevice):
            self.unit = 1.0 / (2.0**DROPPED * device.step)
            self.zero = -0.5 - 0.5 * self.unit
        else:
            raise ParameterError("device", "one for users who hold a number", device.randomizer)

    def _piecewise(self, device: PiecewiseDevice) -> None:
        # expectation of the report: zero + slope * value
        outside, window, levels = device.outside / ONE, device.window, device.levels
        cells = levels + window
        self._slope = (1.0 - outside) - outside * window / levels
        middle = 0.5 * (window - 1)
        self.zero = self._slope * middle + outside * 0.5 * cells * (cells - 1) / levels
        self.unit, self.largest = self._slope * levels, cells - 1

    @property
    def clamped(self) -> bool:
        """Whether the first and the last report stand for all beyond them."""
        return isinstance(self.device, LaplaceDevice) and self.device.clamped

    @property
    def beyond(self) -> float:
        """How far beyond an end they are: what lies there is geometric, its mean stands in."""
        return self._ratio / (1.0 - self._ratio)

    def decode(self, reports: Array) -> Array:
        """Numbers whose expectation is the share."""
        values = reports.astype(np.float64)
        if self.clamped:
            values[reports == 0] -= self.beyond
            values[reports == self.largest] += self.beyond
        return (values - self.zero) / self.unit

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
            mean = self.zero + self._slope * start
            return (second - mean**2) / self.unit**2
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

    def noise(self, number: int, total: float, squares: float, ends: int) -> float:
        """Sum of numbers whose expectation is the variance at the value's place on the grid.

        For so many reports, from the sums of the decoded ones and of their squares, and how many
        are at an end.
        """
        device = self.device
        if isinstance(device, OneBitDevice):  # 0 and 1 are all there is, and alike
            return number * self.variance(0.0)
        if self.clamped:
            spread = self._ratio / (1.0 - self._ratio) ** 2
            return (2.0 * number - ends) * spread / self.unit**2
        # a + b x + c x^2, and the expectation of decoded^2 is that and x^2
        a, middle, end = (self.variance(value) for value in (0.0, 0.5, 1.0))
        b, c = 4.0 * middle - 3.0 * a - end, 2.0 * (a + end) - 4.0 * middle
        linear = a * number + b * total
        return linear + c * (squares - linear) / (1.0 + c)

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


@dataclass
class Counted:
    """Exact sums of reports. Rounded ones would tell, in their last digits, the order of the reports."""

    number: int = 0
    total: int = 0
    squares: int = 0
    first: int = 0
    last: int = 0
    """How many are at the first and the last place there is."""

    def add(self, reports: Reports, largest: int | None) -> None:
        """At most ``_BLOCK`` of them."""
        if not len(reports):
            return
        if largest is not None:
            if reports.min() < 0 or reports.max() > largest:
                raise ValueError(f"no report from 0 to {largest}")
            self.first += int(np.count_nonzero(reports == 0))
            self.last += int(np.count_nonzero(reports == largest))
        self.number += len(reports)
        if max(-int(reports.min()), int(reports.max())) >> _SAFE:  # too large for words of 64 bits
            large = [int(report) for report in reports]
            self.total += sum(large)
            self.squares += sum(report * report for report in large)
            return
        wide = reports.astype(np.int64)
        high, low = wide >> _HALF, wide & ((1 << _HALF) - 1)
        self.total += int(wide.sum())
        self.squares += (
            (int((high * high).sum()) << 2 * _HALF)
            + (int((high * low).sum()) << _HALF + 1)
            + int((low * low).sum())
        )

    def merge(self, other: Counted) -> None:
        """Add what another counted."""
        for field in fields(self):
            name = field.name
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def decoded(self, decoder: Decoder) -> tuple[float, float, float, float]:
        """Number of reports; sums of the decoded ones, of their squares, and of their noise."""
        total, squares = Fraction(self.total), Fraction(self.squares)
        if decoder.clamped:
            beyond, last = Fraction(decoder.beyond), decoder.largest or 0
            total += (self.last - self.first) * beyond
            squares += self.first * beyond**2 + self.last * ((last + beyond) ** 2 - last**2)
        zero, unit = Fraction(decoder.zero), Fraction(decoder.unit)
        squares = (squares - 2 * zero * total + self.number * zero**2) / unit**2
        total = (total - self.number * zero) / unit
        noise = decoder.noise(self.number, float(total), float(squares), self.first + self.last)
        return float(self.number), float(total), float(squares), noise


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
        self._counted = [Counted() for _ in range(self.dimensions)]

    @property
    def reports(self) -> int:
        """How many were counted."""
        number = [each.number for each in self._counted]
        return sum(number) if isinstance(self._device, CoordinateDevice) else number[0]

    @property
    def sums(self) -> Array:
        """Number of reports; sums of the decoded ones, of their squares, and of their noise."""
        return np.array([each.decoded(self.decoder) for each in self._counted]).T

    def add(self, reports: Reports) -> None:
        """Count a block of reports."""
        for start in range(0, len(reports), _BLOCK):
            block = reports[start : start + _BLOCK]
            if not isinstance(self._device, CoordinateDevice):
                for counted, column in zip(self._counted, block.T, strict=True):
                    counted.add(column, self.decoder.largest)
                continue
            place = block[:, 0]
            if place.min() < 0 or place.max() >= self.dimensions:
                raise ValueError("no coordinate of this vector")
            order = np.argsort(place, kind="stable")
            ends = np.cumsum(np.bincount(place.astype(np.int64), minlength=self.dimensions))
            for counted, part in zip(
                self._counted, np.split(block[order, 1], ends[:-1]), strict=True
            ):
                counted.add(part, self.decoder.largest)

    def merge(self, other: Means) -> None:
        """Add what another counted."""
        for mine, its in zip(self._counted, other._counted, strict=True):
            mine.merge(its)

    def estimate(self, names: Sequence[Any] | None = None) -> Estimate:
        """Mean share of the range over the users at hand, and the variance of its error.

        That is the noise of the devices, estimated from the reports where it depends on the values,
        and, where not everyone is asked, the chance of who is. Which step of the grid a value is put
        on is chance, too, and leaves no trace: it counts as the most it can be. That is next to nothing
        on a fine grid. Of one bit it is all the spread of the values, and intervals are too wide
        by that: 95 % ones cover 99.8 % at eps0 = 2 if half of the users are at either end.
        """
        sums = self.sums
        if np.any(sums[0] < 2):
            raise ParameterError("users", "at least two for each coordinate", int(sums[0].min()))
        number, (values, squares, noise) = sums[0], sums[1:] / sums[0]
        decoder = self.decoder
        noise = np.clip(noise, decoder.least_variance(), decoder.worst_variance())
        inside = np.clip(values, 0.0, 1.0)
        spread = np.clip(squares - noise - values**2, 0.0, inside * (1.0 - inside))
        rounding = np.minimum(spread, 0.25 / decoder.levels**2)
        variances = (noise + rounding + (1.0 - self._asked) * (spread - rounding)) / number
        if names is None:
            names = range(self.dimensions) if hasattr(self._device, "dimensions") else ("mean",)
        return Estimate("mean", tuple(names), values, variances, self.reports)
