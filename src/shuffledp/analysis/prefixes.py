"""Heavy hitters: frequent words out of very many, found prefix by prefix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shuffledp import checks
from shuffledp.analysis.estimate import Array, Estimate
from shuffledp.analysis.frequencies import frequency_variance
from shuffledp.analysis.support import support
from shuffledp.sampling.device import Reports
from shuffledp.sampling.prefixes import PrefixDevice

_BLOCK = 1 << 14


class HeavyHitters:
    """Keeps the reports of each prefix length; frequent prefixes are extended, others dropped."""

    def __init__(self, device: PrefixDevice) -> None:
        self.device = device
        self._parts: list[list[Reports]] = [[] for _ in range(device.lengths)]
        self.reports = 0

    def add(self, reports: Reports) -> None:
        """Keep a block of reports."""
        self.reports += len(reports)
        for number, part in enumerate(self._parts, start=1):
            part.append(reports[reports[:, 0] == number, 1:])

    def merge(self, other: HeavyHitters) -> None:
        """Add what another kept."""
        self.reports += other.reports
        for mine, theirs in zip(self._parts, other._parts, strict=True):
            mine.extend(theirs)

    def estimate(self, most: int = 32) -> Estimate:
        """At most this many words, the most frequent first, with unbiased frequencies.

        At each length the ``most`` prefixes with the largest estimates go on, if they are more
        than two standard deviations above nothing. Words that survive are, if anything, those
        whose errors were upwards.
        """
        most = checks.whole("most", most, 1)
        device = self.device
        law = support(device.inner)
        found: NDArray[np.int64] = np.zeros(1, np.int64)
        values: Array = np.zeros(0)
        for part in self._parts:
            reports = np.concatenate(part) if part else np.empty((0, device.columns - 1))
            n = len(reports)
            if n == 0:  # nothing is known of this length, so nothing is frequent
                found, values = found[:0], values[:0]
                break
            found = ((found[:, None] << device.step) | np.arange(1 << device.step)).ravel()
            values = (self._supports(reports, found) / n - law.other) / law.gap
            noise = np.sqrt(frequency_variance(law, np.zeros(1), n))[0]
            best = np.argsort(-values)[:most]
            best = best[values[best] > 2.0 * noise]
            found, values = found[best], values[best]
        variances = frequency_variance(law, values, max(n, 1))
        variances += values * (1.0 - values) / max(n, 1)
        note = "" if found.size else "no word is frequent enough to be told from noise"
        names = tuple(found.tolist())
        return Estimate("frequency", names, values, variances, self.reports, note=note)

    def _supports(self, reports: Reports, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many reports hash each word to what they say."""
        g = self.device.inner.g
        digits = ((words[None, :] >> np.arange(self.device.bits)[:, None]) & 1).astype(np.float64)
        out = np.zeros(words.size, np.int64)
        for start in range(0, len(reports), _BLOCK):
            block = reports[start : start + _BLOCK]
            hashed = np.mod(block[:, :-1].astype(np.float64) @ digits, g)  # whole numbers: exact
            out += (hashed == block[:, -1:]).sum(axis=0)
        return out
