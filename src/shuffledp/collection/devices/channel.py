"""The device of any finite channel: alias tables of integers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.randomizers import Channel
from shuffledp.collection.devices.categorical import Categorical
from shuffledp.collection.devices.device import Reports, runs
from shuffledp.collection.devices.dyadic import BITS, ONE
from shuffledp.collection.devices.stream import Stream
from shuffledp.errors import ParameterError


def _ratio(table: NDArray[Any]) -> Fraction | float:
    """Largest ratio of two entries of a column, exactly."""
    worst: Fraction | float = Fraction(1)
    for high, low in zip(table.max(axis=0).tolist(), table.min(axis=0).tolist(), strict=True):
        if high:
            worst = max(worst, Fraction(high) / Fraction(low) if low else math.inf)
    return worst


def _whole(rows: NDArray[np.float64]) -> NDArray[np.int64]:
    """Multiples of 2^-48 that sum to one, each row's remainder in its largest entry."""
    units = np.floor(rows * ONE).astype(np.int64)
    units[np.arange(len(units)), rows.argmax(axis=1)] += ONE - units.sum(axis=1)
    return units


def _rounded(matrix: NDArray[np.float64]) -> NDArray[np.int64]:
    """The rows on the grid; drawn together a little where rounding would raise their ratios."""
    limit = _ratio(matrix)
    units = _whole(matrix)
    shift = 44
    while _ratio(units) > limit:
        if shift == 0:
            raise ParameterError("matrix", "representable with 48 bits", matrix.tolist())
        share = 0.5**shift
        units = _whole((1.0 - share) * matrix + share * matrix.mean(axis=0))
        shift -= 2
    return units


@runs(Channel)
class ChannelDevice(Categorical):
    """The number of an outcome."""

    columns = 1

    def __init__(self, asked: Channel) -> None:
        units = _rounded(asked.matrix)
        self.randomizer: Channel = Channel(units / ONE)
        self.k, outputs = units.shape
        self.dtype = np.min_scalar_type(outputs - 1)
        self._shift = BITS - (outputs - 1).bit_length()
        tables = [_alias(row, self._shift) for row in units.tolist()]
        self._limits = np.array([limits for limits, _ in tables], np.uint64)
        self._others = np.array([others for _, others in tables], np.int64)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        drawn = stream.bits(inputs.size, BITS)
        slot = (drawn >> np.uint64(self._shift)).astype(np.int64)
        rest = drawn & np.uint64((1 << self._shift) - 1)
        stays = rest < self._limits[inputs, slot]
        return np.where(stays, slot, self._others[inputs, slot])


def _alias(units: list[int], shift: int) -> tuple[list[int], list[int]]:
    """Walker's tables: slots of 2^shift units, each shared by at most two outcomes."""
    size = 1 << shift
    slots = 1 << (BITS - shift)
    left = units + [0] * (slots - len(units))
    limits, others = [size] * slots, list(range(slots))
    small = [i for i, mass in enumerate(left) if mass < size]
    large = [i for i, mass in enumerate(left) if mass > size]
    while small:
        low, high = small.pop(), large[-1]
        limits[low], others[low] = left[low], high
        left[high] -= size - left[low]
        if left[high] <= size:
            large.pop()
            if left[high] < size:
                small.append(high)
    return limits, others
