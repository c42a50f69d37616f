"""For each kind of shape: the least noise that meets a target, and the error it leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from shuffledp.accounting.bounds.counters import BitCounter, NoisyCounter
from shuffledp.accounting.curves.gdp import gaussian_delta
from shuffledp.accounting.protocols import Aggregated, SampleThreshold, WithDummies, smallest
from shuffledp.accounting.protocols.noise_families import drawable_spread
from shuffledp.accounting.protocols.paired import PairedDummies
from shuffledp.accounting.protocols.smallest import Goal, Smallest
from shuffledp.accounting.protocols.split import SplitAndMix
from shuffledp.accounting.randomizers import (
    KRR,
    DiscreteGaussian,
    DiscreteLaplace,
    Randomizer,
)
from shuffledp.accounting.randomizers.noise import NoiseShare
from shuffledp.collection.analysis.support import Support, law
from shuffledp.collection.devices import device
from shuffledp.collection.planning.shape import Shape
from shuffledp.collection.planning.target import Target
from shuffledp.collection.planning.tasks import Histogram, Mean
from shuffledp.labels import Value

_RATES = (0.85, 0.5)
"""Shares of 1 - exp(-epsilon): probabilities of reporting that are tried, the largest first."""
_MORE = 1.0
"""Local budget beyond that of shuffled reports, where dummies are added."""
_BELOW = 1.0 - 5e-4
"""Searches for the epsilon of a composition end a few parts in ten thousand above it."""
_FINEST, _COARSEST = 19_000.0, 8
"""Noise of a larger scale takes long to account for; values are put on a grid at least so fine."""
_COARSE, _THINNEST = 64, 3.0
"""Steps of a grid for noise of each user, of which there is much; the least deviation of normal
noise on it."""
_TRUTH, _SUM = "shuffler, sees values", "secure sum"


def _goal(target: Target) -> Goal:
    """A hair below the target, so that a ledger that looks for epsilon finds no more than it."""
    return Goal(_BELOW * target.epsilon, target.delta, target.rounds)


def dummies(
    task: Histogram, target: Target, name: str, family: str, *, by_users: bool = False
) -> Shape:
    """True values among numbers of dummies of this law, of the shuffler or of all users."""
    found = smallest.dummies(
        _goal(target), target.n, family=family, by_users=by_users, colluders=target.colluders
    )
    return _among_dummies(name, task, target, found)


def laplace_dummies(task: Histogram, target: Target) -> Shape:
    """The same with numbers of truncated Laplace law."""
    found = smallest.laplace_dummies(_goal(target), target.n, target.colluders)
    return _among_dummies("laplace-dummies", task, target, found)


def _among_dummies(name: str, task: Histogram, target: Target, found: Smallest) -> Shape:
    protocol = found.protocol
    assert isinstance(protocol, WithDummies)
    noise = protocol.dummies.total(target.n) if protocol.by_users else protocol.dummies
    sent = 1.0 + task.k * noise.mean / target.n
    if protocol.randomizer is None:
        error = math.sqrt(noise.variance) / target.n
        return Shape(name, _TRUTH, None, sent, error, found.achieved, protocol)
    machine = device(protocol.randomizer)
    known = law(machine)
    assert isinstance(known, Support)
    added = noise.variance / (known.gap * target.n) ** 2
    error = math.sqrt(task.variance(machine, target.n) + added)
    eps0 = protocol.randomizer.eps0
    return Shape(name, "shuffler", eps0, sent, error, found.achieved, protocol)


def paired_dummies(task: Histogram, target: Target) -> Shape:
    """Messages of users for and against every value."""
    found = smallest.paired_dummies(_goal(target), target.n, target.colluders)
    protocol = found.protocol
    assert isinstance(protocol, PairedDummies)
    error = math.sqrt(protocol.left(target.n).variance) / target.n
    sent = protocol.messages(task.k)
    return Shape("paired-dummies", _TRUTH, None, sent, error, found.achieved, protocol)


def randomized_dummies(
    task: Histogram, target: Target, name: str, *, by_users: bool = False
) -> Shape:
    """A larger local budget than shuffling alone allows; dummies make up for it."""
    strength, _ = target.largest(lambda eps0: KRR(task.k, eps0=eps0))
    allowed = min(strength + _MORE, target.max_eps0)
    randomizer = device(KRR(task.k, eps0=allowed)).randomizer
    assert isinstance(randomizer, KRR)
    found = smallest.dummies(
        _goal(target),
        target.n,
        by_users=by_users,
        randomizer=randomizer,
        colluders=target.colluders,
    )
    return _among_dummies(name, task, target, found)


def levels(target: Target, *, heavy: bool = False) -> int:
    """Steps of the grid that numbers are put on: so fine that rounding adds 2 % to the error.

    ``heavy``: for noise that needs a delta, of which there is more.
    """
    fine = 2.0 * math.sqrt(target.n) * target.epsilon / target.rounds
    longest = _FINEST * target.epsilon / target.rounds
    if heavy:
        less = 1.5 / math.sqrt(max(-math.log(target.delta), 2.25))
        fine, longest = less * fine, less * longest
    return max(_COARSEST, math.ceil(min(fine, longest)))


def _added(task: Histogram | Mean, target: Target, *, heavy: bool = False) -> dict[str, int]:
    """What is summed: counts, or a number."""
    if isinstance(task, Histogram):
        return {"k": task.k, "colluders": target.colluders}
    return {"levels": levels(target, heavy=heavy), "colluders": target.colluders}


def _sum_error(share: NoiseShare, n: int) -> float:
    variance = share.noise.total(n).variance
    if share.k is None:  # values are put on the grid at random
        variance += n / 4.0
    return math.sqrt(variance) / (n * share.levels)


def laplace_shares(task: Histogram | Mean, target: Target) -> Shape:
    """Shares that make up discrete Laplace noise."""
    found = smallest.noise_shares(_goal(target), target.n, **_added(task, target))
    return _of_shares("noise-shares", target, found)


def shares(task: Histogram | Mean, target: Target, name: str, family: str) -> Shape:
    """Shares of noise of another law."""
    added: dict[str, Any] = _added(task, target, heavy=True)
    found = smallest.noise_shares_of(_goal(target), target.n, family, **added)
    return _of_shares(name, target, found)


def _of_shares(name: str, target: Target, found: Smallest) -> Shape:
    assert isinstance(found.protocol, Aggregated)
    share = found.protocol.randomizer
    assert isinstance(share, NoiseShare)
    error = _sum_error(share, target.n)
    return Shape(name, _SUM, None, 1.0, error, found.achieved, found.protocol)


def split(task: Histogram | Mean, target: Target, users: int) -> Shape:
    """The same shares, split and mixed."""
    found = smallest.split_and_mix(_goal(target), target.n, users=users, **_added(task, target))
    assert isinstance(found.protocol, SplitAndMix)
    sent = float(found.protocol.messages * found.protocol.sums)
    error = _sum_error(found.protocol.share, target.n)
    return Shape("split-and-mix", _TRUTH, None, sent, error, found.achieved, found.protocol)


def thresholds(task: Histogram, target: Target) -> Shape:
    """The best of some probabilities of reporting; counts that are dropped are off by all."""
    holders, found = target.n / task.k, []
    for share in _RATES:
        rate = -share * math.expm1(-target.epsilon / target.rounds)
        least = smallest.sample_threshold(_goal(target), rate)
        assert isinstance(least.protocol, SampleThreshold)
        kept = holders * rate >= least.value
        error = (math.sqrt(holders * (1.0 - rate) / rate) if kept else holders) / target.n
        found.append(
            Shape("sample-threshold", _TRUTH, None, rate, error, least.achieved, least.protocol)
        )
        if kept:  # fewer reports are less exact
            break
    return min(found, key=lambda shape: shape.error)


@dataclass(frozen=True)
class _SummedTarget(Target):
    """The same guarantee where only sums are released."""

    @lru_cache(maxsize=256)  # noqa: B019  # targets are few, and small
    def achieved(self, randomizer: Randomizer) -> Value:
        return _goal(self).achieved(Aggregated(randomizer, self.n, colluders=self.colluders))

    def likely(self, randomizer: Randomizer) -> float:
        """As if sums were normal."""
        squares = 0.0
        for counter in Aggregated(randomizer, self.n, colluders=self.colluders).counters():
            if isinstance(counter, BitCounter):
                moved = counter.bits.one - counter.bits.other_one
                variance = counter.others * min(counter.bits.variances)
            else:
                assert isinstance(counter, NoisyCounter)
                moved, variance = counter.most, counter.noise.variance
            squares += moved**2 / max(variance, 1e-300)
        return gaussian_delta(min(math.sqrt(self.rounds * squares), 1e3), self.epsilon)


def _noisy_number(steps: int, laplace: bool, strength: float) -> Randomizer:
    """Noise on a grid so coarse that sums of it can be listed."""
    if laplace:
        return DiscreteLaplace(steps, eps0=strength)
    return DiscreteGaussian(steps, drawable_spread(max(steps / strength, _THINNEST) ** 2))


def summed(task: Histogram | Mean, target: Target, randomizer: str) -> Shape:
    """Bits of unary encodings, or numbers with noise of each user, that are added up."""
    within = _SummedTarget(
        target.epsilon, target.delta, target.n, target.rounds, target.max_eps0, target.colluders
    )
    build = task.randomizers()[randomizer]
    if isinstance(task, Mean):
        build = partial(
            _noisy_number, min(levels(target, heavy=True), _COARSE), randomizer == "laplace"
        )
    _, found = within.largest(build)
    eps0 = found.randomizer.eps0
    return Shape(
        f"summed-{randomizer}",
        _SUM,
        eps0 if math.isfinite(eps0) else None,
        1.0,
        math.sqrt(task.variance(found, target.n)),
        within.achieved(found.randomizer),
        Aggregated(found.randomizer, target.n, colluders=target.colluders),
        found,
    )
