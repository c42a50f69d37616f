"""Which values a report speaks for, and how often it does.

Each of k values is supported by a report of a user who holds it with probability ``true``, of
anybody else with probability ``other``; two values at once with ``true_pair`` if one of them is
the user's, else with ``other_pair``. Counting supports is all an analyst needs. Of a channel,
outcomes are counted, and its matrix is inverted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, singledispatch

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.analysis.estimate import Array
from shuffledp.collection.analysis.hashed import Counts, count_hashed
from shuffledp.collection.devices import Device
from shuffledp.collection.devices.categorical import (
    Bitset,
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
from shuffledp.errors import ParameterError

_BYTES = 1 << 21
_FEW = 16


@dataclass(frozen=True)
class Support:
    """Probabilities that a report supports a value, or two."""

    true: float
    other: float
    true_pair: float | None = None
    other_pair: float | None = None
    """None where pairs are not all alike."""

    @property
    def gap(self) -> float:
        """How much likelier the true value is supported."""
        return self.true - self.other

    def frequencies(self, shares: Array) -> Array:
        """Of the values, estimated without bias from the share of the reports in each count."""
        return (shares - self.other) / self.gap

    def variances(self, frequencies: Array, n: int) -> Array:
        """Of the estimates, for n users who hold the values with these frequencies."""
        f = np.clip(frequencies, 0.0, 1.0)
        noise = f * self.true * (1.0 - self.true) + (1.0 - f) * self.other * (1.0 - self.other)
        return np.asarray(noise / (n * self.gap**2))


@dataclass(frozen=True, eq=False)
class Inverse:
    """Any channel, by least squares."""

    matrix: Array

    @cached_property
    def _back(self) -> Array:
        if np.linalg.matrix_rank(self.matrix) < len(self.matrix):
            condition = "one whose rows are linearly independent"
            raise ParameterError("channel", condition, "dependent rows")
        return np.asarray(np.linalg.pinv(self.matrix.T))

    def frequencies(self, shares: Array) -> Array:
        return np.asarray(self._back @ shares)

    def variances(self, frequencies: Array, n: int) -> Array:
        f = np.clip(frequencies, 0.0, 1.0)
        f = f / f.sum() if f.sum() > 0.0 else np.full(f.size, 1.0 / f.size)
        # each user's outcome is one of a law: second moment less squared mean, averaged over users
        second = (self._back**2) @ (f @ self.matrix)
        squared = (f[None, :] * (self._back @ self.matrix.T) ** 2).sum(axis=1)
        return np.asarray(np.maximum(second - squared, 0.0) / n)


Law = Support | Inverse


@singledispatch
def law(device: Device) -> Law:
    """How the values of users who hold one of k show in the counts of their reports."""
    raise ParameterError("device", "one for users who hold one of k values", device.randomizer)


@singledispatch
def count_support(device: Device, reports: Reports) -> Counts:
    """How many reports support each value, or, of a channel, have each outcome."""
    raise ParameterError("device", "one for users who hold one of k values", device.randomizer)


@law.register
def _(device: ChannelDevice) -> Law:
    return Inverse(device.randomizer.matrix)


@count_support.register
def _(device: ChannelDevice, reports: Reports) -> Counts:
    return np.bincount(reports[:, 0], minlength=device.randomizer.matrix.shape[1])


@law.register
def _(device: ResponseDevice) -> Law:
    return Support(device.response.kept, device.response.replaced / device.k, 0.0, 0.0)


@count_support.register
def _(device: ResponseDevice, reports: Reports) -> Counts:
    return np.bincount(reports[:, 0], minlength=device.k)


@law.register
def _(device: UnaryDevice) -> Law:
    keep, flip = 1.0 - device.lose / ONE, device.flip / ONE
    return Support(keep, flip, keep * flip, flip * flip)


@law.register
def _(device: Subsets) -> Law:
    k, d, missed = device.k, device.d, device.without / ONE
    inside = 1.0 - missed
    pair = (inside * (d - 1) * (d - 2) + missed * d * (d - 1)) / ((k - 1) * max(k - 2, 1))
    other = (inside * (d - 1) + missed * d) / (k - 1)
    return Support(inside, other, inside * (d - 1) / (k - 1), pair)


@count_support.register
def _(device: Bitset, reports: Reports) -> Counts:
    counts = np.zeros(8 * device.columns, np.int64)
    step = max(1, _BYTES // device.columns)
    for start in range(0, len(reports), step):
        counts += _count_bits(reports[start : start + step])
    return counts[: device.k]


@count_support.register
def _(device: SubsetList, reports: Reports) -> Counts:
    return np.bincount(reports.ravel(), minlength=device.k)


@law.register
def _(device: HadamardDevice) -> Law:
    return Support(1.0 - device.odd / ONE, 0.5)


@count_support.register
def _(device: HadamardDevice, reports: Reports) -> Counts:
    words = np.bincount(reports[:, 0], minlength=1 << device.word_bits)
    signed = _walsh(words)[hadamard_rows(device.k)]
    return np.asarray((len(reports) + signed) // 2)


@law.register
def _(device: HashingDevice) -> Law:
    kept, g = device.response.kept, float(device.g)
    return Support(kept, 1.0 / g, kept / g, 1.0 / g**2)


count_support.register(HashingDevice, count_hashed)


def _count_bits(rows: NDArray[np.uint8]) -> Counts:
    """How often each bit is set, all bits at once: three rows are added to a sum and a carry."""
    counts = np.zeros(8 * rows.shape[1], np.int64)
    weight = 1
    while len(rows):
        carries = []
        while len(rows) > _FEW:
            third = len(rows) // 3
            one, two, three = rows[: 3 * third].reshape(3, third, -1)
            both = one ^ two
            carries.append(one & two | both & three)
            rows = np.concatenate([both ^ three, rows[3 * third :]])
        counts += weight * np.unpackbits(rows, axis=1).sum(axis=0, dtype=np.int64)
        rows = np.concatenate(carries) if carries else rows[:0]
        weight *= 2
    return counts


def _walsh(values: Counts) -> Counts:
    """Sums over all words, signed by the parity of the bits shared with each row."""
    size = 1
    values = values.copy()
    while size < values.size:
        pairs = values.reshape(-1, 2, size)
        values = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        size *= 2
    return values
