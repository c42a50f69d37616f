"""Shuffling batches of any size in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shuffledp import checks
from shuffledp.collection.devices import Stream
from shuffledp.collection.devices.device import Reports
from shuffledp.collection.shuffling.permutation import permutation
from shuffledp.collection.shuffling.spill import SpillFile
from shuffledp.errors import ParameterError

_PILE_BITS = 6
_KEYS = 32
"""Bytes per report to find it a place: a key, its rank, a copy of either."""
_BLOCK = 1 << 18
"""Reports released at a time."""
MEMORY = 256 << 20


def shuffle(reports: Reports, stream: Stream, *, minimum: int) -> Reports:
    """The reports in uniformly random order; refuses a batch below the minimum.

    Parameters
    ----------
    reports
        One row per report.
    stream
        Where randomness comes from.
    minimum
        Fewest reports ever released together.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp.collection.devices import simulation
    >>> shuffle(np.arange(5)[:, None], simulation(1), minimum=5).shape
    (5, 1)
    """
    _enough(len(reports), minimum)
    return np.asarray(reports[permutation(len(reports), stream)])


def _enough(size: int, minimum: int) -> None:
    if size < checks.whole("minimum", minimum, 1):
        raise ParameterError(
            "reports", f"at least the minimum batch of {minimum} to be released", size
        )


class Shuffler:
    """Takes reports block by block and gives them back shuffled, larger than memory if need be.

    Each report goes to one of 64 piles drawn at random; the piles are shuffled one by one, in
    memory or in the same way again. Every order of all reports is exactly as likely.

    Parameters
    ----------
    stream
        Where randomness comes from.
    minimum
        Fewest reports ever released together.
    memory
        Bytes for the reports at hand, their copies and the keys they are sorted by, except that one
        report is always held, and that a block belongs to whoever adds it.
    folder
        Where piles are written that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp.collection.devices import simulation
    >>> shuffler = Shuffler(simulation(1), minimum=3)
    >>> shuffler.add(np.array([[1], [2], [3]]))
    >>> sorted(np.concatenate(list(shuffler.release())).ravel().tolist())
    [1, 2, 3]
    """

    def __init__(
        self,
        stream: Stream,
        *,
        minimum: int,
        memory: int = MEMORY,
        folder: str | Path | None = None,
    ) -> None:
        self._stream, self._folder = stream, folder
        self._memory = checks.whole("memory", memory, 16)
        self.minimum = checks.whole("minimum", minimum, 1)
        self.size = 0
        self._kept: list[Reports] = []
        self._piles: list[SpillFile] = []

    def add(self, reports: Reports) -> None:
        """Take a block of reports in."""
        if not len(reports):
            return
        self.size += len(reports)
        self._columns, self._dtype = reports.shape[1], reports.dtype
        self._kept.append(reports)
        if self._piles or sum(map(len, self._kept)) > self._rows:
            self._spill()

    @property
    def _record(self) -> int:
        """Bytes of a report."""
        return int(self._columns * self._dtype.itemsize)

    @property
    def _rows(self) -> int:
        """Reports held at a time: each twice, with three words to sort it by."""
        return max(1, self._memory // (2 * self._record + _KEYS))

    def _spill(self) -> None:
        """Everything at hand to the piles, a little at a time."""
        if not self._piles:
            self._piles = [SpillFile(self._folder) for _ in range(1 << _PILE_BITS)]
        step = max(1, self._rows // 4)
        while self._kept:
            block = self._kept.pop()
            for start in range(0, len(block), step):
                self._to_piles(block[start : start + step])

    def _to_piles(self, reports: Reports) -> None:
        drawn = self._stream.bits(len(reports), _PILE_BITS)
        reports = reports[np.argsort(drawn, kind="stable")]
        ends = np.cumsum(np.bincount(drawn, minlength=len(self._piles)))
        for file, part in zip(self._piles, np.split(reports, ends[:-1]), strict=True):
            if len(part):
                file.append(part)

    def release(self) -> Iterator[Reports]:
        """All reports taken in so far, in blocks, shuffled. Ends the batch."""
        _enough(self.size, self.minimum)
        if not self._piles:
            kept, self._kept = self._kept, []
            block = kept[0] if len(kept) == 1 else np.concatenate(kept)
            del kept
            yield from self._mixed(block)
            return
        while self._piles:
            file = self._piles.pop()
            try:
                yield from self._pile(file)
            finally:
                file.close()

    def _mixed(self, reports: Reports) -> Iterator[Reports]:
        reports = reports[permutation(len(reports), self._stream)]
        for start in range(0, len(reports), _BLOCK):
            yield reports[start : start + _BLOCK]

    def _pile(self, file: SpillFile) -> Iterator[Reports]:
        if file.size <= self._rows * self._record:
            for piece in file.pieces(file.size):
                yield from self._mixed(self._opened(piece))
            return
        again = Shuffler(self._stream, minimum=1, memory=self._memory, folder=self._folder)
        for piece in file.pieces(max(1, self._rows // 4) * self._record):
            again.add(self._opened(piece))
        file.close()
        yield from again.release()

    def _opened(self, content: NDArray[np.uint8]) -> Reports:
        return content.view(self._dtype).reshape(-1, self._columns)

    def close(self) -> None:
        """Throw everything away."""
        self._kept = []
        while self._piles:
            self._piles.pop().close()
