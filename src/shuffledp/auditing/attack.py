"""Telling two data sets apart from what is released, over and over.

The victim holds one of two values, all others a third. With the laws a, b of the victim's report and
r of another's, the likelihood ratio of the shuffled reports z is the sum of a(z)/r(z) over that of
b(z)/r(z): no test does better. If the order tells something, so does the report in the victim's
place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.analysis.support import support
from shuffledp.errors import ParameterError
from shuffledp.sampling import Device, Stream
from shuffledp.sampling.categorical import ResponseDevice
from shuffledp.sampling.channel import ChannelDevice
from shuffledp.sampling.device import Reports
from shuffledp.shuffling import permutation

Array = NDArray[np.float64]
Release = Callable[[NDArray[np.int64], bool], Reports]
"""Values of many batches (one a row) and whether their order will be looked at -> reports."""

_BLOCK = 1 << 20


def pipeline(device: Device, stream: Stream) -> Release:
    """What is audited: devices, then the shuffler."""

    def release(values: NDArray[np.int64], ordered: bool) -> Reports:
        reports = device.encode(values.ravel(), stream).reshape(values.shape)
        if not ordered:
            return reports  # nothing but counts is taken from them
        return np.stack([row[permutation(row.size, stream)] for row in reports])

    return release


def laws(device: Device) -> Array:
    """Law of the report of each value, one a row."""
    if isinstance(device, ResponseDevice):
        known = support(device)
        return np.full((device.k, device.k), known.other) + np.eye(device.k) * known.gap
    if isinstance(device, ChannelDevice):
        return device.randomizer.matrix
    raise ParameterError("mechanism", "rr, krr or channel to be audited", str(device.randomizer))


@dataclass(frozen=True)
class Scores:
    """Attack statistics of many trials in both worlds; large ones speak for the first."""

    first: Array
    second: Array


@dataclass(frozen=True)
class Attack:
    """The victim at 0 or 1, all others at ``others``."""

    device: Device
    n: int
    others: int

    def scores(
        self,
        release: Release,
        trials: int,
        *,
        ordered: bool,
        advance: Callable[[int], None],
    ) -> Scores:
        """Logarithms of likelihood ratios: of the counts, or of the report in the victim's place."""
        table = laws(self.device)
        base = table[self.others]
        if np.any(base <= 0.0):
            raise ParameterError("channel", "without zeros to be audited", self.others)
        if ordered:
            ratios = np.log(table[0]) - np.log(table[1])

            def score(reports: Any) -> Array:
                return np.asarray(ratios[reports[:, 0]])
        else:
            weights = table[:2] / base

            def score(reports: Any) -> Array:
                sums = [weights[i][reports].sum(axis=1) for i in (0, 1)]
                return np.asarray(np.log(sums[0]) - np.log(sums[1]))

        worlds = []
        for victim in (0, 1):
            parts = []
            step = max(1, _BLOCK // self.n)
            for start in range(0, trials, step):
                size = min(step, trials - start)
                values = np.full((size, self.n), self.others)
                values[:, 0] = victim
                parts.append(score(release(values, ordered)))
                advance(size)
            worlds.append(np.concatenate(parts))
        return Scores(*worlds)
