"""How many users hold each value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from shuffledp.collection.analysis.estimate import Estimate
from shuffledp.collection.analysis.support import Support, count_support, law
from shuffledp.collection.devices import Device
from shuffledp.collection.devices.categorical import Categorical
from shuffledp.collection.devices.device import Reports
from shuffledp.errors import ParameterError


class Frequencies:
    """Counts supports; parts counted apart are added.

    Parameters
    ----------
    device
        What the users ran.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp import KRR
    >>> from shuffledp.collection.analysis import Frequencies
    >>> from shuffledp.collection.devices import device, simulation
    >>> machine = device(KRR(3, eps0=8.0))
    >>> tally = Frequencies(machine)
    >>> tally.add(machine.encode(np.repeat([0, 1, 2], [500, 300, 200]), simulation(1)))
    >>> np.round(tally.estimate().values, 1).tolist()
    [0.5, 0.3, 0.2]
    """

    def __init__(self, device: Device) -> None:
        self.rate, self.device = device.reporting, device.speaking
        self.law = law(self.device)
        assert isinstance(self.device, Categorical)
        self.k, self.reports = self.device.k, 0
        self.counts = count_support(self.device, np.zeros((0, self.device.columns), np.uint8))

    def add(self, reports: Reports) -> None:
        """Count a block of reports."""
        self.reports += len(reports)
        self.counts += count_support(self.device, reports)

    def merge(self, other: Frequencies) -> None:
        """Add what another counted."""
        self.reports += other.reports
        self.counts += other.counts

    def estimate(self, names: Sequence[Any] | None = None) -> Estimate:
        """Share of these users with each value, and its variance."""
        if self.reports == 0:
            raise ParameterError("reports", "at least one to estimate from", 0)
        names = tuple(range(self.k)) if names is None else tuple(names)
        values = self.law.frequencies(self.counts / self.reports)
        variances = self.law.variances(values, self.reports)
        # those who stayed silent are missing from the sample
        clipped = np.clip(values, 0.0, 1.0)
        variances = variances + (1.0 - self.rate) * clipped * (1.0 - clipped) / self.reports
        return Estimate("frequency", names, values, variances, self.reports)

    def expected_variance(self, n: int) -> float:
        """From n users, averaged over the values."""
        return float(np.mean(self.law.variances(np.full(self.k, 1.0 / self.k), n)))


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


class MixedFrequencies:
    """Reports of k-ary randomized response whose users have budgets of their own, kept secret.

    The analyst knows how many users have which budget (that is public), not which report is
    whose; the values are taken to be independent of the budgets.

    Parameters
    ----------
    devices
        One per budget.
    users
        How many users have each.
    """

    def __init__(self, devices: Sequence[Device], users: Sequence[int]) -> None:
        laws = [each for each in map(law, devices) if isinstance(each, Support)]
        if not laws or len(laws) != len(users) or min(users) < 1:
            raise ParameterError(
                "users", "a count >= 1 for each device of randomized response", list(users)
            )
        total = math.fsum(users)
        self._shares = np.array(users) / total
        self._laws = laws
        self.support = Support(
            float(self._shares @ [law.true for law in laws]),
            float(self._shares @ [law.other for law in laws]),
        )
        self._tally = Frequencies(devices[0])

    def add(self, reports: Reports) -> None:
        """Count a block of reports of any users."""
        self._tally.add(reports)

    def estimate(self, names: Sequence[Any] | None = None) -> Estimate:
        """Share of the users with each value."""
        tally = self._tally
        names = tuple(range(tally.k)) if names is None else tuple(names)
        values = self.support.frequencies(tally.counts / tally.reports)
        parts = [
            share * law.variances(values, tally.reports) * law.gap**2
            for share, law in zip(self._shares, self._laws, strict=True)
        ]
        variances = np.sum(parts, axis=0) / self.support.gap**2
        note = "budgets stay on the devices: reports cannot be weighted"
        return Estimate("frequency", names, values, variances, tally.reports, note=note)
