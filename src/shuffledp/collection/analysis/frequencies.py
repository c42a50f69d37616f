"""How many users hold each value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from shuffledp.collection.analysis.estimate import Array, Estimate
from shuffledp.collection.analysis.support import Counts, Support, count_support, support
from shuffledp.collection.devices import Device
from shuffledp.collection.devices.channel import ChannelDevice
from shuffledp.collection.devices.checkin import CheckInDevice
from shuffledp.collection.devices.device import Reports
from shuffledp.errors import ParameterError


class Frequencies:
    """Counts supports; parts counted apart are added."""

    def __init__(self, device: Device) -> None:
        self.rate = 1.0
        if isinstance(device, CheckInDevice):
            self.rate, device = device.randomizer.rate, device.inner
        self.device = device
        self.reports = 0
        self._matrix = device.randomizer.matrix if isinstance(device, ChannelDevice) else None
        if self._matrix is None:
            self.support = support(device)
            self.k = int(device.k)  # type: ignore[attr-defined]
            self.counts: Counts = np.zeros(self.k, np.int64)
        else:
            self.k, outcomes = self._matrix.shape
            self.counts = np.zeros(outcomes, np.int64)

    def add(self, reports: Reports) -> None:
        """Count a block of reports."""
        self.reports += len(reports)
        if self._matrix is None:
            self.counts += count_support(self.device, reports)
        else:
            self.counts += np.bincount(reports[:, 0], minlength=self.counts.size)

    def merge(self, other: Frequencies) -> None:
        """Add what another counted."""
        self.reports += other.reports
        self.counts += other.counts

    def estimate(self, names: Sequence[Any] | None = None) -> Estimate:
        """Share of the users with each value, and its variance for the users at hand."""
        if self.reports == 0:
            raise ParameterError("reports", "at least one to estimate from", 0)
        names = tuple(range(self.k)) if names is None else tuple(names)
        shares = self.counts / self.reports
        if self._matrix is None:
            values = (shares - self.support.other) / self.support.gap
            variances = frequency_variance(self.support, values, self.reports)
        else:
            values, variances = _inverted(self._matrix, shares, self.reports)
        # those who stayed silent are missing from the sample
        clipped = np.clip(values, 0.0, 1.0)
        variances = variances + (1.0 - self.rate) * clipped * (1.0 - clipped) / self.reports
        return Estimate("frequency", names, values, variances, self.reports)


def frequency_variance(law: Support, frequencies: Array, n: int) -> Array:
    """Variance of the estimated frequencies of n users who hold the values with these shares."""
    f = np.clip(frequencies, 0.0, 1.0)
    noise = f * law.true * (1.0 - law.true) + (1.0 - f) * law.other * (1.0 - law.other)
    return np.asarray(noise / (n * law.gap**2))


def set_variance(law: Support, size: int, share: float, n: int) -> float:
    """Variance of the estimated total share of a set of values of this size."""
    if law.true_pair is None or law.other_pair is None:
        raise ParameterError("device", "one whose pairs of values are all alike", "Hadamard")
    # a user inside the set: its own value, then size - 1 others; outside: size others
    own, off = law.true * (1.0 - law.true), law.other * (1.0 - law.other)
    with_own = law.true_pair - law.true * law.other
    apart = law.other_pair - law.other**2
    inside = own + (size - 1) * off + 2 * (size - 1) * with_own + (size - 1) * (size - 2) * apart
    outside = size * off + size * (size - 1) * apart
    share = min(max(share, 0.0), 1.0)
    return max(share * inside + (1.0 - share) * outside, 0.0) / (n * law.gap**2)


def mean_variance(law: Support, k: int, n: int) -> float:
    """Variance averaged over the k values: the same for all data, since the shares sum to 1."""
    return float(np.mean(frequency_variance(law, np.full(k, 1.0 / k), n)))


def _inverted(matrix: Array, shares: Array, n: int) -> tuple[Array, Array]:
    """Any channel, by least squares."""
    back = np.linalg.pinv(matrix.T)
    if np.linalg.matrix_rank(matrix) < len(matrix):
        raise ParameterError("channel", "one whose rows are linearly independent", "dependent rows")
    values = back @ shares
    f = np.clip(values, 0.0, 1.0)
    f = f / f.sum() if f.sum() > 0.0 else np.full(f.size, 1.0 / f.size)
    # each user's outcome is one of a law: second moment less squared mean, averaged over users
    second = (back**2) @ (f @ matrix)
    squared = (f[None, :] * (back @ matrix.T) ** 2).sum(axis=1)
    return np.asarray(values), np.asarray(np.maximum(second - squared, 0.0) / n)


class MixedFrequencies:
    """Reports of k-ary randomized response whose users have budgets of their own, kept secret.

    The analyst knows how many users have which budget (that is public), not which report is
    whose; the values are taken to be independent of the budgets.
    """

    def __init__(self, devices: Sequence[Device], users: Sequence[int]) -> None:
        laws = [support(device) for device in devices]
        if not laws or len(laws) != len(users) or min(users) < 1:
            raise ParameterError("users", "a count >= 1 for each device", list(users))
        total = math.fsum(users)
        self._shares = np.array(users) / total
        self._laws = laws
        self.support = Support(
            float(self._shares @ [law.true for law in laws]),
            float(self._shares @ [law.other for law in laws]),
        )
        self._tally = Frequencies(devices[0])

    def add(self, reports: Reports) -> None:
        """Count a block of reports, of whomever."""
        self._tally.add(reports)

    def estimate(self, names: Sequence[Any] | None = None) -> Estimate:
        """Share of the users with each value."""
        tally = self._tally
        names = tuple(range(tally.k)) if names is None else tuple(names)
        values = (tally.counts / tally.reports - self.support.other) / self.support.gap
        parts = [
            share * frequency_variance(law, values, tally.reports) * law.gap**2
            for share, law in zip(self._shares, self._laws, strict=True)
        ]
        variances = np.sum(parts, axis=0) / self.support.gap**2
        note = "budgets stay on the devices: reports cannot be weighted"
        return Estimate("frequency", names, values, variances, tally.reports, note=note)
