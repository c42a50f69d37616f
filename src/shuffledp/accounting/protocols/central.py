"""Training in the centre: a trusted server adds Gaussian noise to sums of clipped gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp import checks
from shuffledp.accounting.bounds.allocation import (
    ALLOCATION,
    ALLOCATION_PAIR,
    ALLOCATION_REPLACED,
    AllocatedNoise,
)
from shuffledp.accounting.bounds.counted import Scenes
from shuffledp.accounting.bounds.minibatches import (
    BATCHES,
    BATCHES_PAIR,
    BATCHES_REPLACED,
    POISSON_BATCHES,
    ShuffledBatches,
)
from shuffledp.accounting.bounds.replaced import ReplacedValue
from shuffledp.accounting.protocols.base import Bounds
from shuffledp.accounting.protocols.crowds import NEIGHBOURS, Released
from shuffledp.accounting.protocols.gaussian import (
    SigmaCalibration,
    enough_noise,
    smallest_noise,
)
from shuffledp.accounting.protocols.rounds import Rounds
from shuffledp.errors import ParameterError

_LEAST_SIGMA, _MOST_SIGMA = 0.1, 1e6
_CLOSE = 2e-3


def _noise(name: str, value: object) -> float:
    condition = f"a number from {_LEAST_SIGMA:g} to {_MOST_SIGMA:g}"
    return checks.real(
        name, value, condition, math.nextafter(_LEAST_SIGMA, 0.0), math.nextafter(_MOST_SIGMA, 1e9)
    )


@dataclass(frozen=True)
class RandomAllocation(Released):
    """DP-SGD in which each example joins ``k`` of the ``steps`` steps of an epoch, drawn at random.

    A trusted server adds Gaussian noise to each step's sum of clipped gradients. Neighbouring data
    sets differ in one example that is added or removed; the batches and their sizes stay secret.
    A power is that many epochs, each with a fresh allocation.

    Parameters
    ----------
    sigma
        Noise multiplier: deviation of the noise over the clipping norm.
    steps
        Steps of an epoch.
    k
        Of how many of them an example is part.
    neighbours
        ``"remove"``: one example added or removed; ``"replace"``: replaced by another, as a ledger
        counts.

    Examples
    --------
    >>> from shuffledp import RandomAllocation
    >>> print(RandomAllocation(sigma=1.0, steps=1000).epsilon(delta=1e-6))
    epsilon in [0.171..., 0.171...] (PROVEN by random-allocation; leaked by random-allocation-pair)
    >>> round((RandomAllocation(sigma=2.0, steps=1000) ** 5).epsilon(delta=1e-8).upper, 3)
    0.178
    """

    sigma: float
    steps: int
    k: int = 1
    neighbours: str = "remove"

    n = None

    def __post_init__(self) -> None:
        checks.one_of("neighbours", self.neighbours, NEIGHBOURS)
        object.__setattr__(self, "sigma", _noise("sigma", self.sigma))
        object.__setattr__(self, "steps", checks.count("steps", self.steps))
        object.__setattr__(self, "k", checks.count("k", self.k))
        if self.k > self.steps:
            raise ParameterError("k", f"at most steps = {self.steps}", self.k)

    def scenes(self) -> Scenes:
        removed = AllocatedNoise(self.sigma, self.steps, self.k)
        if self.k == self.steps:  # in all of them: one step with less noise
            removed = AllocatedNoise(self.sigma / math.sqrt(self.k), 1)
        return [[removed if self.neighbours == "remove" else ReplacedValue(removed)]]

    def candidates(self) -> tuple[Bounds, Bounds]:
        proven = ALLOCATION if self.neighbours == "remove" else ALLOCATION_REPLACED
        return [proven], [ALLOCATION_PAIR]

    def __str__(self) -> str:
        step = f"{self.k:,} of {self.steps:,} steps" if self.steps > 1 else "the one step"
        return (
            f"each example in {step} of an epoch, Gaussian noise {self.sigma:g} on each sum, an"
            f" example {'added or removed' if self.neighbours == 'remove' else 'replaced'}"
        )


@dataclass(frozen=True)
class CentralMinibatches(Released):
    """DP-SGD on the batches of a shuffled data set, as data loaders usually make them.

    Neighbouring data sets differ in one record, whose gradient is 0 in the other; n and the sizes
    of the batches are public. A power is that many epochs, each shuffled anew. No amplification by
    the shuffle is proven: the guaranteed end is that of batches in a known order. Accounting as if
    batches were Poisson samples is wrong, often by far: the leaked end shows it.

    Parameters
    ----------
    noise_multiplier
        Deviation of the noise over the clipping norm.
    batch, n
        Records in a minibatch, and in all.
    neighbours
        ``"remove"``: one record's gradient set to 0; ``"replace"``: one record replaced by another,
        as a ledger counts.

    Examples
    --------
    >>> from shuffledp import CentralMinibatches
    >>> print(CentralMinibatches(noise_multiplier=1.0, batch=60, n=60_000).epsilon(delta=1e-8))
    epsilon in [5.106..., 5.776...] (PROVEN by shuffled-batches; leaked by shuffled-batches-pair)
    """

    noise_multiplier: float
    batch: int
    n: int
    neighbours: str = "remove"

    def __post_init__(self) -> None:
        checks.one_of("neighbours", self.neighbours, NEIGHBOURS)
        object.__setattr__(
            self, "noise_multiplier", _noise("noise_multiplier", self.noise_multiplier)
        )
        object.__setattr__(self, "n", checks.count("n", self.n))
        object.__setattr__(self, "batch", checks.count("batch", self.batch))
        if self.batch > self.n:
            raise ParameterError("batch", f"at most n = {self.n}", self.batch)

    def scenes(self) -> Scenes:
        whole = self.n // self.batch
        share, reach = whole * self.batch / self.n, 1.0 if self.neighbours == "remove" else 2.0
        return [[ShuffledBatches(self.noise_multiplier, whole, share, reach)]]

    def candidates(self) -> tuple[Bounds, Bounds]:
        return [BATCHES if self.neighbours == "remove" else BATCHES_REPLACED], [BATCHES_PAIR]

    def _known(self) -> Bounds:
        published = [POISSON_BATCHES] if self.neighbours == "remove" else []
        return [*super()._known(), *published]

    def __str__(self) -> str:
        change = "'s gradient set to 0" if self.neighbours == "remove" else " replaced"
        return (
            f"{self.n:,} records, central noise {self.noise_multiplier:g} on shuffled minibatches"
            f" of {self.batch:,}, a record{change}"
        )


def calibrate_allocation(
    *, epsilon: float, delta: float, steps: int, epochs: int = 1, k: int = 1
) -> SigmaCalibration:
    """Smallest noise multiplier such that (epsilon, delta) holds over all epochs.

    The search ends within 0.2 % of it.

    Parameters
    ----------
    epsilon, delta
        The target guarantee.
    steps
        Steps of an epoch.
    epochs
        How many epochs.
    k
        Of how many steps of an epoch an example is part.

    Returns
    -------
    SigmaCalibration
        The sigma found, and the epsilon it achieves.

    Raises
    ------
    ParameterError
        If no sigma up to 10^6 is enough.

    Examples
    --------
    >>> from shuffledp import calibrate_allocation
    >>> found = calibrate_allocation(epsilon=1.0, delta=1e-6, steps=1000)
    >>> round(found.sigma, 1), found.achieved.value <= 1.0
    (0.7, True)
    """
    epsilon = checks.positive("epsilon", epsilon)
    delta = checks.probability("delta", delta)
    times = checks.count("epochs", epochs)

    def protocol(sigma: float) -> RandomAllocation | Rounds:
        epoch = RandomAllocation(sigma, steps, k)
        return epoch if times == 1 else epoch**times

    def reached(sigma: float) -> float:
        return protocol(sigma).guaranteed(epsilon=epsilon).value

    start = enough_noise(epsilon, delta) * math.sqrt(times * checks.count("k", k))
    sigma = smallest_noise(reached, delta, min(start, _MOST_SIGMA), _CLOSE, _LEAST_SIGMA)
    while sigma <= _MOST_SIGMA:
        achieved = protocol(sigma).guaranteed(delta=delta)
        if achieved.value <= epsilon:
            return SigmaCalibration(sigma, protocol(sigma), achieved)
        sigma *= 1.0 + _CLOSE
    raise ParameterError("epsilon", f"reachable with sigma <= {_MOST_SIGMA:g}", epsilon)
