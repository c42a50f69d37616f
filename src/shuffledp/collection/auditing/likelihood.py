"""How likely a report is under a value, up to a factor that is the same for all values."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.analysis.means import decoder
from shuffledp.collection.devices import Device
from shuffledp.collection.devices.categorical import (
    Categorical,
    HadamardDevice,
    HashingDevice,
    ResponseDevice,
    SubsetList,
    Subsets,
    UnaryDevice,
    hadamard_rows,
)
from shuffledp.collection.devices.channel import ChannelDevice
from shuffledp.collection.devices.device import Reports
from shuffledp.collection.devices.dyadic import ONE
from shuffledp.collection.devices.numeric import (
    GaussianDevice,
    LaplaceDevice,
    OneBitDevice,
    PiecewiseDevice,
    RoundingDevice,
)
from shuffledp.collection.devices.prefixes import PrefixDevice
from shuffledp.collection.devices.vectors import CoordinateDevice, GaussianVectorDevice, Vector
from shuffledp.errors import ParameterError

Array = NDArray[np.float64]
Likelihood = Callable[[Reports], Array]


@singledispatch
def likelihood(device: Device, value: Any) -> Likelihood:
    """Of the reports of a user who holds the value, as the device takes it."""
    raise ParameterError("mechanism", "one whose reports can be attacked", str(device.randomizer))


def _either(hit: Callable[[Reports], Any], yes: float, no: float) -> Likelihood:
    return lambda reports: np.where(hit(reports), yes, no)


@likelihood.register
def _(device: ResponseDevice, value: int) -> Likelihood:
    kept, other = device.response.kept, device.response.replaced / device.k
    return _either(lambda reports: reports[:, 0] == value, kept, other)


@likelihood.register
def _(device: ChannelDevice, value: int) -> Likelihood:
    row = device.randomizer.matrix[value]
    return lambda reports: np.asarray(row[reports[:, 0]])


def _bit(value: int) -> Callable[[Reports], Any]:
    return lambda reports: reports[:, value >> 3] & (128 >> (value & 7))


@likelihood.register
def _(device: UnaryDevice, value: int) -> Likelihood:
    lose, flip = device.lose / ONE, device.flip / ONE
    return _either(_bit(value), (1.0 - lose) / flip, lose / (1.0 - flip))


@likelihood.register
def _(device: Subsets, value: int) -> Likelihood:
    without = device.without / ONE
    listed = isinstance(device, SubsetList)
    held = (lambda reports: (reports == value).any(axis=1)) if listed else _bit(value)
    return _either(held, 1.0 - without, without * device.d / (device.k - device.d))


@likelihood.register
def _(device: HashingDevice, value: int) -> Likelihood:
    kept = device.response.kept
    digits = [j for j in range(device.digits) if value >> j & 1]

    def hit(reports: Reports) -> Any:
        return reports[:, digits].sum(axis=1, dtype=np.int64) % device.g == reports[:, -1]

    return _either(hit, kept, (1.0 - kept) / (device.g - 1))


@likelihood.register
def _(device: HadamardDevice, value: int) -> Likelihood:
    row, odd = int(hadamard_rows(device.k)[value]), device.odd / ONE

    def even(reports: Reports) -> Any:
        return np.bitwise_count(reports[:, 0].astype(np.int64) & row) & 1 == 0

    return _either(even, 1.0 - odd, odd)


@likelihood.register
def _(device: PrefixDevice, value: int) -> Likelihood:
    lengths = range(1, device.lengths + 1)
    inner = [likelihood(device.inner, value >> (device.bits - i * device.step)) for i in lengths]
    return _chosen([*inner, inner[-1]], first=1)


def _chosen(inner: list[Likelihood], first: int) -> Likelihood:
    """The first number of a report says which of these laws the others follow."""

    def chosen(reports: Reports) -> Array:
        found = np.stack([each(reports[:, 1:]) for each in inner])
        return np.asarray(found[reports[:, 0].astype(np.int64) - first, np.arange(len(reports))])

    return chosen


@likelihood.register
def _(device: OneBitDevice, value: float) -> Likelihood:
    share = device.response.replaced
    one = (1.0 - share) * value + 0.5 * share
    return _either(lambda reports: reports[:, 0], one, 1.0 - one)


@likelihood.register
def _(device: RoundingDevice, value: float) -> Likelihood:
    response = device.response
    level = value * (response.k - 1)
    below = min(math.floor(level), response.k - 2)
    at_level = np.full(response.k, response.replaced / response.k)
    at_level[below] += (1.0 - response.replaced) * (below + 1 - level)
    at_level[below + 1] += (1.0 - response.replaced) * (level - below)
    return lambda reports: np.asarray(at_level[reports[:, 0]])


@likelihood.register
def _(device: PiecewiseDevice, value: float) -> Likelihood:
    start, outside = round(value * device.levels), device.outside / ONE

    def hit(reports: Reports) -> Any:
        return (reports[:, 0] >= start) & (reports[:, 0] < start + device.window)

    return _either(hit, (1.0 - outside) / device.window, outside / device.levels)


@likelihood.register
def _(device: LaplaceDevice, value: float) -> Likelihood:
    rate, centre = float(device.rate), round(value * device.levels)
    # beyond the ends all values fall alike: clamping changes a common factor
    return lambda reports: np.exp(-rate * np.abs(reports[:, 0].astype(np.float64) - centre))


@likelihood.register
def _(device: GaussianDevice, value: float) -> Likelihood:
    variance, centre = float(device.variance), round(value * device.levels)
    return lambda reports: np.exp(-0.5 * (reports[:, 0] - centre) ** 2 / variance)


@likelihood.register
def _(device: GaussianVectorDevice, value: Array) -> Likelihood:
    offset = np.asarray(value) - 0.5
    centre = 0.5 + offset * min(1.0, device.radius / max(float(np.linalg.norm(offset)), 1e-300))
    decode = decoder(device).decode

    def density(reports: Reports) -> Array:
        distance = (decode(reports) - centre) / device.deviation
        # with the factor exp(|report - middle|^2 / 2), so that nothing is too small
        middle = (decode(reports) - 0.5) / device.deviation
        return np.asarray(np.exp(0.5 * (middle**2 - distance**2).sum(axis=1)))

    return density


@likelihood.register
def _(device: CoordinateDevice, value: Array) -> Likelihood:
    inner = [likelihood(device.inner, float(each)) for each in value]
    return _chosen(inner, first=0)


@singledispatch
def telling_values(device: Device) -> tuple[Any, Any, Any]:
    """The victim's two values, and what all others hold: a data set that leaks much."""
    return 0.0, 1.0, 0.0


@telling_values.register
def _(device: PiecewiseDevice) -> tuple[Any, Any, Any]:
    return 0.0, 1.0, 0.5


@telling_values.register
def _(device: RoundingDevice) -> tuple[Any, Any, Any]:
    k = device.response.k
    return 0.0, 1.0, (k // 2) / (k - 1) if k > 2 else 0.0


@telling_values.register
def _(device: Vector) -> tuple[Any, Any, Any]:
    return np.zeros(device.dimensions), np.ones(device.dimensions), np.zeros(device.dimensions)


@telling_values.register
def _(device: CoordinateDevice) -> tuple[Any, Any, Any]:
    first, second, others = telling_values(device.inner)
    d = device.dimensions
    return np.full(d, first), np.full(d, second), np.full(d, others)


@telling_values.register
def _(device: Categorical) -> tuple[Any, Any, Any]:
    return 0, 1, 2 if device.k > 2 else 1


@telling_values.register
def _(device: PrefixDevice) -> tuple[Any, Any, Any]:
    rest = device.bits - device.step
    return 0, 1 << rest, min(2, (1 << device.step) - 1) << rest


def missing(device: Device, value: Any) -> bool:
    """Whether some report is impossible under the value."""
    return isinstance(device, ChannelDevice) and not np.all(device.randomizer.matrix[value])
