"""Means of numbers and of vectors, as shares of the declared range.

Every numeric report is decoded to a number whose expectation is the user's value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np

from shuffledp.collection.analysis.estimate import Array, Estimate
from shuffledp.collection.devices import Device
from shuffledp.collection.devices.device import Reports
from shuffledp.collection.devices.dyadic import ONE
from shuffledp.collection.devices.numeric import (
    GaussianDevice,
    LaplaceDevice,
    OneBitDevice,
    PiecewiseDevice,
    RoundingDevice,
)
from shuffledp.collection.devices.vectors import (
    DROPPED,
    CoordinateDevice,
    GaussianVectorDevice,
    Vector,
)
from shuffledp.errors import ParameterError

_BLOCK = 1 << 18
_HALF, _SAFE = 20, 41
"""Up to 2^41, sums of 2^18 products of halves of 20 bits and more are below 2^63."""


class Decoder:
    """Unbiased numbers from the reports of one kind of device, and the variance they have."""

    zero, unit = 0.0, 1.0
    """A report less ``zero``, in units of ``unit``, has the user's share as its expectation."""
    largest: int | None = None
    """Of the reports a device can send, from 0 on; none if there is no end."""
    levels: float
    """Steps of the grid a value is put on, up or down at random."""
    clamped = False
    """Whether the first and the last report stand for all beyond them."""
    beyond = 0.0
    """How far beyond an end they are: what lies there is geometric, its mean stands in."""
    constant: float
    """The variance, where it is the same for all values."""

    def decode(self, reports: Array) -> Array:
        """Numbers whose expectation is the share."""
        values = reports.astype(np.float64)
        if self.clamped:
            values[reports == 0] -= self.beyond
            values[reports == self.largest] += self.beyond
        return (values - self.zero) / self.unit

    candidates = tuple(i / 8.0 for i in range(9))
    """Values among which the hardest are."""

    def variance(self, value: float) -> float:
        """Variance of the decoded report of a user with this value."""
        return self.constant

    def at_level(self, value: float) -> float:
        """The same without putting the value on a grid that is coarse: there, up or down."""
        return self.variance(value)

    def noise(self, number: int, total: float, squares: float, ends: int) -> float:
        """Sum of numbers whose expectation is the variance at the value's place on the grid.

        For so many reports, from the sums of the decoded ones and of their squares, and how many
        are at an end.
        """
        # a + b x + c x^2, and the expectation of decoded^2 is that and x^2
        a, middle, end = (self.at_level(value) for value in (0.0, 0.5, 1.0))
        b, c = 4.0 * middle - 3.0 * a - end, 2.0 * (a + end) - 4.0 * middle
        linear = a * number + b * total
        return linear + c * (squares - linear) / (1.0 + c)

    def noise_range(self) -> tuple[float, float]:
        """Least and largest variance over all values of the grid."""
        found = [self.at_level(value) for value in self.candidates]
        return min(found), max(found)

    def worst_variance(self) -> float:
        """Largest variance over all values."""
        return max(self.variance(value) for value in self.candidates)

    def hardest_users(self, asked: float) -> tuple[float, float, float, float]:
        """The largest variance per report if a share ``asked`` of the users reports, by chance.

        Noise, and the spread of the values as far as it is not asked of everyone. It is attained by
        a share of users at one value and the rest at another: share, the two values, the variance.
        """
        grid, chance = self.candidates, 1.0 - asked
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


@singledispatch
def decoder(device: Device) -> Decoder:
    """Of a device whose users hold a number."""
    raise ParameterError("device", "one for users who hold a number", device.randomizer)


@decoder.register(OneBitDevice)
@decoder.register(RoundingDevice)
class _Rounding(Decoder):
    """One of k levels, or, with probability ``share``, any of them."""

    def __init__(self, device: OneBitDevice | RoundingDevice) -> None:
        self._share, self.largest = device.response.replaced, device.response.k - 1
        self.levels = float(self.largest)
        self.zero = 0.5 * self._share * self.levels
        self.unit = (1.0 - self._share) * self.levels
        # noise is largest at the ends, rounding adds a quarter of a step squared in between
        hard = min(max(0.5 + 0.5 * (self._at(1.0) - self._at(0.0)) * self.levels**2, 0.0), 1.0)
        ends = (hard / self.levels, 1.0 - hard / self.levels)
        self.candidates = tuple(sorted({0.0, 0.5, 1.0, *ends}))

    def _at(self, level: float) -> float:
        """Variance of the decoded report of a user at this level."""
        squares = self.levels * (2.0 * self.levels + 1.0) / 6.0
        second = self._share * squares + (1.0 - self._share) * level**2
        return (second - (self.zero + (1.0 - self._share) * level) ** 2) / self.unit**2

    def at_level(self, value: float) -> float:
        return self._at(value * self.levels)

    def variance(self, value: float) -> float:
        below = min(math.floor(value * self.levels), self.levels - 1.0)
        up = value * self.levels - below
        noise = (1.0 - up) * self._at(below) + up * self._at(below + 1.0)
        return noise + up * (1.0 - up) / self.levels**2

    def noise(self, number: int, total: float, squares: float, ends: int) -> float:
        if self.levels == 1.0:
            return number * self._at(0.0)  # 0 and 1 are all there is, and alike
        return super().noise(number, total, squares, ends)


@decoder.register(PiecewiseDevice)
class _Piecewise(Decoder):
    def __init__(self, device: PiecewiseDevice) -> None:
        self._outside, self._window, self.levels = (
            device.outside / ONE,
            device.window,
            device.levels,
        )
        self._cells = device.levels + device.window
        # expectation of the report: zero + slope * value
        self._slope = (1.0 - self._outside) - self._outside * self._window / self.levels
        middle = 0.5 * (self._window - 1)
        above = self._outside * 0.5 * self._cells * (self._cells - 1) / self.levels
        self.zero = self._slope * middle + above
        self.unit, self.largest = self._slope * self.levels, self._cells - 1

    def variance(self, value: float) -> float:
        start, outside = value * self.levels, self._outside
        inner = _squares(start + self._window) - _squares(start)
        rest = _squares(self._cells) - inner
        second = (1.0 - outside) * inner / self._window + outside * rest / self.levels
        mean = self.zero + self._slope * start
        return (second - mean**2) / self.unit**2


def _squares(count: float) -> float:
    """0^2 + 1^2 + ... + (count - 1)^2."""
    return (count - 1.0) * count * (2.0 * count - 1.0) / 6.0


@decoder.register(LaplaceDevice)
class _Laplace(Decoder):
    def __init__(self, device: LaplaceDevice) -> None:
        ratio = self._ratio = math.exp(-float(device.rate))
        self.levels = self.unit = float(device.levels)
        self.clamped, self.beyond = device.clamped, ratio / (1.0 - ratio)
        self.largest = device.levels if device.clamped else None

    def variance(self, value: float) -> float:
        ratio = self._ratio
        free = 2.0 * ratio / (1.0 - ratio) ** 2
        if self.clamped:
            # the variance of the geometric rest beyond an end is gone where it happens
            start = value * self.levels
            low, high = ratio**start, ratio ** (self.levels - start)
            free -= (low + high) / (1.0 + ratio) * ratio / (1.0 - ratio) ** 2
        return free / self.levels**2

    def noise(self, number: int, total: float, squares: float, ends: int) -> float:
        if not self.clamped:
            return super().noise(number, total, squares, ends)
        spread = self._ratio / (1.0 - self._ratio) ** 2
        return (2.0 * number - ends) * spread / self.unit**2


@decoder.register(GaussianDevice)
class _Gaussian(Decoder):
    def __init__(self, device: GaussianDevice) -> None:
        self.levels = self.unit = float(device.levels)
        self.constant = float(device.variance) / device.levels**2


@decoder.register(GaussianVectorDevice)
class _GaussianVector(Decoder):
    levels = math.inf

    def __init__(self, device: GaussianVectorDevice) -> None:
        self.unit = 1.0 / (2.0**DROPPED * device.step)
        self.zero = -0.5 - 0.5 * self.unit
        self.constant = device.deviation**2


@dataclass
class Counted:
    """Exact sums of reports. Rounded ones would tell, in their last digits,
    the order of the reports."""

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
    """Mean of a number, or of each coordinate of a vector; parts are added.

    Parameters
    ----------
    device
        What the users ran.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp import Laplace
    >>> from shuffledp.collection.analysis import Means
    >>> from shuffledp.collection.devices import device, simulation
    >>> machine = device(Laplace(eps0=8.0))
    >>> tally = Means(machine)
    >>> tally.add(machine.encode(np.full(1000, 0.2), simulation(1)))
    >>> round(float(tally.estimate().values[0]), 1)
    0.2
    """

    def __init__(self, device: Device) -> None:
        self._asked, device = device.reporting, device.speaking
        self._vectors = isinstance(device, Vector)
        self.dimensions = device.dimensions if isinstance(device, Vector) else 1
        self._one_each = isinstance(device, CoordinateDevice)  # a coordinate, after its number
        if isinstance(device, CoordinateDevice):
            self._asked /= self.dimensions
            device = device.inner
        self.decoder = decoder(device)
        self._counted = [Counted() for _ in range(self.dimensions)]

    @property
    def reports(self) -> int:
        """How many were counted."""
        number = [each.number for each in self._counted]
        return sum(number) if self._one_each else number[0]

    @property
    def sums(self) -> Array:
        """Number of reports; sums of the decoded ones, of their squares, and of their noise."""
        return np.array([each.decoded(self.decoder) for each in self._counted]).T

    def add(self, reports: Reports) -> None:
        """Count a block of reports."""
        for start in range(0, len(reports), _BLOCK):
            block = reports[start : start + _BLOCK]
            if not self._one_each:
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
        """Mean over these users, as a share of the range, and the variance of its error.

        That is the noise of the devices, estimated from the reports where it depends on the values,
        and, where not everyone is asked, the chance of who is. Which step of the grid a value is
        put on is chance, too, and leaves no trace: it counts as the most it can be. That is next to
        nothing on a fine grid. Of one bit it is all the spread of the values, and intervals are too
        wide by that: 95 % ones cover 99.8 % at eps0 = 2 if half of the users are at either end.
        """
        sums = self.sums
        if np.any(sums[0] < 2):
            raise ParameterError("users", "at least two for each coordinate", int(sums[0].min()))
        number, (values, squares, noise) = sums[0], sums[1:] / sums[0]
        decoder = self.decoder
        noise = np.clip(noise, *decoder.noise_range())
        inside = np.clip(values, 0.0, 1.0)
        spread = np.clip(squares - noise - values**2, 0.0, inside * (1.0 - inside))
        rounding = np.minimum(spread, 0.25 / decoder.levels**2)
        variances = (noise + rounding + (1.0 - self._asked) * (spread - rounding)) / number
        if names is None:
            names = range(self.dimensions) if self._vectors else ("mean",)
        return Estimate("mean", tuple(names), values, variances, self.reports)

    def expected_variance(self, n: int) -> float:
        """From n users who hold the hardest values."""
        if not self._one_each:
            return self.decoder.worst_variance() / n
        expected = n / self.dimensions  # users who report a coordinate
        fewer = 1.0 + (1.0 - 1.0 / self.dimensions) / expected  # on average 1/number is larger
        return self.decoder.hardest_users(1.0 / self.dimensions)[3] * fewer / expected
