"""Telling two data sets apart from what is released, over and over.

The victim holds one of two values, all others a third. With the laws a, b of the victim's report and
r of another's, the likelihood ratio of the shuffled reports z is the sum of a(z)/r(z) over that of
b(z)/r(z): no test does better. If the order tells something, so does the report in the victim's
place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.auditing.likelihood import Array, likelihood, missing, telling_values
from shuffledp.errors import ParameterError
from shuffledp.sampling import Device, Stream
from shuffledp.sampling.device import Reports
from shuffledp.shuffling import permutation

Release = Callable[[NDArray[Any], bool], Reports]
"""Values of many batches (trials x users) and whether order will be looked at -> their reports."""

_BLOCK = 1 << 20


def pipeline(device: Device, stream: Stream) -> Release:
    """What is audited: devices, then the shuffler."""

    def release(values: NDArray[Any], ordered: bool) -> Reports:
        users = values.reshape(-1, *values.shape[2:])
        reports = device.encode(users, stream).reshape(*values.shape[:2], device.columns)
        if not ordered:
            return reports  # nothing but counts is taken from them
        return np.stack([batch[permutation(len(batch), stream)] for batch in reports])

    return release


@dataclass(frozen=True)
class Scores:
    """Attack statistics of many trials in both worlds; large ones speak for the first."""

    first: Array
    second: Array


@dataclass(frozen=True)
class Attack:
    """One victim with one of two values, all others with a third."""

    device: Device
    n: int

    @cached_property
    def values(self) -> tuple[Any, Any, Any]:
        """The victim's two, and the others'."""
        found = telling_values(self.device)
        if missing(self.device, found[2]):
            raise ParameterError("channel", "without zeros to be audited", found[2])
        return found

    def scores(
        self,
        release: Release,
        trials: int,
        *,
        ordered: bool,
        advance: Callable[[int], None],
    ) -> Scores:
        """Logarithms of likelihood ratios: of the counts, or of the report in the victim's place."""
        first, second, others = (likelihood(self.device, value) for value in self.values)

        def score(reports: Reports) -> Array:
            if ordered:
                return np.log(first(reports[:, 0])) - np.log(second(reports[:, 0]))
            flat = reports.reshape(-1, reports.shape[2])
            base = others(flat)
            sums = [(law(flat) / base).reshape(len(reports), -1).sum(1) for law in (first, second)]
            return np.asarray(np.log(sums[0]) - np.log(sums[1]))

        worlds = []
        for victim in self.values[:2]:
            parts = []
            step = max(1, _BLOCK // (self.n * self.device.columns))
            for start in range(0, trials, step):
                size = min(step, trials - start)
                values = np.array([self.values[2]] * self.n)[None].repeat(size, axis=0)
                values[:, 0] = victim
                parts.append(score(release(values, ordered)))
                advance(size)
            worlds.append(np.concatenate(parts))
        return Scores(*worlds)
