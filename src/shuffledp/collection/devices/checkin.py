"""Devices that report only sometimes: no row for the silent ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.randomizers import CheckIn
from shuffledp.collection.devices.device import Device, Reports, device, runs
from shuffledp.collection.devices.dyadic import BITS, ONE
from shuffledp.collection.devices.integers import bernoulli
from shuffledp.collection.devices.stream import Stream


@runs(CheckIn)
class CheckInDevice(Device):
    """Tosses a coin, then runs the inner device or nothing."""

    def __init__(self, asked: CheckIn) -> None:
        self.inner = device(asked.randomizer)
        self._speaks = max(1, round(asked.rate * ONE))
        self.randomizer: CheckIn = replace(
            asked, randomizer=self.inner.randomizer, rate=self._speaks / ONE
        )
        self.reporting = self.randomizer.rate
        self.columns, self.dtype = self.inner.columns, self.inner.dtype

    @property
    def speaking(self) -> Device:
        return self.inner

    def _inputs(self, values: ArrayLike) -> NDArray[Any]:
        return self.inner._inputs(values)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        speaks = np.flatnonzero(bernoulli(stream, self._speaks, BITS, len(inputs)))
        return self.inner._encode(inputs[speaks], stream)
