"""What can be asked of users, which randomizers answer it, and how well."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from shuffledp import checks
from shuffledp.accounting.randomizers import OneCoordinate
from shuffledp.accounting.randomizers.catalogue import MECHANISMS
from shuffledp.collection.analysis import tally
from shuffledp.collection.devices import Device
from shuffledp.collection.planning.target import Builder


def _candidates(task: str, **known: Any) -> dict[str, Builder]:
    """The mechanisms of the table for this task, with what is known of it."""
    rows = (row for row in MECHANISMS.values() if row.task == task)
    return {row.name: partial(row.of_strength, known=known) for row in rows}


class Task(ABC):
    """A question to the users."""

    name: ClassVar[str]
    error: ClassVar[str]
    """What the expected error is of."""

    @abstractmethod
    def randomizers(self) -> dict[str, Builder]:
        """By name: a randomizer of given strength."""

    def variance(self, device: Device, n: int) -> float:
        """Expected squared error of one estimate from n users."""
        return tally(device).expected_variance(n)

    def sensitivities(self) -> tuple[float, float]:
        """How far one user moves all sums together, in l1 and in l2: for a trusted curator.

        From one count to another, unless said otherwise.
        """
        return 2.0, math.sqrt(2.0)


@dataclass(frozen=True)
class Histogram(Task):
    """The share of users with each of k values.

    Parameters
    ----------
    k
        Number of values.
    """

    k: int
    name: ClassVar[str] = "histogram"
    error: ClassVar[str] = "a frequency, averaged over the values"

    def __post_init__(self) -> None:
        checks.whole("k", self.k, 2)

    def randomizers(self) -> dict[str, Builder]:
        return _candidates(self.name, k=self.k)


@dataclass(frozen=True)
class HeavyHitters(Task):
    """The most frequent words of a given number of bits, found prefix by prefix.

    Parameters
    ----------
    bits
        Length of a word.
    """

    bits: int
    name: ClassVar[str] = "heavy-hitters"
    error: ClassVar[str] = "the frequency of a rare word"

    def randomizers(self) -> dict[str, Builder]:
        return _candidates(self.name, bits=self.bits)


@dataclass(frozen=True)
class Mean(Task):
    """The mean of a number, as a share of its range."""

    name: ClassVar[str] = "mean"
    error: ClassVar[str] = "the mean, as a share of the range, for the hardest values"

    def randomizers(self) -> dict[str, Builder]:
        return _candidates(self.name, sensitivity=1.0, scalar=True)

    def sensitivities(self) -> tuple[float, float]:
        return 1.0, 1.0


@dataclass(frozen=True)
class Vector(Task):
    """The mean of a vector of numbers, each as a share of its range.

    Parameters
    ----------
    dimensions
        How many numbers there are.
    norm
        Bound on the length of the vector, if values are clipped to a ball.
    """

    dimensions: int
    norm: float | None = None
    """Largest distance from the middle of the range, to which whole vectors are clipped."""
    name: ClassVar[str] = "vector"
    error: ClassVar[str] = "a coordinate's mean, as a share of the range, for the hardest values"

    def __post_init__(self) -> None:
        checks.whole("dimensions", self.dimensions, 1)
        if self.norm is not None:
            checks.positive("norm", self.norm)

    @property
    def diameter(self) -> float:
        """Largest distance of two vectors."""
        box = math.sqrt(self.dimensions)
        return box if self.norm is None else min(box, 2.0 * self.norm)

    def randomizers(self) -> dict[str, Builder]:
        d = self.dimensions

        def vector(build: Builder) -> Builder:
            return lambda strength: OneCoordinate(build(strength), d)

        single = {name: vector(build) for name, build in Mean().randomizers().items()}
        return single | _candidates(self.name, sensitivity=self.diameter, dimensions=d)

    def sensitivities(self) -> tuple[float, float]:
        return float(self.dimensions), math.sqrt(self.dimensions)


def task(
    name: str,
    *,
    k: int | None = None,
    bits: int | None = None,
    dimensions: int | None = None,
    norm: float | None = None,
) -> Task:
    """The task of that name, with what it needs.

    Examples
    --------
    >>> task("histogram", k=4)
    Histogram(k=4)
    """
    tasks: dict[str, Callable[[], Task]] = {
        "histogram": lambda: Histogram(checks.whole("k", k, 2)),
        "heavy-hitters": lambda: HeavyHitters(checks.whole("bits", bits, 1)),
        "mean": Mean,
        "vector": lambda: Vector(checks.whole("dimensions", dimensions, 1), norm),
    }
    return tasks[checks.one_of("task", name, tasks)]()
