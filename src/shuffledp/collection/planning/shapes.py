"""Other shapes of a histogram at the same guarantee: dummies, summed encodings, shares of noise.

Users send more than one message, or a vector that only a secure sum may see. And what colluding or
malicious users could do to a plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shuffledp.accounting.protocols import Aggregated, Counted, Rounds, Shuffled, WithDummies
from shuffledp.accounting.randomizers import Randomizer, optimised_unary, rappor
from shuffledp.accounting.randomizers.noise import NoiseShare, PoissonNoise, PolyaNoise
from shuffledp.collection.analysis.support import Support, law
from shuffledp.collection.devices import Device
from shuffledp.collection.planning.plan import Choice
from shuffledp.collection.planning.target import Target
from shuffledp.collection.planning.tasks import Histogram, Task
from shuffledp.errors import ParameterError, ShuffleDPError
from shuffledp.labels import Value
from shuffledp.numerics.search import bisect

SHARES = (0.0, 0.01, 0.1)
"""Of the users: so many might collude, or lie."""
_MOST_RATE, _MOST_SCALE = 1e7, 1e7
_PRECISION = 1e-3


@dataclass(frozen=True)
class Shape:
    """A way to count values other than one shuffled report per user.

    Parameters
    ----------
    name, trust
        What it is, and whom users have to trust with what.
    eps0
        Local budget of what a user sends; None: whoever sees it before it is mixed sees the truth.
    messages
        Sent per user.
    error
        Expected root mean squared error of a frequency.
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


def shapes(
    task: Task,
    target: Target,
    progress: Callable[[Iterable[str]], Iterable[str]] = iter,
) -> tuple[Shape, ...]:
    """All other shapes of a histogram, the smallest error first.

    Examples
    --------
    >>> from shuffledp.collection.planning import Histogram, Target
    >>> found = shapes(Histogram(4), Target(epsilon=1.0, delta=1e-6, n=1000))
    >>> found[-1].error > found[0].error
    True
    """
    if not isinstance(task, Histogram):
        raise ParameterError("several_messages", "asked of a histogram", task.name)
    made: dict[str, Callable[[], Shape]] = {
        "dummies": lambda: _dummies(task, target),
        "noise shares": lambda: _noise(task, target),
        "summed RAPPOR": lambda: _encoded(task, target, "summed RAPPOR", rappor),
        "summed OUE": lambda: _encoded(task, target, "summed OUE", optimised_unary),
    }
    found = [made[name]() for name in progress(made)]
    return tuple(sorted(found, key=lambda shape: shape.error))


def _achieved(protocol: Counted, target: Target) -> Value:
    whole = protocol if target.rounds == 1 else Rounds([(protocol, target.rounds)])
    return whole.guaranteed(epsilon=target.epsilon)


def _least(make: Callable[[float], Counted], target: Target, most: float) -> float:
    """(Nearly) the least noise that meets the target."""

    def enough(log_size: float) -> bool:
        return _achieved(make(math.exp(log_size)), target).value <= target.delta

    low, high = math.log(1e-2), math.log(most)
    if not enough(high):
        raise ParameterError("epsilon", "reachable with noise that can be listed", target.epsilon)
    return math.exp(bisect(enough, high, low, within=_PRECISION).good)


def _dummies(task: Histogram, target: Target) -> Shape:
    def make(rate: float) -> WithDummies:
        return WithDummies(PoissonNoise(rate), target.n)

    rate = _least(make, target, _MOST_RATE)
    return Shape(
        "dummies",
        "shuffler, with true values",
        None,
        1.0 + task.k * rate / target.n,
        math.sqrt(rate) / target.n,
        _achieved(make(rate), target),
        make(rate),
    )


def _noise(task: Histogram, target: Target) -> Shape:
    def make(scale: float) -> Aggregated:
        return Aggregated(NoiseShare(PolyaNoise(1.0 / target.n, scale), k=task.k), target.n)

    # a pure budget always suffices
    scale = whole = 2.0 * target.rounds / target.epsilon
    for factor in (0.98, 0.95, 0.9, 0.8, 0.65, 0.5):
        try:
            if _achieved(make(factor * whole), target).value > target.delta:
                break
        except ShuffleDPError:
            break
        scale = factor * whole
    total = PolyaNoise(1.0, scale)
    return Shape(
        "noise shares",
        "secure sum",
        None,
        1.0,
        math.sqrt(total.variance) / target.n,
        _achieved(make(scale), target),
        make(scale),
    )


@dataclass(frozen=True)
class _SummedTarget(Target):
    """The same guarantee where only sums are released."""

    @lru_cache(maxsize=256)  # noqa: B019  # targets are few, and small
    def achieved(self, randomizer: Randomizer) -> Value:
        return _achieved(Aggregated(randomizer, self.n), self)


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


@dataclass(frozen=True)
class Attack:
    """What a share of the users could do: tell what they sent, or send what they like.

    Parameters
    ----------
    share
        Of the users.
    epsilon
        Of all others, if these collude with the analyst; None where nothing is proven any more.
    bias
        By which they can move a frequency if they lie; None where no bound is known: numbers, and
        shares of noise that nobody checks.
    """

    share: float
    epsilon: float | None
    bias: float | None


def attacks(choice: Choice | Shape, target: Target) -> list[Attack]:
    """What 0, 1 and 10 % of the users could do to a plan.

    Examples
    --------
    >>> from shuffledp.collection.planning import Histogram, Target, plan
    >>> target = Target(epsilon=1.0, delta=1e-6, n=1000)
    >>> best = plan(Histogram(4), target).best
    >>> [attack.share for attack in attacks(best, target)]
    [0.0, 0.01, 0.1]
    """
    found = []
    for share in SHARES:
        users = math.ceil(share * target.n)
        per_user = _per_user(choice)
        bias = None if per_user is None else users * per_user / target.n
        found.append(Attack(share, _epsilon(choice, target, users), 0.0 if not users else bias))
    return found


def _epsilon(choice: Choice | Shape, target: Target, colluders: int) -> float | None:
    try:
        protocol: Shuffled | Counted
        if isinstance(choice, Choice):
            assert choice.device is not None
            protocol = Shuffled(choice.device.randomizer, target.n, colluders)
        elif isinstance(choice.protocol, Aggregated):
            protocol = Aggregated(choice.protocol.randomizer, target.n, colluders=colluders)
        else:
            protocol = choice.protocol  # the shuffler's dummies hide whoever is honest
        return Rounds([(protocol, target.rounds)]).guaranteed(delta=target.delta).value
    except ShuffleDPError:
        return None


def _per_user(choice: Choice | Shape) -> float | None:
    """How far one report moves its share of a frequency, at most."""
    if isinstance(choice, Shape) and choice.device is None:
        return 1.0 if isinstance(choice.protocol, WithDummies) else None
    assert choice.device is not None
    try:
        support = law(choice.device.speaking)
    except ParameterError:  # not a count of values
        return None
    return 1.0 / support.gap if isinstance(support, Support) else None
