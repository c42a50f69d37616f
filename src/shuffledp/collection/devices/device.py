"""What every device does: a user's value goes in, a report comes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.randomizers import Randomizer
from shuffledp.accounting.randomizers.catalogue import BY_CLASS
from shuffledp.collection.devices.stream import Stream
from shuffledp.errors import NOT_SHOWN, ParameterError

Reports = NDArray[Any]
"""One row of integers per report."""

_BLOCK = 1 << 20
"""Random numbers at a time: what is worked on stays in the cache."""


class Device(ABC):
    """Runs a randomizer exactly, on many users' values at once, each on its own randomness.

    ``randomizer`` describes what is really run, after rounding all probabilities towards more
    noise: account for that one. Its budget never exceeds the one asked for.

    Examples
    --------
    >>> from shuffledp import KRR
    >>> from shuffledp.collection.devices import device, simulation
    >>> device(KRR(4, eps0=3.0)).encode([0, 1, 2], simulation(seed=1)).shape
    (3, 1)
    >>> device(KRR(2, eps0=3.0)).encode(["no"], simulation(seed=1), categories=["yes", "no"]).shape
    (1, 1)
    """

    randomizer: Randomizer
    columns: int
    """Integers per report."""
    dtype: np.dtype[Any]
    width = 4
    """Random numbers per report, about."""
    reporting = 1.0
    """Probability that a user reports."""

    @property
    def speaking(self) -> Device:
        """What users run who report."""
        return self

    @abstractmethod
    def _inputs(self, values: ArrayLike) -> NDArray[Any]:
        """The values as the device holds them; raises for those out of its domain."""

    @abstractmethod
    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        """Reports of a block of inputs."""

    def encode(
        self, values: ArrayLike, stream: Stream, categories: Sequence[str] | None = None
    ) -> Reports:
        """One report per value, fewer where users stay silent.

        Parameters
        ----------
        values
            What the users hold: numbers, or texts out of ``categories``.
        stream
            Where randomness comes from: ``secure()``, or ``simulation(seed)`` in experiments.
        categories
            The declared values, in the order of their numbers.

        Returns
        -------
        numpy.ndarray
            Integers, one row per report.
        """
        inputs = self._inputs(values if categories is None else named(values, categories))
        step = max(1, _BLOCK // self.width)
        out = np.empty((len(inputs), self.columns), self.dtype)
        filled = 0
        for start in range(0, len(inputs), step):
            block = self._encode(inputs[start : start + step], stream).reshape(-1, self.columns)
            out[filled : filled + len(block)] = block
            filled += len(block)
        return out[:filled]


def named(values: Any, categories: Sequence[str]) -> NDArray[np.int64]:
    """Texts as their places in a list of different ones."""
    places = {name: place for place, name in enumerate(categories)}
    if len(places) < len(categories):
        raise ParameterError("categories", "each given once", list(categories))
    found = np.fromiter((places.get(value, -1) for value in values), np.int64)
    if (bad := np.flatnonzero(found < 0)).size:
        raise ParameterError("values", f"of the categories only (row {bad[0] + 1})", NOT_SHOWN)
    return found


def categories(values: ArrayLike, k: int) -> NDArray[np.int64]:
    """Values as integers 0 .. k - 1."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ParameterError("values", "a list of integers", _shown(array))
    bad = np.flatnonzero((array < 0) | (array >= k))
    if bad.size:
        raise ParameterError(
            "values", f"integers from 0 to {k - 1} (row {bad[0] + 1})", int(array[bad[0]])
        )
    return array.astype(np.int64, copy=False)


def shares(values: ArrayLike) -> NDArray[np.float64]:
    """Values as shares of their declared range, clamped to [0, 1]."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise ParameterError("values", "a list of numbers", _shown(array))
    bad = np.flatnonzero(np.isnan(array))
    if bad.size:
        raise ParameterError("values", f"numbers (row {bad[0] + 1})", "not a number")
    return np.clip(array.astype(np.float64), 0.0, 1.0)


def _shown(array: NDArray[Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"


Builder = Callable[..., Device]
_BUILDERS: dict[type[Randomizer], Builder] = {}
B = TypeVar("B", bound=Builder)


def runs(*kinds: type[Randomizer]) -> Callable[[B], B]:
    """Register a device for these randomizers."""

    def register(builder: B) -> B:
        _BUILDERS.update(dict.fromkeys(kinds, builder))
        return builder

    return register


def device(randomizer: Randomizer) -> Device:
    """The device that runs this randomizer.

    Parameters
    ----------
    randomizer
        Any of the catalogue that a device can run.

    Raises
    ------
    ParameterError
        If none can; it says why.

    Examples
    --------
    >>> from shuffledp import KRR
    >>> from shuffledp.collection.devices import device
    >>> device(KRR(4, eps0=3.0)).randomizer.k
    4
    """
    builder = _BUILDERS.get(type(randomizer))
    if builder is None:
        row = BY_CLASS.get(type(randomizer))
        why = f" ({row.no_device})" if row and row.no_device else ""
        raise ParameterError("randomizer", f"one a device can run{why}", str(randomizer))
    return builder(randomizer)


def actual(randomizer: Randomizer) -> Randomizer:
    """What a device asked for this randomizer really runs; account for that.

    Parameters
    ----------
    randomizer
        What is asked for.

    Returns
    -------
    Randomizer
        The same with probabilities rounded towards more noise.

    Examples
    --------
    >>> from shuffledp import KRR
    >>> from shuffledp.collection.devices import actual
    >>> actual(KRR(4, eps0=3.0)).eps0 <= 3.0
    True
    """
    return device(randomizer).randomizer
