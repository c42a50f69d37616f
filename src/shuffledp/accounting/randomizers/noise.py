"""Whole noise that users, or a shuffler, add to counts: each law knows the sum of several copies.

A total is a law of the same kind where there is one: no cost grows with the number of users.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields

import numpy as np

from shuffledp import checks
from shuffledp.errors import ParameterError
from shuffledp.numerics import integer_laws
from shuffledp.numerics.integer_laws import IntegerLaw
from shuffledp.numerics.rounding import roundings, up

_FEW = 4096
"""Numbers, or a variance, up to which sums of two laws are convolved."""


class Noise(ABC):
    """A law on the whole numbers."""

    one_sided = False
    """Never negative: fake reports can be sent only in such numbers."""

    @abstractmethod
    def total(self, count: int) -> Noise:
        """The sum of ``count`` independent copies."""

    @abstractmethod
    def law(self) -> IntegerLaw:
        """Certified masses."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Its mean."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Its variance."""

    def pure(self, shift: int) -> float:
        """The epsilon from which X and X + shift are told apart with no delta; infinite if none
        is known."""
        return math.inf


@dataclass(frozen=True)
class PoissonNoise(Noise):
    """Poisson numbers.

    Parameters
    ----------
    rate
        Their mean.

    Examples
    --------
    >>> PoissonNoise(2.0).total(100).mean
    200.0
    """

    rate: float
    one_sided = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", checks.positive("rate", self.rate))

    def total(self, count: int) -> PoissonNoise:
        return PoissonNoise(count * self.rate)

    def law(self) -> IntegerLaw:
        return integer_laws.poisson(self.rate)

    @property
    def mean(self) -> float:
        return self.rate

    @property
    def variance(self) -> float:
        return self.rate

    def __str__(self) -> str:
        return f"Poisson numbers of mean {self.rate:g}"


@dataclass(frozen=True)
class BinomialNoise(Noise):
    """Heads of so many coins.

    Parameters
    ----------
    trials
        How many coins.
    chance
        Probability of a head.

    Examples
    --------
    >>> BinomialNoise(10, 0.5).variance
    2.5
    """

    trials: int
    chance: float = 0.5
    one_sided = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "trials", checks.count("trials", self.trials))
        object.__setattr__(self, "chance", checks.probability("chance", self.chance))

    def total(self, count: int) -> BinomialNoise:
        return BinomialNoise(count * self.trials, self.chance)

    def law(self) -> IntegerLaw:
        return integer_laws.binomial(self.trials, self.chance, 1.0 - self.chance)

    @property
    def mean(self) -> float:
        return self.trials * self.chance

    @property
    def variance(self) -> float:
        return self.trials * self.chance * (1.0 - self.chance)

    def __str__(self) -> str:
        return f"heads of {self.trials:,} coins of {self.chance:g}"


@dataclass(frozen=True)
class NegativeBinomialNoise(Noise):
    """Mass proportional to Gamma(k + shape) / k! ratio^k; geometric if the shape is 1.

    Parameters
    ----------
    shape
        Any share of a whole: shapes add up.
    ratio
        Of neighbouring masses, far out.

    Examples
    --------
    >>> NegativeBinomialNoise(0.01, 0.5).total(100).mean
    1.0
    """

    shape: float
    ratio: float
    one_sided = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", checks.positive("shape", self.shape))
        object.__setattr__(self, "ratio", checks.probability("ratio", self.ratio))

    def total(self, count: int) -> NegativeBinomialNoise:
        return NegativeBinomialNoise(count * self.shape, self.ratio)

    def law(self) -> IntegerLaw:
        return integer_laws.negative_binomial(self.shape, self.ratio)

    @property
    def mean(self) -> float:
        return self.shape * self.ratio / (1.0 - self.ratio)

    @property
    def variance(self) -> float:
        return self.mean / (1.0 - self.ratio)

    def apart(self) -> PolyaNoise:
        """The difference of two such numbers."""
        return PolyaNoise(self.shape, -1.0 / math.log(self.ratio))

    def __str__(self) -> str:
        return f"negative binomial numbers of shape {self.shape:g}, ratio {self.ratio:g}"


@dataclass(frozen=True)
class SkellamNoise(Noise):
    """The difference of two Poisson numbers.

    Parameters
    ----------
    rate
        The mean of each.

    Examples
    --------
    >>> SkellamNoise(0.5).total(100).variance
    100.0
    """

    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", checks.positive("rate", self.rate))

    def total(self, count: int) -> SkellamNoise:
        return SkellamNoise(count * self.rate)

    def law(self) -> IntegerLaw:
        if self.variance > _FEW:
            return integer_laws.skellam(self.rate)
        one = integer_laws.poisson(self.rate)
        return one.plus(one.mirrored())

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def variance(self) -> float:
        return 2.0 * self.rate

    def __str__(self) -> str:
        return f"Skellam noise of variance {self.variance:g}"


@dataclass(frozen=True)
class PolyaNoise(Noise):
    """The difference of two negative binomial numbers: of shape 1 it is discrete Laplace noise.

    n users with ``shape`` 1/n add up to mass proportional to ``exp(-|k| / scale)``, whatever n.

    Parameters
    ----------
    shape
        Any share of a whole: shapes add up.
    scale
        Of the sum that has shape 1.

    Examples
    --------
    >>> PolyaNoise(0.01, 2.0).total(100)
    PolyaNoise(shape=1.0, scale=2.0)
    """

    shape: float
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", checks.positive("shape", self.shape))
        object.__setattr__(self, "scale", checks.positive("scale", self.scale))

    @property
    def ratio(self) -> float:
        """Of neighbouring masses, far out."""
        return math.exp(-1.0 / self.scale)

    def total(self, count: int) -> PolyaNoise:
        shape = count * self.shape
        # shares of 1/n are meant to make up a whole
        return PolyaNoise(1.0 if abs(shape - 1.0) <= roundings(2) else shape, self.scale)

    def law(self) -> IntegerLaw:
        if self.shape == 1.0:
            return integer_laws.two_sided_geometric(self.ratio)
        one = integer_laws.negative_binomial(self.shape, self.ratio)
        if one.low.size > _FEW:
            return integer_laws.polya(self.shape, self.ratio)
        return one.plus(one.mirrored())

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def variance(self) -> float:
        return 2.0 * self.shape * self.ratio / (1.0 - self.ratio) ** 2

    def pure(self, shift: int) -> float:
        # a whole discrete Laplace number hides the shift, what is added to it cannot help; shapes
        # that make up a whole but for a rounding move each ratio by as much
        if self.shape < 1.0:
            return math.inf
        return up(shift / self.scale + shift * roundings(8), roundings(8))

    def __str__(self) -> str:
        kind = "discrete Laplace" if self.shape == 1.0 else f"Pólya (shape {self.shape:g})"
        return f"{kind} noise of scale {self.scale:g}"


@dataclass(frozen=True)
class DiscreteGaussianNoise(Noise):
    """Whole numbers k with mass proportional to exp(-k^2 / (2 spread)), added up.

    Parameters
    ----------
    spread
        About the variance of each.
    copies
        How many are added.

    Examples
    --------
    >>> round(DiscreteGaussianNoise(4.0, copies=3).variance, 6)
    12.0
    """

    spread: float
    copies: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "spread", checks.positive("spread", self.spread))
        object.__setattr__(self, "copies", checks.count("copies", self.copies))

    def total(self, count: int) -> DiscreteGaussianNoise:
        return DiscreteGaussianNoise(self.spread, count * self.copies)

    def law(self) -> IntegerLaw:
        return integer_laws.discrete_gaussians(self.spread, self.copies)

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def variance(self) -> float:
        one = integer_laws.discrete_gaussian(self.spread)
        k = one.start + np.arange(one.low.size)
        return self.copies * float(one.low @ k**2)

    def __str__(self) -> str:
        of = f"the sum of {self.copies:,} numbers of " if self.copies > 1 else ""
        return f"{of}discrete Gaussian noise of spread {self.spread:g}"


@dataclass(frozen=True)
class TruncatedLaplaceNoise(Noise):
    """Discrete Laplace noise that is never negative: numbers in 0..2 centre, each with mass
    proportional to exp(-abs(k - centre) / scale), added up.

    Parameters
    ----------
    centre
        The mean of each, and how far it can be off.
    scale
        How fast the mass falls on both sides.
    copies
        How many are added.

    Examples
    --------
    >>> TruncatedLaplaceNoise(20, 2.0, copies=3).mean
    60.0
    """

    centre: int
    scale: float
    copies: int = 1
    one_sided = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", checks.count("centre", self.centre))
        scale = checks.real("scale", self.scale, "a finite number above 0.01", 0.01, math.inf)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "copies", checks.count("copies", self.copies))

    def total(self, count: int) -> TruncatedLaplaceNoise:
        return TruncatedLaplaceNoise(self.centre, self.scale, count * self.copies)

    def _one(self) -> IntegerLaw:
        return integer_laws.truncated_laplace(self.centre, self.scale)

    def law(self) -> IntegerLaw:
        return self._one().times(self.copies)

    @property
    def mean(self) -> float:
        return float(self.copies * self.centre)

    @property
    def variance(self) -> float:
        one = self._one()
        k = one.start + np.arange(one.low.size) - self.centre
        return self.copies * float(one.low @ k**2)

    def __str__(self) -> str:
        of = f"sums of {self.copies:,} " if self.copies > 1 else ""
        return f"{of}Laplace numbers of scale {self.scale:g} in 0..{2 * self.centre:,}"


NOISES: dict[str, type[Noise]] = {
    "poisson": PoissonNoise,
    "binomial": BinomialNoise,
    "negative-binomial": NegativeBinomialNoise,
    "skellam": SkellamNoise,
    "polya": PolyaNoise,
    "discrete-gaussian": DiscreteGaussianNoise,
    "truncated-laplace": TruncatedLaplaceNoise,
}
"""By their names in descriptions."""


def noise(noise: str) -> Noise:
    """From text such as ``polya:shape=0.001,scale=2``."""
    name, _, listed = noise.partition(":")
    kind = NOISES[checks.one_of("noise", name, NOISES)]
    known = {field.name: field.type for field in fields(kind)}  # type: ignore[arg-type]
    given: dict[str, float | int] = {}
    for part in filter(None, listed.split(",")):
        key, _, value = part.partition("=")
        if key not in known:
            raise ParameterError("noise", f"{name} with {', '.join(known)} only", part)
        try:
            number = float(value)
        except ValueError:
            raise ParameterError("noise", f"a number for {key}", value) from None
        given[key] = int(number) if number.is_integer() else number
    try:
        return kind(**given)
    except TypeError:
        raise ParameterError("noise", f"{name}:{'=...,'.join(known)}=...", noise) from None


@dataclass(frozen=True)
class NoiseShare:
    """Each user adds noise to what is summed: to every count of ``k`` values, or to a number in
    0..levels.

    Not a randomizer to be shuffled: one share may protect nobody, the sum of all of them does.

    Parameters
    ----------
    noise
        What each user adds.
    k
        Number of values that are counted, if it is not a number that is summed.
    levels
        Largest number.

    Examples
    --------
    >>> print(NoiseShare(SkellamNoise(0.5), k=4))
    counts of 4 values with Skellam noise of variance 1 of each user
    """

    noise: Noise
    k: int | None = None
    levels: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.noise, Noise):
            raise ParameterError("noise", "a noise such as SkellamNoise(0.5)", self.noise)
        if self.k is not None:
            checks.store_size(self, "k", 2)
        checks.store_size(self, "levels", 1)
        if self.k is not None and self.levels != 1:
            raise ParameterError("levels", "left out where k is given", self.levels)

    def __str__(self) -> str:
        what = f"counts of {self.k} values" if self.k else f"a number in 0..{self.levels}"
        return f"{what} with {self.noise} of each user"
