"""Other shapes at the same guarantee: dummies, thresholds, secure sums, split messages.

Users send more than one message, or a vector that only a secure sum may see, or trust the shuffler
with more than an order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shuffledp.accounting.protocols import Aggregated, Counted, SampleThreshold, WithDummies
from shuffledp.accounting.protocols.smallest import (
    Goal,
    Smallest,
    laplace_dummies,
    noise_shares,
    poisson_dummies,
    sample_threshold,
    split_and_mix,
)
from shuffledp.accounting.protocols.split import SplitAndMix
from shuffledp.accounting.randomizers import KRR, Randomizer, optimised_unary, rappor
from shuffledp.accounting.randomizers.noise import NoiseShare
from shuffledp.collection.analysis.support import Support, law
from shuffledp.collection.devices import Device, device
from shuffledp.collection.planning.target import Target
from shuffledp.collection.planning.tasks import Histogram, Mean, Task
from shuffledp.errors import ParameterError
from shuffledp.labels import Value

_RATES = (0.5, 0.85)
"""Shares of 1 - exp(-epsilon): probabilities of reporting that are tried."""
_MORE = 1.0
"""Local budget beyond that of shuffled reports, where dummies are added."""
_FINEST, _COARSEST = 20_000.0, 8
"""Noise of a larger scale takes long to account for; values are put on a grid at least so fine."""


@dataclass(frozen=True)
class Shape:
    """A way to count values, or to add numbers, other than one shuffled report per user.

    Parameters
    ----------
    name, trust
        What it is, and whom users have to trust with what.
    eps0
        Local budget of what a user sends; None: whoever sees it before it is mixed sees the truth.
    messages
        Sent per user.
    error
        Expected root mean squared error of a frequency, or of the mean.
    achieved
        delta at the target epsilon, labelled.
    protocol
        What is accounted for.
    device
        What runs it, where each user randomizes.
    """

    name: str
    trust: str
    eps0: float | None
    messages: float
    error: float
    achieved: Value
    protocol: Counted
    device: Device | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "name": self.name,
            "trust": self.trust,
            "eps0": self.eps0,
            "messages": self.messages,
            "error": self.error,
            "delta": self.achieved.to_dict(),
            "protocol": str(self.protocol),
        }


def makers(task: Task, target: Target) -> dict[str, Callable[[], Shape]]:
    """By name: what finds the best shape of this kind.

    Parameters
    ----------
    task
        A histogram or a mean.
    target
        The guarantee, the users, the rounds.
    """
    if isinstance(task, Mean):
        return {
            "noise-shares": lambda: _noise_shares(task, target),
            "split-and-mix": lambda: _split(task, target),
        }
    if not isinstance(task, Histogram):
        raise ParameterError("several_messages", "asked of a histogram or a mean", task.name)
    return {
        "dummies": lambda: _dummies(task, target),
        "user-dummies": lambda: _dummies(task, target, by_users=True),
        "krr-dummies": lambda: _randomized_dummies(task, target),
        "laplace-dummies": lambda: _laplace_dummies(task, target),
        "noise-shares": lambda: _noise_shares(task, target),
        "split-and-mix": lambda: _split(task, target),
        "sample-threshold": lambda: _thresholds(task, target),
        "summed-rappor": lambda: _encoded(task, target, "summed-rappor", rappor),
        "summed-oue": lambda: _encoded(task, target, "summed-oue", optimised_unary),
    }


def shapes(
    task: Task,
    target: Target,
    progress: Callable[[Iterable[str]], Iterable[str]] = iter,
) -> tuple[Shape, ...]:
    """All other shapes of a histogram or a mean, the smallest error first.

    Those that cannot meet the target, or not with laws that can be listed, are left out.

    Examples
    --------
    >>> from shuffledp.collection.planning import Histogram, Target
    >>> found = shapes(Histogram(4), Target(epsilon=1.0, delta=1e-6, n=1000))
    >>> found[-1].error > found[0].error
    True
    """
    made, found = makers(task, target), []
    for name in progress(made):
        try:
            found.append(made[name]())
        except ParameterError:
            continue
    return tuple(sorted(found, key=lambda shape: shape.error))


def _goal(target: Target) -> Goal:
    return Goal(target.epsilon, target.delta, target.rounds)


def _dummies(task: Histogram, target: Target, by_users: bool = False) -> Shape:
    found = poisson_dummies(_goal(target), target.n, by_users=by_users)
    return Shape(
        "user-dummies" if by_users else "dummies",
        "shuffler, with true values",
        None,
        1.0 + task.k * found.value / target.n,
        math.sqrt(found.value) / target.n,
        found.achieved,
        found.protocol,
    )


def _randomized_dummies(task: Histogram, target: Target) -> Shape:
    """A larger local budget than shuffling alone allows; dummies make up for it."""
    strength, _ = target.largest(lambda eps0: KRR(task.k, eps0=eps0))
    machine = device(KRR(task.k, eps0=strength + _MORE))
    randomizer, known = machine.randomizer, law(machine)
    assert isinstance(randomizer, KRR)
    assert isinstance(known, Support)
    found = poisson_dummies(_goal(target), target.n, randomizer=randomizer)
    return Shape(
        "krr-dummies",
        "shuffler",
        randomizer.eps0,
        1.0 + task.k * found.value / target.n,
        math.sqrt(task.variance(machine, target.n) + found.value / (known.gap * target.n) ** 2),
        found.achieved,
        found.protocol,
    )


def _laplace_dummies(task: Histogram, target: Target) -> Shape:
    found = laplace_dummies(_goal(target), target.n)
    assert isinstance(found.protocol, WithDummies)
    noise = found.protocol.dummies
    return Shape(
        "laplace-dummies",
        "shuffler, with true values",
        None,
        1.0 + task.k * noise.mean / target.n,
        math.sqrt(noise.variance) / target.n,
        found.achieved,
        found.protocol,
    )


def levels(target: Target) -> int:
    """Steps of the grid that numbers are put on: so fine that rounding adds 2 % to the error."""
    fine = 2.0 * math.sqrt(target.n) * target.epsilon / target.rounds
    longest = _FINEST * target.epsilon / target.rounds
    return max(_COARSEST, math.ceil(min(fine, longest)))


def _added(task: Histogram | Mean, target: Target) -> dict[str, int]:
    """What is summed: counts, or a number."""
    return {"k": task.k} if isinstance(task, Histogram) else {"levels": levels(target)}


def _sum_error(share: NoiseShare, n: int) -> float:
    variance = share.noise.total(n).variance
    if share.k is None:  # values are put on the grid at random
        variance += n / 4.0
    return math.sqrt(variance) / (n * share.levels)


def _noise_shares(task: Histogram | Mean, target: Target) -> Shape:
    found: Smallest = noise_shares(_goal(target), target.n, **_added(task, target))
    assert isinstance(found.protocol, Aggregated)
    share = found.protocol.randomizer
    assert isinstance(share, NoiseShare)
    return Shape(
        "noise-shares",
        "secure sum",
        None,
        1.0,
        _sum_error(share, target.n),
        found.achieved,
        found.protocol,
    )


def _split(task: Histogram | Mean, target: Target) -> Shape:
    found = split_and_mix(_goal(target), target.n, **_added(task, target))
    assert isinstance(found.protocol, SplitAndMix)
    return Shape(
        "split-and-mix",
        "shuffler, with all messages",
        None,
        float(found.protocol.messages * found.protocol.sums),
        _sum_error(found.protocol.share, target.n),
        found.achieved,
        found.protocol,
    )


def _thresholds(task: Histogram, target: Target) -> Shape:
    """The best of some probabilities of reporting; counts that are dropped are off by all."""
    best: Shape | None = None
    for share in _RATES:
        rate = -share * math.expm1(-target.epsilon / target.rounds)
        found = sample_threshold(_goal(target), rate)
        assert isinstance(found.protocol, SampleThreshold)
        holders = target.n / task.k
        error = math.sqrt(holders * (1.0 - rate) / rate)
        if holders * rate < found.value:
            error = holders
        shape = Shape(
            "sample-threshold",
            "shuffler, with true values",
            None,
            rate,
            error / target.n,
            found.achieved,
            found.protocol,
        )
        best = shape if best is None or shape.error < best.error else best
    assert best is not None
    return best


@dataclass(frozen=True)
class _SummedTarget(Target):
    """The same guarantee where only sums are released."""

    @lru_cache(maxsize=256)  # noqa: B019  # targets are few, and small
    def achieved(self, randomizer: Randomizer) -> Value:
        return _goal(self).achieved(Aggregated(randomizer, self.n))


def _encoded(
    task: Histogram, target: Target, name: str, build: Callable[[int, float], Randomizer]
) -> Shape:
    summed = _SummedTarget(target.epsilon, target.delta, target.n, target.rounds)
    _, found = summed.largest(lambda eps0: build(task.k, eps0))
    return Shape(
        name,
        "secure sum",
        found.randomizer.eps0,
        1.0,
        math.sqrt(task.variance(found, target.n)),
        summed.achieved(found.randomizer),
        Aggregated(found.randomizer, target.n),
        found,
    )
