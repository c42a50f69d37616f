"""Which values a report of local hashing speaks for: those whose hash is what it says.

A hash is the sum of the coefficients of a value's binary digits, modulo g. Few values of few are
visited one by one; of many, the two halves of the digits are hashed apart, and the pairs that add
up to the report are looked up: about the square root of the work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.devices.categorical import HashingDevice
from shuffledp.collection.devices.device import Reports

Counts = NDArray[np.int64]
_BLOCK = 1 << 15
_CELLS = 1 << 20
"""Of the table of a block of reports, which stays in the cache."""
_MARKS = 1 << 16
"""Cells of the table for each report, at most."""
_EACH, _FOUND, _STEP = 24.0, 120.0, 5000.0
"""What a half of a value, a pair found and a step of the walk cost, in visits of a value."""


def count_hashed(device: HashingDevice, reports: Reports) -> Counts:
    """How many reports hash each value to what they say."""
    by_halves = _EACH * 2.0 * 2.0 ** (device.digits / 2.0) + _FOUND * device.k / device.g
    if by_halves < device.k * (1.0 + _STEP / max(1, min(len(reports), _BLOCK))):
        return _by_halves(device, reports)
    return _one_by_one(device, reports)


def _kind(g: int) -> Any:
    """The smallest numbers that hold the sum of two hashes."""
    kinds = (np.uint8, np.uint16, np.uint32, np.uint64)
    return next(kind for kind in kinds if 2 * g <= np.iinfo(kind).max)


def _one_by_one(device: HashingDevice, reports: Reports) -> Counts:
    """Walk through the values in Gray code:
    each hash is the last one plus or minus a coefficient."""
    g, dtype = device.g, _kind(device.g)
    out = np.zeros(device.k, np.int64)
    for start in range(0, len(reports), _BLOCK):
        columns = reports[start : start + _BLOCK].T.astype(dtype)
        plus, minus = columns[:-1], dtype(g) - columns[:-1]
        distance = (dtype(g) - columns[-1]) % dtype(g)  # hash of 0, minus the report
        value = 0
        for step in range(1, (1 << device.digits) + 1):
            if value < device.k:
                out[value] += distance.size - np.count_nonzero(distance)
            if step == 1 << device.digits:
                break
            digit = (step & -step).bit_length() - 1
            distance += (minus if value >> digit & 1 else plus)[digit]
            # subtracting g wraps round to a large number where it is too much
            np.minimum(distance, distance - dtype(g), out=distance)
            value ^= 1 << digit
    return out


def _by_halves(device: HashingDevice, reports: Reports) -> Counts:
    """Pairs of a lower and an upper half of the digits."""
    g, low = device.g, device.digits // 2
    marks = 1 << min(g, _MARKS).bit_length() - 1
    step = max(1, _CELLS // marks)
    table = np.zeros(step * marks, np.bool_)
    out = np.zeros(1 << device.digits, np.int64)
    for start in range(0, len(reports), step):
        block = reports[start : start + step]
        lower = sums(block[:, :low], g)
        upper = sums(block[:, low:-1], g)
        wanted = block[:, -1:].astype(upper.dtype) + (upper.dtype.type(g) - upper)
        np.minimum(wanted, wanted - upper.dtype.type(g), out=wanted)
        lows, ups = _pairs(lower, wanted, table, marks)
        out += np.bincount(ups << low | lows, minlength=out.size)
    return out[: device.k]


def sums(coefficients: NDArray[Any], g: int) -> NDArray[Any]:
    """Hashes of all values of these digits, a row for each report."""
    dtype = _kind(g)
    out = np.zeros((len(coefficients), 1), dtype)
    for column in coefficients.astype(dtype).T:
        more = out + column[:, None]
        np.minimum(more, more - dtype(g), out=more)
        out = np.concatenate([out, more], axis=1)
    return out


def _pairs(
    lower: NDArray[Any], wanted: NDArray[Any], table: NDArray[np.bool_], marks: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Columns of all equal entries in one row, of both.

    A table of marks, several numbers to a mark, leaves few to be compared; it is left empty.
    """
    first = np.arange(len(lower))[:, None] * marks
    here, there = (
        (each & each.dtype.type(marks - 1)).astype(np.int64) + first for each in (lower, wanted)
    )
    table[here] = True
    (row, up), places = _marked(table, there)
    table[here] = False
    table[places] = True
    (other, low), _ = _marked(table, here)
    table[places] = False
    largest = int(max(lower.max(), wanted.max())) + 1
    keys = other * largest + lower[other, low].astype(np.int64)
    order = np.argsort(keys)
    needed = row * largest + wanted[row, up].astype(np.int64)
    left, right = (np.searchsorted(keys[order], needed, side) for side in ("left", "right"))
    times = right - left
    before = np.cumsum(times) - times
    found = np.repeat(left - before, times) + np.arange(int(times.sum()))
    return low[order][found], np.repeat(up, times)


def _marked(table: NDArray[np.bool_], places: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """Row and column of the places that are marked, and the places themselves."""
    hit = table[places]
    return np.nonzero(hit), places[hit]
