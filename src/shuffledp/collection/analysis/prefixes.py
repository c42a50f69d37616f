"""Heavy hitters: frequent words out of very many, found prefix by prefix."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from shuffledp import checks
from shuffledp.collection.analysis.estimate import Array, Estimate
from shuffledp.collection.analysis.hashed import sums
from shuffledp.collection.analysis.proportions import at_least
from shuffledp.collection.analysis.support import Support, law
from shuffledp.collection.devices import Device
from shuffledp.collection.devices.device import Reports
from shuffledp.collection.devices.prefixes import PrefixDevice
from shuffledp.collection.shuffling.shuffler import MEMORY
from shuffledp.collection.shuffling.spill import SpillFile
from shuffledp.errors import ParameterError
from shuffledp.numerics.search import bisect, bisect_whole

Words = NDArray[np.int64]
_BLOCK = 1 << 14
_FAILURE = 0.05
"""Chance that a word of nobody is listed, and that a frequent one is missed."""
_ON_THE_WAY = 1.0
"""Prefixes of nobody that go on at each length but the last, on average at most."""


def _close(files: list[SpillFile]) -> None:
    for file in files:
        file.close()


class FrequentWords:
    """Keeps the reports of each prefix length; frequent prefixes are extended, others dropped.

    Which prefixes to count is known only when all shorter ones are counted, so reports are kept.
    Words found are counted by users who had no part in finding them.

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
        self._asked, device = device.reporting, device.speaking
        if not isinstance(device, PrefixDevice):
            raise ParameterError("device", "one for users who hold a word", device.randomizer)
        self.device = device
        self.reports = 0
        self._memory = checks.whole("memory", memory, 16)
        self._folder = folder
        self._kept: list[list[Reports]] = [[] for _ in range(device.lengths + 1)]
        self._bytes = 0
        self._files: list[SpillFile] = []

    @property
    def law(self) -> Support:
        """How often a report speaks for a prefix."""
        known = law(self.device.inner)
        assert isinstance(known, Support)
        return known

    def _digits(self, place: int) -> int:
        """Bits of the prefixes of this place; of the last one, for counting, all."""
        return min((place + 1) * self.device.step, self.device.bits)

    def add(self, reports: Reports) -> None:
        """Keep a block of reports."""
        self.reports += len(reports)
        reports = reports.astype(self.device.dtype, copy=False)
        for place in range(len(self._kept)):
            mine = reports[reports[:, 0] == place + 1]
            # beyond the digits of the prefix the hash function does not matter
            used = 1 + self._digits(place)
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
            file, columns = self._files[place], self._digits(place) + 1
            for piece in file.pieces(_BLOCK * columns * self.device.dtype.itemsize):
                yield piece.view(self.device.dtype).reshape(-1, columns)
        yield from self._kept[place]

    def merge(self, other: FrequentWords) -> None:
        """Add what another kept."""
        self.reports += other.reports
        for place in range(len(self._kept)):
            for block in other._blocks(place):
                self._keep(place, block)

    def __getstate__(self) -> dict[str, Any]:
        """Files stay where they are; what is in them travels."""
        kept = [list(self._blocks(place)) for place in range(len(self._kept))]
        size = sum(block.nbytes for blocks in kept for block in blocks)
        return self.__dict__ | {"_kept": kept, "_bytes": size, "_files": []}

    def estimate(self, most: int = 32) -> Estimate:
        """At most this many words, the most frequent first, with their frequencies.

        At each length the ``most`` prefixes with the largest counts go on, if nobody's prefix would
        be counted so often. Others count the words found, so their frequencies are without bias.
        """
        most = checks.whole("most", most, 1)
        users = [sum(map(len, self._blocks(place))) for place in range(len(self._kept))]
        found = self._found(most, users) if min(users) else np.zeros(0, np.int64)
        n, known = max(users[-1], 1), self.law
        values = known.frequencies(self._held(found) / n)
        # those who count are a sample of all
        clipped = np.clip(values, 0.0, 1.0)
        sampled = (1.0 - self._asked * n / max(self.reports, 1)) * clipped * (1.0 - clipped) / n
        variances = known.variances(values, n) + sampled
        order = np.argsort(-values, kind="stable")
        return Estimate(
            "frequency",
            tuple(found[order].tolist()),
            values[order],
            variances[order],
            self.reports,
            note=self._note(most, users, found.size),
        )

    def _found(self, most: int, users: list[int]) -> Words:
        """Prefixes are extended, length by length."""
        found: Words = np.zeros(1, np.int64)
        for place in range(self.device.lengths):
            counts = self._supports(place, found)
            enough = self._enough(users[place], place, found.size)
            found = ((found[:, None] << self.device.step) | np.arange(counts.shape[1])).ravel()
            best = np.argsort(-counts.ravel(), kind="stable")[:most]
            found = found[best[counts.ravel()[best] >= enough]]
        return found

    def _enough(self, n: int, place: int, prefixes: int) -> int:
        """Reports for a prefix to go on: hardly ever so many speak for one of nobody."""
        last = place == self.device.lengths - 1
        candidates = max(prefixes, 1) << self.device.step
        chance = (_FAILURE if last else _ON_THE_WAY) / candidates
        q = self.law.other
        rare = bisect_whole(lambda count: at_least(count, n, q) <= chance, n + 1, int(n * q))
        return rare.good

    def found_from(self, most: int, users: list[int]) -> float:
        """The share of users whose word is found, but for a chance of 5 %, unless ``most`` others
        are as frequent. ``users``: of each length."""
        lengths = range(self.device.lengths)
        enough = [self._enough(users[i], i, most if i else 1) for i in lengths]
        known = self.law

        def missed(share: float) -> float:
            p = known.other + share * known.gap
            return math.fsum(1.0 - at_least(enough[i], users[i], p) for i in lengths)

        if not min(users) or missed(1.0) > _FAILURE:
            return 1.0
        return bisect(lambda share: missed(share) <= _FAILURE, 1.0, 0.0, share=1e-3).good

    def _note(self, most: int, users: list[int], found: int) -> str:
        said = [] if found else ["no word is frequent enough to be told from noise"]
        share = self.found_from(most, users)
        if share < 1.0:
            said.append(
                f"a word of {100.0 * share:.2g} % of the users is found with 95 % probability,"
                f" unless {most} others are as frequent; with the same probability every word"
                " listed is somebody's"
            )
        return "; ".join(said)

    def split(self, n: int) -> list[int]:
        """About how many of n users tell of each length, and how many count."""
        lengths = self.device.lengths
        return [n // (2 * lengths)] * lengths + [n - n // 2]

    def expected_variance(self, n: int) -> float:
        """Of the frequency of a rare word, from n users."""
        return float(self.law.variances(np.zeros(1), max(self.split(n)[-1], 1))[0])

    def _supports(self, place: int, prefixes: Words) -> NDArray[np.int64]:
        """How many reports of this length hash each prefix, extended by each step, to what they
        say."""
        g, step = self.device.g, self.device.step
        out = np.zeros((prefixes.size, 1 << step), np.int64)
        for block in self._cut(place):
            steps = np.ascontiguousarray(sums(block[:, :step], g).T)
            missing = _hashes(block[:, step:-1], prefixes, g)
            wanted = (block[:, -1].astype(np.int64) - missing) % g
            for counts, each in zip(out, wanted.astype(steps.dtype), strict=True):
                counts += [np.count_nonzero(row == each) for row in steps]
        return out

    def _held(self, words: Words) -> NDArray[np.int64]:
        """How many of those who count hash each word to what they say."""
        out = np.zeros(words.size, np.int64)
        for block in self._cut(self.device.lengths):
            hashed = _hashes(block[:, :-1], words, self.device.g)
            out += np.count_nonzero(hashed == block[:, -1].astype(np.int64), axis=1)
        return out

    def _cut(self, place: int) -> Iterator[Reports]:
        for kept in self._blocks(place):
            yield from (kept[start : start + _BLOCK] for start in range(0, len(kept), _BLOCK))


def _hashes(coefficients: NDArray[Any], words: Words, g: int) -> NDArray[np.int64]:
    """Of each word, a row, by each report's hash function."""
    bits = coefficients.shape[1]
    digits = ((words[:, None] >> np.arange(bits)) & 1).astype(np.float64)
    exact: Array = digits @ coefficients.astype(np.float64).T  # whole numbers below 2^53
    return exact.astype(np.int64) % g
