"""Shuffling batches of any size in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np

from shuffledp import checks
from shuffledp.errors import ParameterError
from shuffledp.sampling import Stream
from shuffledp.sampling.device import Reports
from shuffledp.shuffling.permutation import permutation
from shuffledp.shuffling.spill import room, spill_files

_PILE_BITS = 6
MEMORY = 256 << 20


def shuffle(reports: Reports, stream: Stream, *, minimum: int) -> Reports:
    """The reports in uniformly random order; refuses a batch below the minimum."""
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
        self._piles: list[IO[bytes]] = []

    def add(self, reports: Reports) -> None:
        """Take a block of reports in."""
        if not len(reports):
            return
        self.size += len(reports)
        self._kept.append(reports)
        if sum(block.nbytes for block in self._kept) > self._memory // 4:
            self._spill()

    def _spill(self) -> None:
        block = np.concatenate(self._kept)
        self._kept = []
        if not self._piles:
            self._piles = spill_files(1 << _PILE_BITS, self._folder)
            self._columns, self._dtype = block.shape[1], block.dtype
        pile = self._stream.bits(len(block), _PILE_BITS)
        order = np.argsort(pile, kind="stable")
        ends = np.cumsum(np.bincount(pile, minlength=len(self._piles)))
        with room(self._folder):
            for file, part in zip(self._piles, np.split(block[order], ends[:-1]), strict=True):
                file.write(part.tobytes())
                file.flush()

    def release(self) -> Iterator[Reports]:
        """All reports taken in so far, in blocks, shuffled. Ends the batch."""
        _enough(self.size, self.minimum)
        if not self._piles:
            block = np.concatenate(self._kept)
            self._kept = []
            yield block[permutation(len(block), self._stream)]
            return
        if self._kept:
            self._spill()
        while self._piles:
            with self._piles.pop() as file:
                yield from self._pile(file)

    def _pile(self, file: IO[bytes]) -> Iterator[Reports]:
        size = file.tell()
        file.seek(0)
        record = self._columns * self._dtype.itemsize
        if size <= self._memory // 4:
            block = np.frombuffer(file.read(), self._dtype).reshape(-1, self._columns)
            if len(block):
                yield block[permutation(len(block), self._stream)]
            return
        again = Shuffler(self._stream, minimum=1, memory=self._memory, folder=self._folder)
        step = max(1, self._memory // 16 // record) * record
        while part := file.read(step):
            again.add(np.frombuffer(part, self._dtype).reshape(-1, self._columns))
        yield from again.release()

    def close(self) -> None:
        """Throw everything away."""
        self._kept = []
        while self._piles:
            with suppress(OSError):  # what it did not take, it need not keep
                self._piles.pop().close()
