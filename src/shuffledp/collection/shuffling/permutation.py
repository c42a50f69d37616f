"""Permutations, every one as likely as any other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.devices import Stream


def permutation(n: int, stream: Stream) -> NDArray[np.int64]:
    """0 .. n - 1 in uniformly random order.

    Sorted by random keys. Given that all keys differ, each order is exactly as likely; if two
    agree, all are drawn again.

    Parameters
    ----------
    n
        How many there are.
    stream
        Where randomness comes from.

    Examples
    --------
    >>> from shuffledp.collection.devices import simulation
    >>> sorted(permutation(4, simulation(1)).tolist())
    [0, 1, 2, 3]
    """
    while True:
        keys = stream.words(n)
        order = np.argsort(keys)
        keys = keys[order]
        if not (keys[1:] == keys[:-1]).any():
            return order
