"""Protocols whose analyst sees numbers, not reports: sums only, thresholded counts, counts with
dummies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from shuffledp import checks
from shuffledp.accounting.bounds.counted import Scenes
from shuffledp.accounting.bounds.counters import (
    BitCounter,
    Bits,
    Counter,
    NoisyCounter,
    ThresholdCounter,
)
from shuffledp.accounting.bounds.randomized_dummies import RandomizedCounter
from shuffledp.accounting.protocols.crowds import NEIGHBOURS, Crowded, Released
from shuffledp.accounting.randomizers import (
    KRR,
    DiscreteGaussian,
    DiscreteLaplace,
    Randomizer,
    UnaryEncoding,
)
from shuffledp.accounting.randomizers.noise import (
    DiscreteGaussianNoise,
    Noise,
    NoiseShare,
    PoissonNoise,
    PolyaNoise,
)
from shuffledp.errors import ParameterError
from shuffledp.labels import counted


@dataclass(frozen=True)
class Aggregated(Crowded):
    """Only the sum of the reports of all users is released, as by secure aggregation.

    Parameters
    ----------
    randomizer
        Binary randomized response, a unary encoding (RAPPOR, OUE), discrete Laplace or Gaussian
        noise on a number, or a :class:`NoiseShare`.
    n
        Number of users.
    neighbours
        They differ in one user's value ("replace"), or one of them holds no value ("remove"): all
        bits and all noise are still sent, a number is 0.
    colluders
        Users who tell the analyst what they sent.
    minimum_batch
        Fewest users who take part.

    Examples
    --------
    >>> from shuffledp import Aggregated, BinaryRR
    >>> Aggregated(BinaryRR(eps0=1.0), 1000).epsilon(delta=1e-6).status.value
    'PROVEN'
    """

    randomizer: Randomizer | NoiseShare
    n: int
    neighbours: str = "replace"
    colluders: int = 0
    minimum_batch: int | None = None

    def __post_init__(self) -> None:
        known = (UnaryEncoding, DiscreteLaplace, DiscreteGaussian, NoiseShare)
        binary = isinstance(self.randomizer, KRR) and self.randomizer.k == 2
        if not (binary or isinstance(self.randomizer, known)):
            raise ParameterError(
                "randomizer",
                "one whose reports are added up: BinaryRR, rappor, optimised_unary,"
                " DiscreteLaplace,"
                " DiscreteGaussian or a NoiseShare",
                str(self.randomizer),
            )
        self.check_crowd()
        if binary and self.neighbours == "remove":
            raise ParameterError(
                "neighbours",
                "'replace' for binary randomized response: it has no value 'none'",
                "remove",
            )

    @property
    def eps0(self) -> float:
        return self.randomizer.eps0 if isinstance(self.randomizer, Randomizer) else math.inf

    def scenes(self) -> Scenes:
        what = self.randomizer
        if isinstance(what, KRR):
            decay = math.exp(-what.eps0)
            likely, rare = 1.0 / (1.0 + decay), decay / (1.0 + decay)
            return [[BitCounter(Bits(likely, rare, rare, likely), self.crowd - 1, 0)]]
        if isinstance(what, UnaryEncoding):
            return self._unary(what)
        counter = NoisyCounter(self.noise_of_all(self.crowd), _noise(what)[1])
        if isinstance(what, NoiseShare) and what.k is not None:
            return self.moved(counter)
        return [[counter]]

    def noise_of_all(self, users: int) -> Noise:
        """The law of the noise of so many users, where reports are numbers or counts with noise."""
        return _noise(self.randomizer)[0].total(users)

    def _unary(self, what: UnaryEncoding) -> Scenes:
        """All others hold the victim's other value, the victim's own, or (there are three)
        another."""
        assert what.lose is not None
        bits, others = Bits(what.keep, what.lose, what.flip, 1.0 - what.flip), self.crowd - 1
        if self.neighbours == "remove":
            return [[BitCounter(bits, others, 0)]]
        pairs = [(0, others), (others, 0)] + ([(0, 0)] if what.k >= 3 else [])
        return [
            [BitCounter(bits, others, own), BitCounter(bits, others, other, falls=True)]
            for own, other in pairs
        ]

    def __str__(self) -> str:
        parts = [
            counted(self.n, "user"),
            str(self.randomizer),
            "only sums released",
        ]
        local = ["no local guarantee"] if math.isinf(self.eps0) else []
        return ", ".join([*parts, *self.crowd_words(), *local])


def _noise(what: Randomizer | NoiseShare) -> tuple[Noise, int]:
    """The noise of one user, and the largest move of the sum."""
    if isinstance(what, DiscreteLaplace):
        return PolyaNoise(1.0, what.levels / what.eps0), what.levels
    if isinstance(what, DiscreteGaussian):
        return DiscreteGaussianNoise(what.variance), what.levels
    assert isinstance(what, NoiseShare)
    return what.noise, what.levels


@dataclass(frozen=True)
class SampleThreshold(Released):
    """Each user reports the true value now and then; counts below a threshold are dropped.

    The analyst sees the counts that are left and nothing else: tags by which a server groups hidden
    reports, their number and their order are not modelled. Colluders and dropouts do not change the
    guarantee, for it holds whatever number of others hold a value.

    Parameters
    ----------
    rate
        Probability of a report.
    threshold
        Least count that is released.
    spread
        Each value's threshold is drawn from threshold, ..., threshold + spread.
    n
        Number of users; any number unless given.
    neighbours
        One user holds no value ("remove"), or another one ("replace").

    Examples
    --------
    >>> from shuffledp import SampleThreshold
    >>> SampleThreshold(0.1, threshold=20).epsilon(delta=1e-6).status.value
    'PROVEN'
    """

    rate: float
    threshold: int
    spread: int = 0
    n: int | None = None
    neighbours: str = "remove"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", checks.probability("rate", self.rate))
        object.__setattr__(self, "threshold", checks.count("threshold", self.threshold))
        object.__setattr__(self, "spread", checks.count("spread", self.spread, least=0))
        if self.n is not None:
            object.__setattr__(self, "n", checks.count("n", self.n))
        checks.one_of("neighbours", self.neighbours, NEIGHBOURS)

    def _counter(self) -> ThresholdCounter:
        most = None if self.n is None else self.n - 1
        return ThresholdCounter(self.rate, self.threshold, self.spread, most)

    def counters(self) -> Sequence[ThresholdCounter]:
        return self.moved(self._counter())[0]

    def scenes(self) -> Scenes:
        if self.neighbours == "remove":
            return [self.counters()]
        (up, down), fewest = self._leakiest(), self.threshold - 1
        pairs = [(up, down), *((own, other) for own in (up, fewest) for other in (0, fewest))]
        rising, falling = self.counters()
        return [
            [replace(rising, holders=own), replace(falling, holders=other)]
            for own, other in pairs
            if self.n is None or own + other < self.n
        ]

    def _leakiest(self) -> tuple[int, int]:
        """Numbers of other holders of the victim's two values; together there are n - 1 others."""
        rising = self._counter().leakiest().holders
        most = None if self.n is None else self.n - 1 - rising
        return rising, replace(self._counter(), falls=True, most=most).leakiest().holders

    def leakiest(self) -> Sequence[Counter]:
        if self.neighbours == "remove":
            return [self._counter().leakiest()]
        return self.scenes()[0]

    def __str__(self) -> str:
        users = "any number of users" if self.n is None else counted(self.n, "user")
        above = f" to {self.threshold + self.spread}" if self.spread else ""
        return (
            f"{users}, each reporting with probability {self.rate:g}, counts below"
            f" {self.threshold}{above}"
            f" dropped, values {NEIGHBOURS[self.neighbours]}, no local guarantee"
        )


@dataclass(frozen=True)
class WithDummies(Crowded):
    """True values of all users, shuffled among fake ones.

    There is no local guarantee: who sees reports before the shuffle sees the truth.

    Parameters
    ----------
    dummies
        How many fake reports there are of each value.
    n
        Number of users.
    neighbours
        Another value of one user ("replace"), or none ("remove").
    by_users
        Whether each user adds such a number of every value, and not the shuffler.
    colluders
        Users who tell which reports are theirs.
    minimum_batch
        Fewest users who take part.
    randomizer
        With a ``KRR`` users randomize their values, too, and the local guarantee is its budget;
        dummies are then Poisson numbers.

    Examples
    --------
    >>> from shuffledp import PoissonNoise, WithDummies
    >>> WithDummies(PoissonNoise(80.0), n=1000).epsilon(delta=1e-6).status.value
    'PROVEN'
    """

    dummies: Noise
    n: int
    neighbours: str = "replace"
    by_users: bool = False
    colluders: int = 0
    minimum_batch: int | None = None
    randomizer: KRR | None = field(default=None, metadata={"described": True})

    def __post_init__(self) -> None:
        if not isinstance(self.dummies, Noise) or not self.dummies.one_sided:
            raise ParameterError(
                "dummies", "numbers that are never negative, such as PoissonNoise", self.dummies
            )
        self.check_crowd()
        if self.randomizer is None:
            return
        if not isinstance(self.randomizer, KRR):
            raise ParameterError("randomizer", "KRR, or left out", str(self.randomizer))
        if not isinstance(self.dummies, PoissonNoise):
            raise ParameterError("dummies", "PoissonNoise where users randomize", self.dummies)
        if self.neighbours != "replace":
            raise ParameterError(
                "neighbours", "'replace' for randomized response: it has no value 'none'", "remove"
            )

    @property
    def eps0(self) -> float:
        return math.inf if self.randomizer is None else self.randomizer.eps0

    def scenes(self) -> Scenes:
        noise = self.dummies.total(self.crowd) if self.by_users else self.dummies
        if self.randomizer is not None:
            return [[RandomizedCounter(self.randomizer, self.crowd - 1, noise.mean)]]
        return self.moved(NoisyCounter(noise))

    def __str__(self) -> str:
        who = "each user" if self.by_users else "the shuffler"
        several = "s" * (self.n > 1)
        what = f"true value{several}"
        if self.randomizer is not None:
            what = f"report{several} of {self.randomizer}"
        parts = [f"{self.n:,} {what}", f"dummies per value from {who}: {self.dummies}"]
        local = ["no local guarantee"] if self.randomizer is None else []
        return ", ".join([*parts, *self.crowd_words(), *local])
