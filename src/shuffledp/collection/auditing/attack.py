"""Telling two data sets apart from what is released, over and over.

The victim holds one of two values, all others a third. With the laws a, b of the victim's report
and r of another's, the likelihood ratio of the shuffled reports z is the sum of a(z)/r(z) over that
of b(z)/r(z): no test does better. If the order tells something, so may the report in one place:
that of the victim, wherever a fault puts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.auditing.likelihood import Array, likelihood, missing, telling_values
from shuffledp.collection.devices import Device
from shuffledp.collection.devices.device import Reports
from shuffledp.errors import ParameterError

Release = Callable[[NDArray[Any], bool], Reports]
"""Values of many batches (trials x users) and whether order will be looked at -> their reports."""

_BLOCK = 1 << 20
_TINY = 1e-300


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

    def place(self, release: Release, trials: int, advance: Callable[[int], None]) -> int:
        """Where the report differs most between the two worlds, in standard errors."""
        ratio = self._ratio
        means, errors = [], []
        for blocks in self._worlds(release, trials, True, advance):
            sums = np.zeros((2, self.n))
            for reports in blocks:
                found = ratio(reports.reshape(-1, reports.shape[2])).reshape(reports.shape[:2])
                sums[:, : reports.shape[1]] += [found.sum(axis=0), (found**2).sum(axis=0)]
            mean, square = sums / trials
            means.append(mean)
            errors.append(square - mean**2)
        far = (means[0] - means[1]) ** 2 / np.maximum(errors[0] + errors[1], 1e-12)
        return int(np.argmax(far))

    def scores(
        self,
        release: Release,
        trials: int,
        *,
        place: int | None = None,
        advance: Callable[[int], None],
    ) -> Scores:
        """Logarithms of likelihood ratios: of the counts, or of the report in this place."""
        first, second, others = (likelihood(self.device, value) for value in self.values)

        def score(reports: Reports) -> Array:
            if place is not None:
                return self._ratio(reports[:, place])
            flat = reports.reshape(-1, reports.shape[2])
            base = others(flat)
            sums = [(law(flat) / base).reshape(len(reports), -1).sum(1) for law in (first, second)]
            return np.asarray(np.log(sums[0]) - np.log(sums[1]))

        worlds = self._worlds(release, trials, place is not None, advance)
        return Scores(*(np.concatenate([score(reports) for reports in each]) for each in worlds))

    @cached_property
    def _ratio(self) -> Callable[[Reports], Array]:
        """Logarithm of the likelihood ratio of single reports, where it is finite."""
        first, second = (likelihood(self.device, value) for value in self.values[:2])

        def ratio(reports: Reports) -> Array:
            one, two = (np.log(np.maximum(law(reports), _TINY)) for law in (first, second))
            return np.asarray(one - two)

        return ratio

    def _worlds(
        self, release: Release, trials: int, ordered: bool, advance: Callable[[int], None]
    ) -> Iterator[Iterator[Reports]]:
        """What is released in many trials, block by block, in either world."""

        def blocks(victim: Any) -> Iterator[Reports]:
            step = max(1, _BLOCK // (self.n * self.device.columns))
            for start in range(0, trials, step):
                size = min(step, trials - start)
                values = np.array([self.values[2]] * self.n)[None].repeat(size, axis=0)
                values[:, 0] = victim
                yield release(values, ordered)
                advance(size)

        return (blocks(victim) for victim in self.values[:2])
