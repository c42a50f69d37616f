"""Exact laws of reports in rational numbers, written down apart from the devices."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

from shuffledp.collection.devices import Device
from shuffledp.collection.devices.categorical import (
    HadamardDevice,
    HashingDevice,
    ResponseDevice,
    SubsetList,
    Subsets,
    UnaryDevice,
    hadamard_rows,
)
from shuffledp.collection.devices.channel import ChannelDevice
from shuffledp.collection.devices.checkin import CheckInDevice
from shuffledp.collection.devices.numeric import OneBitDevice, PiecewiseDevice, RoundingDevice
from shuffledp.collection.devices.prefixes import PrefixDevice
from shuffledp.collection.devices.vectors import CoordinateDevice

ONE = 1 << 48
Law = dict[tuple[int, ...], Fraction]
FALSE_ALARM = 1e-8
"""Of one test; a few hundred tests together stay below 1e-5."""


def _packed(bits: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(np.packbits(np.array(bits, np.uint8)).tolist())


def _response(k: int, beta: int, x: int) -> list[Fraction]:
    share = Fraction(beta, ONE)
    return [share / k + (1 - share if y == x else 0) for y in range(k)]


def law(device: Device, x: Any) -> Law:
    """Probability of each report of a user with value x (for numbers: a point of the grid)."""
    out: Law = Counter()  # type: ignore[assignment]
    if isinstance(device, ResponseDevice):
        return {(y,): p for y, p in enumerate(_response(device.k, device.response.beta, x))}
    if isinstance(device, OneBitDevice):
        share, answers = Fraction(x), [_response(2, device.response.beta, b) for b in (0, 1)]
        return {(y,): (1 - share) * answers[0][y] + share * answers[1][y] for y in (0, 1)}
    if isinstance(device, RoundingDevice):
        k = device.response.k
        place = Fraction(x) * (k - 1)
        for level in range(k):
            near = max(1 - abs(place - level), Fraction(0))  # how often the value is put there
            for y, p in enumerate(_response(k, device.response.beta, level)):
                out[(y,)] += near * p
        return out
    if isinstance(device, UnaryDevice):
        for bits in itertools.product((0, 1), repeat=device.k):
            mass = Fraction(1)
            for value, bit in enumerate(bits):
                one = Fraction(ONE - device.lose if value == x else device.flip, ONE)
                mass *= one if bit else 1 - one
            out[_packed(bits)] += mass
        return out
    if isinstance(device, Subsets):
        k, d, without = device.k, device.d, Fraction(device.without, ONE)
        for chosen in itertools.combinations(range(k), d):
            inside = x in chosen
            mass = (
                (1 - without) / math.comb(k - 1, d - 1) if inside else without / math.comb(k - 1, d)
            )
            listed = isinstance(device, SubsetList)
            out[chosen if listed else _packed(tuple(int(v in chosen) for v in range(k)))] += mass
        return out
    if isinstance(device, HashingDevice):
        for seed in itertools.product(range(device.g), repeat=device.digits):
            hashed = sum(a for j, a in enumerate(seed) if x >> j & 1) % device.g
            answers = _response(device.g, device.response.beta, hashed)
            for y, p in enumerate(answers):
                out[(*seed, y)] += p / device.g**device.digits
        return out
    if isinstance(device, HadamardDevice):
        row, odd = int(hadamard_rows(device.k)[x]), Fraction(device.odd, ONE)
        words = 1 << device.word_bits
        for word in range(words):
            out[(word,)] = (odd if (word & row).bit_count() % 2 else 1 - odd) / (words // 2)
        return out
    if isinstance(device, PiecewiseDevice):
        start, outside = round(x * device.levels), Fraction(device.outside, ONE)
        for cell in range(device.levels + device.window):
            inside = start <= cell < start + device.window
            out[(cell,)] = (1 - outside) / device.window if inside else outside / device.levels
        return out
    if isinstance(device, ChannelDevice):
        row = device.randomizer.matrix[x]
        return {(y,): Fraction(float(p)) for y, p in enumerate(row)}
    if isinstance(device, CheckInDevice):
        speaks = Fraction(device.randomizer.rate)
        silent: Law = {(): 1 - speaks}
        return silent | {y: speaks * p for y, p in law(device.inner, x).items()}
    if isinstance(device, CoordinateDevice):
        for j, value in enumerate(x):
            for report, p in law(device.inner, value).items():
                out[(j, *report)] = p / device.dimensions
        return out
    if isinstance(device, PrefixDevice):
        for number in range(1, device.lengths + 2):
            counted = number > device.lengths  # by half of the users
            prefix = x if counted else x >> (device.bits - number * device.step)
            for report, p in law(device.inner, prefix).items():
                out[(number, *report)] = p / 2 if counted else p / (2 * device.lengths)
        return out
    raise NotImplementedError(type(device))


def misfit(samples: Counter[Any], expected: dict[Any, float], n: int) -> bool:
    """Whether a chi-square test rejects at FALSE_ALARM, or a sample is outside the support."""
    from scipy.stats import chi2

    if any(sample not in expected for sample in samples):
        return True
    cells: list[list[float]] = []
    pool = [0.0, 0.0]
    for outcome, p in expected.items():
        cell = [samples[outcome], n * p]
        if cell[1] < 25.0:
            pool = [a + b for a, b in zip(pool, cell, strict=True)]
        else:
            cells.append(cell)
    if pool[1] >= 25.0:
        cells.append(pool)
    statistic = sum((seen - mean) ** 2 / mean for seen, mean in cells)
    return bool(statistic > chi2.isf(FALSE_ALARM, max(len(cells) - 1, 1)))
