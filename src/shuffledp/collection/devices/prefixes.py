"""Devices of users who hold a long word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.randomizers import OnePrefix
from shuffledp.collection.devices.categorical import Categorical, HashingDevice
from shuffledp.collection.devices.device import Reports, runs
from shuffledp.collection.devices.integers import uniform
from shuffledp.collection.devices.stream import Stream


@runs(OnePrefix)
class PrefixDevice(Categorical):
    """The number of steps of the prefix, one more for words to count, then its hash function and
    randomized hash."""

    def __init__(self, asked: OnePrefix) -> None:
        self.inner = HashingDevice(asked.hashing)
        self.randomizer: OnePrefix = replace(asked, eps0=self.inner.randomizer.eps0)
        self.k, self.g = 1 << asked.bits, self.inner.g
        self.bits, self.step = asked.bits, asked.step
        self.lengths = asked.bits // asked.step
        self.columns = self.inner.columns + 1
        self.dtype = np.promote_types(np.uint8, self.inner.dtype)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        # half of them count
        drawn = uniform(stream, 2 * self.lengths, inputs.size).astype(np.int64)
        number = 1 + np.minimum(drawn, self.lengths)
        length = np.minimum(number, self.lengths) * self.step
        hashed = self.inner._encode(inputs >> (self.bits - length), stream)
        return np.concatenate([number.astype(self.dtype)[:, None], hashed], axis=1)
