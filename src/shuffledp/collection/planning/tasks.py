"""What can be asked of users, which randomizers answer it, and how well."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shuffledp import checks
from shuffledp.accounting.randomizers import (
    KRR,
    Gaussian,
    GaussianVector,
    HadamardResponse,
    Laplace,
    LocalHashing,
    OneBitMean,
    OneCoordinate,
    OnePrefix,
    Piecewise,
    Randomizer,
    SubsetSelection,
    TruncatedLaplace,
    optimised_unary,
    rappor,
)
from shuffledp.collection.analysis.frequencies import frequency_variance, mean_variance
from shuffledp.collection.analysis.means import Decoder
from shuffledp.collection.analysis.support import support
from shuffledp.collection.devices import Device
from shuffledp.collection.devices.prefixes import PrefixDevice
from shuffledp.collection.devices.vectors import CoordinateDevice, GaussianVectorDevice
from shuffledp.collection.planning.target import Builder
from shuffledp.errors import ParameterError

_NUMERIC: dict[str, Builder] = {
    "one-bit": lambda eps0: OneBitMean(eps0=eps0),
    "piecewise": lambda eps0: Piecewise(eps0=eps0),
    "laplace": lambda eps0: Laplace(eps0=eps0),
    "truncated-laplace": lambda eps0: TruncatedLaplace(eps0=eps0),
    "gaussian": lambda strength: Gaussian(1.0 / strength, 1.0, scalar=True),
}


class Task(ABC):
    """A question to the users."""

    name: ClassVar[str]
    error: ClassVar[str]
    """What the expected error is of."""

    @abstractmethod
    def randomizers(self) -> dict[str, Builder]:
        """By name: a randomizer of given strength."""

    @abstractmethod
    def variance(self, device: Device, n: int) -> float:
        """Expected squared error of one estimate from n reports."""

    @abstractmethod
    def sensitivities(self) -> tuple[float, float]:
        """How far one user moves all sums together, in l1 and in l2: for a trusted curator."""


@dataclass(frozen=True)
class Histogram(Task):
    """The share of users with each of k values."""

    k: int
    name: ClassVar[str] = "histogram"
    error: ClassVar[str] = "a frequency, averaged over the values"

    def __post_init__(self) -> None:
        checks.whole("k", self.k, 2)

    def randomizers(self) -> dict[str, Builder]:
        k = self.k
        return {
            "krr": lambda eps0: KRR(k, eps0=eps0),
            "rappor": lambda eps0: rappor(k, eps0),
            "oue": lambda eps0: optimised_unary(k, eps0),
            "olh": lambda eps0: LocalHashing(eps0=eps0, k=k),
            "hadamard": lambda eps0: HadamardResponse(eps0=eps0, k=k),
            "subset": lambda eps0: SubsetSelection(k, eps0=eps0),
        }

    def variance(self, device: Device, n: int) -> float:
        return mean_variance(support(device), self.k, n)

    def sensitivities(self) -> tuple[float, float]:
        return 2.0, math.sqrt(2.0)


@dataclass(frozen=True)
class HeavyHitters(Task):
    """The frequent ones among words of so many bits, found prefix by prefix."""

    bits: int
    name: ClassVar[str] = "heavy-hitters"
    error: ClassVar[str] = "the frequency of a rare word"

    def randomizers(self) -> dict[str, Builder]:
        return {"prefix": lambda eps0: OnePrefix(self.bits, eps0=eps0)}

    def variance(self, device: Device, n: int) -> float:
        assert isinstance(device, PrefixDevice)
        share = max(n // device.lengths, 1)
        return float(frequency_variance(support(device.inner), np.zeros(1), share)[0])

    def sensitivities(self) -> tuple[float, float]:
        return 2.0, math.sqrt(2.0)


@dataclass(frozen=True)
class Mean(Task):
    """The mean of a number, as a share of its range."""

    name: ClassVar[str] = "mean"
    error: ClassVar[str] = "the mean, as a share of the range, for the hardest values"

    def randomizers(self) -> dict[str, Builder]:
        return _NUMERIC

    def variance(self, device: Device, n: int) -> float:
        return Decoder(device).worst_variance() / n

    def sensitivities(self) -> tuple[float, float]:
        return 1.0, 1.0


@dataclass(frozen=True)
class Vector(Task):
    """The mean of a vector of numbers, each as a share of its range."""

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
            return lambda eps0: OneCoordinate(build(eps0), d)

        def whole(strength: float) -> Randomizer:
            return GaussianVector(self.diameter / strength, self.diameter, dimensions=d)

        single = {name: vector(build) for name, build in _NUMERIC.items()}
        return single | {"gaussian-vector": whole}

    def variance(self, device: Device, n: int) -> float:
        if isinstance(device, GaussianVectorDevice):
            return Decoder(device).worst_variance() / n
        assert isinstance(device, CoordinateDevice)
        expected = n / self.dimensions  # users who report a coordinate
        fewer = 1.0 + (1.0 - 1.0 / self.dimensions) / expected  # on average 1/number is larger
        return Decoder(device.inner).hardest_users(1.0 / self.dimensions)[3] * fewer / expected

    def sensitivities(self) -> tuple[float, float]:
        return float(self.dimensions), math.sqrt(self.dimensions)


def task(
    name: str, *, k: int | None = None, dimensions: int | None = None, norm: float | None = None
) -> Task:
    """The task of that name."""
    if name == "histogram":
        return Histogram(checks.whole("k", k, 2))
    if name == "mean":
        return Mean()
    if name == "vector":
        return Vector(checks.whole("dimensions", dimensions, 1), norm)
    raise ParameterError("task", "histogram, mean or vector", name)
