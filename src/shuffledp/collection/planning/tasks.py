"""What can be asked of users, which randomizers answer it, and how well."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from shuffledp import checks
from shuffledp.accounting.randomizers import (
    CheckIn,
    OneCoordinate,
    Plateau,
    Randomizer,
    RoundedResponse,
    SubsetSelection,
)
from shuffledp.accounting.randomizers.catalogue import MECHANISMS
from shuffledp.collection.analysis import FrequentWords, tally
from shuffledp.collection.analysis.distribution import floor
from shuffledp.collection.analysis.estimate import quantile
from shuffledp.collection.analysis.frequencies import set_variance
from shuffledp.collection.analysis.rotation import clamped, reach
from shuffledp.collection.analysis.support import Support, law
from shuffledp.collection.devices import Device, actual, device
from shuffledp.collection.devices.vectors import GaussianVectorDevice
from shuffledp.collection.planning.target import Builder
from shuffledp.errors import ParameterError

_TIMES, TURNED = "-x", "turned-"
_WORTH_TURNING = 32
"""Coordinates, at least: with fewer the range does not get narrower."""
MANY_ROUNDS = {"plateau", "rounding"}
"""Means that are best where budgets are shared, and whose rounds are composed quickly."""
_CONCENTRATED = 1.0 / 3.0
"""Share of a declared range that values are taken to fill, where windows are chosen."""


def _candidates(task: str, **known: Any) -> dict[str, Builder]:
    """The mechanisms of the table for this task, with what is known of it."""
    rows = (row for row in MECHANISMS.values() if row.task == task)
    return {row.name: partial(row.of_strength, known=known) for row in rows}


_LONGEST = 1 << 13
"""Bytes of a report, at most, in a plan."""


def _of_values(k: int) -> dict[str, Builder]:
    """Randomizers of one of k values; subsets are no larger than a report may be."""
    found = _candidates("histogram", k=k)
    if -(-k // 8) > _LONGEST:
        largest = _LONGEST // np.min_scalar_type(k - 1).itemsize

        def subset(eps0: float) -> Randomizer:
            best = SubsetSelection(k, eps0=eps0)
            return replace(best, d=min(best.d or 1, largest))

        found["subset"] = subset
    return {name: found[name] for name in found if name not in _too_long(k)}


def _too_long(k: int) -> dict[str, str]:
    """Randomizers that send k bits, if those are too many."""
    size = -(-k // 8)
    why = f"a report of {k:,} bits, {size:,} bytes, where {_LONGEST:,} are the most"
    return dict.fromkeys(("rappor", "oue"), why) if size > _LONGEST else {}


class Task(ABC):
    """A question to the users."""

    name: ClassVar[str]
    error: ClassVar[str]
    """What the expected error is of."""

    @abstractmethod
    def randomizers(self) -> dict[str, Builder]:
        """By name: a randomizer of given strength."""

    @property
    def left_out(self) -> dict[str, str]:
        """Names of others that could do it, and why they are not offered."""
        return {}

    def known(self, name: str, *others: str) -> str:
        """The name, if it is one of a randomizer, or one of these."""
        if name in self.left_out:
            raise ParameterError("mechanism", f"another one: {self.left_out[name]}", name)
        return checks.one_of("mechanism", name, [*others, *self.randomizers()])

    def messages_of(self, name: str) -> int:
        """How many messages a user of this randomizer sends, each shuffled by itself."""
        return 1

    def variance(self, device: Device, n: int) -> float:
        """Expected squared error of one estimate from n users."""
        return tally(device).expected_variance(n)

    def error_of(self, name: str, device: Device, n: int) -> float:
        """Expected root mean squared error, where the device is of the randomizer of this name."""
        return math.sqrt(self.variance(device, n))

    def sensitivities(self) -> tuple[float, float]:
        """How far one user moves all sums together, in l1 and in l2: for a trusted curator.

        From one count to another, unless said otherwise.
        """
        return 2.0, math.sqrt(2.0)

    def spread(self) -> float:
        """Variance of what one user adds to an estimate, for those who are not always asked."""
        return 0.25


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
        checks.store_size(self, "k", 2)

    def randomizers(self) -> dict[str, Builder]:
        return _of_values(self.k)

    @property
    def left_out(self) -> dict[str, str]:
        return _too_long(self.k)

    def spread(self) -> float:
        return (1.0 - 1.0 / self.k) / self.k


@dataclass(frozen=True)
class Quantiles(Task):
    """Quantiles of a number, from the shares of equal cells of its range.

    Parameters
    ----------
    bins
        Number of cells.
    """

    bins: int
    name: ClassVar[str] = "quantiles"
    error: ClassVar[str] = "the share of users below the median"

    def __post_init__(self) -> None:
        checks.store_size(self, "bins", 2)

    def randomizers(self) -> dict[str, Builder]:
        known = _of_values(self.bins)
        return {name: known[name] for name in known if name != "hadamard"}  # pairs not alike

    @property
    def left_out(self) -> dict[str, str]:
        return _too_long(self.bins)

    def variance(self, device: Device, n: int) -> float:
        support = law(device)
        assert isinstance(support, Support)
        return set_variance(support, self.bins // 2, 0.5, n)


@dataclass(frozen=True)
class HeavyHitters(Task):
    """The most frequent words of a given number of bits, found prefix by prefix.

    Half of the users count what the others find.

    Parameters
    ----------
    bits
        Length of a word.
    most
        Words to find.
    """

    bits: int
    most: int = 20
    name: ClassVar[str] = "heavy-hitters"
    error: ClassVar[str] = "the frequency of a word found, if it is rare"

    def randomizers(self) -> dict[str, Builder]:
        return _candidates(self.name, bits=self.bits)

    def found_from(self, device: Device, n: int) -> float:
        """The share of n users whose word is found, but for a chance of 5 %."""
        counted = FrequentWords(device)
        return counted.found_from(self.most, counted.split(n))

    def spread(self) -> float:
        return 0.0  # of a word that hardly anybody has


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
class MeanQuantiles(Task):
    """Mean, quantiles and shares of cells of a number, all from one report.

    Windows are narrower, and levels more, than for the mean alone: a quantile is known up to a
    window. How narrow depends on how much noise there is, hence on the number of users.

    Parameters
    ----------
    n
        Number of users.
    windows
        How many windows, or steps between levels, make the range; 0: about the best.

    Examples
    --------
    >>> MeanQuantiles(10_000).chosen("plateau", 5.0)
    MeanQuantiles(n=10000, windows=148)
    """

    n: int
    windows: int = 0
    name: ClassVar[str] = "mean,quantiles"
    error: ClassVar[str] = (
        "the median, as a share of the range, for values spread evenly over a third of it"
        " (half of a 95 % interval)"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", checks.count("n", self.n))
        if checks.whole("windows", self.windows, 0) > _FINEST:
            raise ParameterError("windows", f"at most {_FINEST:,}", self.windows)

    def randomizers(self) -> dict[str, Builder]:
        def built(make: Callable[[int, float], Randomizer]) -> Builder:
            return lambda eps0: make(self.windows or self._best(make, eps0), eps0)

        return {name: built(make) for name, make in _BY_WINDOWS.items()}

    def chosen(self, name: str, eps0: float) -> MeanQuantiles:
        """With the windows that this mechanism has at this budget."""
        return replace(self, windows=self.windows or self._best(_BY_WINDOWS[name], eps0))

    def _best(self, make: Callable[[int, float], Randomizer], eps0: float) -> int:
        tried = sorted({round(math.exp(i / 5.0)) for i in range(49)})  # up to e^9.6
        return min(tried, key=lambda windows: self._reach(device(make(windows, eps0)), self.n))

    def _reach(self, device: Device, n: int) -> float:
        known = floor(device)
        return known.reach(n, _CONCENTRATED) if known.mass < 1.0 else math.inf

    def variance(self, device: Device, n: int) -> float:
        return self._reach(device, n) ** 2

    def sensitivities(self) -> tuple[float, float]:
        away = _CONCENTRATED * quantile(0.95)  # a curator counts those below, up to one
        return away, away


_FINEST = 1 << 14
_BY_WINDOWS: dict[str, Callable[[int, float], Randomizer]] = {
    "plateau": lambda windows, eps0: Plateau(1.0 / windows, eps0=eps0),
    "rounding": lambda windows, eps0: RoundedResponse(1 + windows, eps0=eps0),
}


@dataclass(frozen=True)
class Vector(Task):
    """The mean of a vector of numbers, each as a share of its range.

    Parameters
    ----------
    dimensions
        How many numbers there are.
    norm
        Bound on the length of the vector, if values are clipped to a ball.
    messages
        How many messages a user may send, each shuffled by itself and linked to no other. The
        coordinates are put into as many groups; a message tells of one coordinate of its group.
        Vectors of bounded length may be turned first, if there is a message for each coordinate of
        the next power of two.
    """

    dimensions: int
    norm: float | None = None
    """Largest distance from the middle of the range, to which whole vectors are clipped."""
    messages: int = 1
    name: ClassVar[str] = "vector"
    error: ClassVar[str] = "a coordinate's mean, as a share of the range, for the hardest values"

    def __post_init__(self) -> None:
        checks.store_size(self, "dimensions", 1)
        checks.store_size(self, "messages", 1)
        if self.norm is not None:
            checks.positive("norm", self.norm)

    @property
    def diameter(self) -> float:
        """Largest distance of two vectors."""
        box = math.sqrt(self.dimensions)
        return box if self.norm is None else min(box, 2.0 * self.norm)

    @property
    def sent(self) -> int:
        """How many messages are sent: all that may be, as fewer would be less exact."""
        return min(self.messages, self.dimensions)

    @property
    def turned(self) -> int:
        """Messages of short vectors that are turned first, if so many may be sent."""
        size = 1 << max(self.dimensions - 1, 1).bit_length()
        return size if self.norm is not None and _WORTH_TURNING <= size <= self.messages else 0

    def groups(self, messages: int) -> list[int]:
        """How many coordinates each message is about one of."""
        size, larger = divmod(self.dimensions, messages)
        return [size + (i < larger) for i in range(messages)]

    def split(self, name: str) -> tuple[str, int]:
        """The randomizer of a message, and how many there are: ``plateau-x16``."""
        inner, times, number = name.rpartition(_TIMES)
        return (inner, int(number)) if times and number.isdigit() else (name, 1)

    def messages_of(self, name: str) -> int:
        return self.split(name)[1]

    def randomizers(self) -> dict[str, Builder]:
        """By name: of one message."""
        single = Mean().randomizers()
        found = {name: _one_of(self.dimensions, build) for name, build in single.items()}
        found |= _candidates(self.name, sensitivity=self.diameter, dimensions=self.dimensions)
        if self.sent > 1:
            group = max(self.groups(self.sent))
            for name in sorted(MANY_ROUNDS):
                build = single[name] if group == 1 else _one_of(group, single[name])
                found[f"{name}{_TIMES}{self.sent}"] = build
        if self.turned:
            many = {f"{TURNED}{name}{_TIMES}{self.turned}": name for name in sorted(MANY_ROUNDS)}
            found |= {name: single[inner] for name, inner in many.items()}
        return found

    def likely_gaussian(self, mu: float, n: int) -> float:
        """About the error of Gaussian noise on the whole vector, where n mu^2 is about
        exp(diameter^2 / sigma^2) - 1."""
        return self.diameter / math.sqrt(math.log1p(n * mu**2) * n)

    def devices(self, name: str, strength: float) -> list[tuple[Randomizer, int]]:
        """What devices run for the messages of this randomizer, and how often each."""
        inner, messages = self.split(name)
        build = Mean().randomizers()[inner.removeprefix(TURNED)]
        sizes = [1] * messages if inner.startswith(TURNED) else self.groups(messages)
        builds = {size: build if size == 1 else _one_of(size, build) for size in sizes}
        return [(actual(builds[size](strength)), sizes.count(size)) for size in builds]

    def error_of(self, name: str, device: Device, n: int) -> float:
        """Where several messages may be sent, coordinates of short vectors have a narrower range,
        of which they are a share; turned vectors an even narrower one."""
        found = super().error_of(name, device, n)
        if self.norm is None or self.sent == 1 or isinstance(device, GaussianVectorDevice):
            return found
        if name.startswith(TURNED):
            size = self.messages_of(name)
            shares = 2.0 * reach(n) * self.norm / math.sqrt(size)
            return math.sqrt((shares * found) ** 2 + clamped(n) * self.norm**2 / size)
        return min(1.0, 2.0 * self.norm) * found

    def sensitivities(self) -> tuple[float, float]:
        return math.sqrt(self.dimensions) * self.diameter, self.diameter


def _one_of(dimensions: int, build: Builder) -> Builder:
    return lambda strength: OneCoordinate(build(strength), dimensions)


@dataclass(frozen=True)
class Sometimes(Task):
    """The same question to users who report with this probability, each round anew.

    Parameters
    ----------
    asked
        The question.
    rate
        Probability of a report.
    """

    asked: Task
    rate: float

    def __post_init__(self) -> None:
        checks.positive("check_in", self.rate)
        checks.probability("check_in", self.rate)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.asked.name

    @property
    def error(self) -> str:  # type: ignore[override]
        return self.asked.error

    @property
    def left_out(self) -> dict[str, str]:
        return self.asked.left_out

    def messages_of(self, name: str) -> int:
        return self.asked.messages_of(name)

    def randomizers(self) -> dict[str, Builder]:
        """Each message of a user is sent, or not, by itself."""

        def checked_in(build: Builder) -> Builder:
            return lambda strength: CheckIn(build(strength), self.rate)

        return {name: checked_in(build) for name, build in self.asked.randomizers().items()}

    def variance(self, device: Device, n: int) -> float:
        """Of fewer reports, and by chance of whom."""
        reports = max(1, round(self.rate * n))
        sampled = (1.0 - self.rate) * self.asked.spread() / reports
        return self.asked.variance(device.speaking, reports) + sampled

    def sensitivities(self) -> tuple[float, float]:
        return self.asked.sensitivities()


def task(
    name: str,
    *,
    k: int | None = None,
    bins: int | None = None,
    bits: int | None = None,
    dimensions: int | None = None,
    norm: float | None = None,
    messages: int = 1,
    n: int | None = None,
    windows: int = 0,
) -> Task:
    """The task of that name, with what it needs.

    Examples
    --------
    >>> task("histogram", k=4)
    Histogram(k=4)
    """
    tasks: dict[str, Callable[[], Task]] = {
        "histogram": lambda: Histogram(checks.whole("k", k, 2)),
        "quantiles": lambda: Quantiles(checks.whole("bins", bins, 2)),
        "heavy-hitters": lambda: HeavyHitters(checks.whole("bits", bits, 1)),
        "mean": Mean,
        "mean,quantiles": lambda: MeanQuantiles(checks.whole("n", n, 1), windows),
        "vector": lambda: Vector(checks.whole("dimensions", dimensions, 1), norm, messages),
    }
    return tasks[checks.one_of("task", name, tasks)]()
