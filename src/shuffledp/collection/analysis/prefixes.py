"""Heavy hitters: frequent words out of very many, found prefix by prefix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from shuffledp import checks
from shuffledp.collection.analysis.estimate import Array, Estimate
from shuffledp.collection.analysis.support import law
from shuffledp.collection.devices import Device
from shuffledp.collection.devices.device import Reports
from shuffledp.collection.devices.prefixes import PrefixDevice
from shuffledp.collection.shuffling.shuffler import MEMORY
from shuffledp.collection.shuffling.spill import SpillFile
from shuffledp.errors import ParameterError

_BLOCK = 1 << 14
_CELLS = 1 << 20
"""Reports times words at a time."""
_BY_CHANCE = 0.05
"""That any word is called surely there and is not."""


def _close(files: list[SpillFile]) -> None:
    for file in files:
        file.close()


class FrequentWords:
    """Keeps the reports of each prefix length; frequent prefixes are extended, others dropped.

    Which prefixes to count is known only when all shorter ones are counted, so reports are kept.

    Parameters
    ----------
    device
        What the users ran, a device for :class:`OnePrefix`.
    memory
        Bytes above which reports go to temporary files.
    folder
        Where these are.
    """

    def __init__(
        self, device: Device, *, memory: int = MEMORY, folder: str | Path | None = None
    ) -> None:
        device = device.speaking
        if not isinstance(device, PrefixDevice):
            raise ParameterError("device", "one for users who hold a word", device.randomizer)
        self.device = device
        self.reports = 0
        self._memory = checks.whole("memory", memory, 16)
        self._folder = folder
        self._kept: list[list[Reports]] = [[] for _ in range(device.lengths)]
        self._bytes = 0
        self._files: list[SpillFile] = []

    def add(self, reports: Reports) -> None:
        """Keep a block of reports."""
        self.reports += len(reports)
        reports = reports.astype(self.device.dtype, copy=False)
        for place in range(self.device.lengths):
            mine = reports[reports[:, 0] == place + 1]
            # beyond the digits of the prefix the hash function does not matter
            used = 1 + (place + 1) * self.device.step
            self._keep(place, np.concatenate([mine[:, 1:used], mine[:, -1:]], axis=1))

    def _keep(self, place: int, block: Reports) -> None:
        self._kept[place].append(block)
        self._bytes += block.nbytes
        if self._bytes > self._memory:
            if not self._files:
                self._files = [SpillFile(self._folder) for _ in self._kept]
                finalize(self, _close, self._files)
            for file, blocks in zip(self._files, self._kept, strict=True):
                for each in blocks:
                    file.append(each)
            self._kept = [[] for _ in self._kept]
            self._bytes = 0

    def _blocks(self, place: int) -> Iterator[Reports]:
        """What was kept of one length."""
        if self._files:
            file, columns = self._files[place], (place + 1) * self.device.step + 1
            for piece in file.pieces(_BLOCK * columns * self.device.dtype.itemsize):
                yield piece.view(self.device.dtype).reshape(-1, columns)
        yield from self._kept[place]

    def merge(self, other: FrequentWords) -> None:
        """Add what another kept."""
        self.reports += other.reports
        for place in range(self.device.lengths):
            for block in other._blocks(place):
                self._keep(place, block)

    def __getstate__(self) -> dict[str, Any]:
        """Files stay where they are; what is in them travels."""
        kept = [list(self._blocks(place)) for place in range(self.device.lengths)]
        size = sum(block.nbytes for blocks in kept for block in blocks)
        return self.__dict__ | {"_kept": kept, "_bytes": size, "_files": []}

    def estimate(self, most: int = 32) -> Estimate:
        """At most this many words, the most frequent first, with their frequencies.

        At each length the ``most`` prefixes with the largest estimates go on, if they are more than
        two standard deviations above nothing. The frequency of a word named in advance would be
        estimated without bias; those found are chosen by their estimates, which are therefore, if
        anything, too large.
        """
        most = checks.whole("most", most, 1)
        device = self.device
        known = law(device.inner)
        found: NDArray[np.int64] = np.zeros(1, np.int64)
        values: Array = np.zeros(0)
        for place in range(device.lengths):
            n = sum(map(len, self._blocks(place)))
            if n == 0:  # nothing is known of this length, so nothing is frequent
                found, values = found[:0], values[:0]
                break
            found = ((found[:, None] << device.step) | np.arange(1 << device.step)).ravel()
            values = known.frequencies(self._supports(place, found) / n)
            noise = np.sqrt(known.variances(np.zeros(1), n))[0]
            best = np.argsort(-values)[:most]
            best = best[values[best] > 2.0 * noise]
            found, values = found[best], values[best]
        variances = known.variances(values, max(n, 1))
        variances += values * (1.0 - values) / max(n, 1)
        note = "no word is frequent enough to be told from noise"
        if found.size:
            note = "found by these estimates, which are therefore, if anything, too large"
        names = tuple(found.tolist())
        return Estimate("frequency", names, values, variances, self.reports, note=note)

    def expected_variance(self, n: int) -> float:
        """Of the frequency of a rare word, from n users."""
        share = max(n // self.device.lengths, 1)
        return float(law(self.device.inner).variances(np.zeros(1), share)[0])

    def _supports(self, place: int, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many reports of this length hash each word to what they say."""
        g, bits = self.device.inner.g, (place + 1) * self.device.step
        digits = ((words[None, :] >> np.arange(bits)[:, None]) & 1).astype(np.float64)
        out = np.zeros(words.size, np.int64)
        step = max(1, _CELLS // max(1, words.size))
        for kept in self._blocks(place):
            for start in range(0, len(kept), step):
                block = kept[start : start + step]
                hashed = np.mod(block[:, :-1].astype(np.float64) @ digits, g)  # whole: exact
                out += (hashed == block[:, -1:]).sum(axis=0)
        return out


def surely_there(device: Device, found: Estimate, most: int = 32) -> NDArray[np.bool_]:
    """Which of the words found no chance explains: of all words looked at, all absent ones stay
    below what these have, 19 times out of 20.

    A report supports an absent word with a chance q of its own, so Chernoff's bound for binomial
    tails holds for each, and they share the twentieth.
    """
    device = device.speaking
    assert isinstance(device, PrefixDevice)
    none, all_ = law(device.inner).frequencies(np.array([0.0, 1.0]))
    q = -none / (all_ - none)
    seen = np.clip(found.values / (all_ - none) + q, q, 1.0)
    users = found.reports / device.lengths
    with np.errstate(divide="ignore", invalid="ignore"):
        misses = np.where(seen < 1.0, (1.0 - seen) * np.log((1.0 - seen) / (1.0 - q)), 0.0)
        deviance = users * (seen * np.log(seen / q) + misses)
    looked_at = most << device.step
    return np.asarray(deviance >= np.log(looked_at / _BY_CHANCE))
