"""Bytes of eight independent coins, exactly, from little more than two random bytes each.

A byte has probability p^ones (1 - p)^zeros. Sixteen random bits choose one of 65536 cells, of which
every byte owns as many as fit into its probability. What is left of all of them fills fewer than
256 cells; whoever lands there draws further bits until the byte is sure.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.devices.dyadic import BITS, ONE
from shuffledp.collection.devices.stream import Stream

_CELL = 8 * BITS - 16
"""Probabilities of bytes are multiples of 2^-384: a cell holds 2^368 of those units."""
_NEXT = 56
_LAST = _CELL - _NEXT


class Coins:
    """Coins that show 1 with probability numerator / 2^48."""

    def __init__(self, numerator: int) -> None:
        units = [
            numerator ** byte.bit_count() * (ONE - numerator) ** (8 - byte.bit_count())
            for byte in range(256)
        ]
        owned = [unit >> _CELL for unit in units]
        self.sure = sum(owned)
        self.cells = np.zeros(1 << 16, np.uint8)
        self.cells[: self.sure] = np.repeat(np.arange(256, dtype=np.uint8), owned)
        self.ends = list(accumulate(unit & ((1 << _CELL) - 1) for unit in units))
        """Where each byte's share of the cells beyond ``sure`` ends, in units."""
        self._near = np.array([end >> _LAST for end in self.ends[:-1]], np.uint64)

    def draw(self, size: int, stream: Stream) -> NDArray[np.uint8]:
        """Independent bytes."""
        cell = stream.words(size, np.uint16)
        out = np.take(self.cells, cell, mode="clip")
        beyond = np.flatnonzero(cell >= self.sure)
        if beyond.size:
            out[beyond] = self._shared(cell[beyond] - self.sure, stream)
        return out

    def _shared(self, cell: NDArray[np.uint16], stream: Stream) -> NDArray[np.int64]:
        """Bytes of draws in the cells that are shared."""
        place = (cell.astype(np.uint64) << np.uint64(_NEXT)) | stream.bits(cell.size, _NEXT)
        out: NDArray[np.int64] = np.searchsorted(self._near, place, side="right")
        for i in np.flatnonzero(np.searchsorted(self._near, place) != out):  # an end within
            rest = int.from_bytes(stream.words(_LAST // 8, np.uint8).tobytes())
            out[i] = bisect_right(self.ends, int(place[i]) << _LAST | rest)
        return out
