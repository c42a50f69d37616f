"""The inverse for protocols whose analyst sees numbers: the least noise that meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shuffledp import checks
from shuffledp.accounting.protocols.counted import Counted
from shuffledp.accounting.protocols.noise_families import DUMMIES, FAMILIES
from shuffledp.accounting.protocols.paired import PairedDummies
from shuffledp.accounting.protocols.rounds import Rounds
from shuffledp.accounting.protocols.shapes import Aggregated, SampleThreshold, WithDummies
from shuffledp.accounting.protocols.split import SplitAndMix, roomy
from shuffledp.accounting.randomizers import KRR, Randomizer
from shuffledp.accounting.randomizers.noise import (
    NegativeBinomialNoise,
    NoiseShare,
    PolyaNoise,
    TruncatedLaplaceNoise,
)
from shuffledp.errors import ConversionError, ParameterError, RegimeError
from shuffledp.labels import Value
from shuffledp.numerics.rounding import up
from shuffledp.numerics.search import bisect, bisect_whole, log_log_excess, steered
from shuffledp.numerics.split import split_distance

_PRECISION = 1e-3
_LEAST_VARIANCE, _MOST_VARIANCE, _STRIDE = 1e-2, 1e13, 2.0
_NEAR = 0.005
"""A delta half a percent below its target will do."""
_MOST_CENTRE, _MOST_MESSAGES = 10**6, 200
_MOST_THRESHOLD, _LEAST_DELTA, _ABOVE = 1 << 14, 1e-300, 1e-16
_SPLIT = 0.1
"""Of delta, for what shares tell besides their sum."""
_STEPS = 1 << 20
"""Scales that a device can draw exactly are inverses of multiples of its inverse."""
_LARGEST_EPS0 = 60.0
_STRETCH, _SLOPE, _FEWEST_PAIRS, _MOST_PAIRS = 1.1, 0.7, 16.0, 4096.0
"""Of dummies that cancel: their noise over the least there is, the slope of the law of pairs in
what that leaves of epsilon, and shapes of it that are tried first and last."""


@dataclass(frozen=True)
class Goal:
    """(epsilon, delta), all rounds together."""

    epsilon: float
    delta: float
    rounds: int = 1

    def __post_init__(self) -> None:
        checks.positive("epsilon", self.epsilon)
        checks.probability("delta", self.delta)
        object.__setattr__(self, "rounds", checks.count("rounds", self.rounds))

    def achieved(self, protocol: Counted) -> Value:
        """delta at the goal's epsilon, proven."""
        whole = protocol if self.rounds == 1 else Rounds([(protocol, self.rounds)])
        return whole.guaranteed(epsilon=self.epsilon)

    def reached(self, protocol: Counted) -> float:
        """That delta, or 1 where nothing is proven."""
        try:
            return self.achieved(protocol).value
        except (ParameterError, RegimeError, ConversionError):
            return 1.0

    def met(self, protocol: Counted) -> bool:
        """Whether that is proven to be small enough."""
        return self.reached(protocol) <= self.delta

    def excess(self, protocol: Counted) -> float:
        """ln of that delta over the target: positive if and only if it is above."""
        reached = self.reached(protocol)
        found = math.log(max(reached, _LEAST_DELTA) / self.delta)
        return min(found, 0.0) if reached <= self.delta else max(found, _ABOVE)

    def missed(self) -> ParameterError:
        """For noise that would be too much."""
        return ParameterError("epsilon", "reachable with noise that can be listed", self.epsilon)


@dataclass(frozen=True)
class Smallest:
    """The parameter found, the protocol with it, and delta at the goal's epsilon."""

    parameter: str
    value: float
    protocol: Counted
    achieved: Value

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "parameter": self.parameter,
            "value": self.value,
            "protocol": str(self.protocol),
            "delta": self.achieved.to_dict(),
        }


def _found(parameter: str, value: float, protocol: Counted, goal: Goal) -> Smallest:
    return Smallest(parameter, value, protocol, goal.achieved(protocol))


def dummies(
    goal: Goal,
    n: int,
    *,
    family: str = "poisson",
    by_users: bool = False,
    randomizer: KRR | None = None,
    colluders: int = 0,
) -> Smallest:
    """The fewest dummies per value of a law, of the shuffler or of all users together."""
    build = FAMILIES[checks.one_of("noise", family, DUMMIES)]

    def make(variance: float) -> WithDummies:
        noise = build(variance, n if by_users else 1)
        return WithDummies(noise, n, by_users=by_users, colluders=colluders, randomizer=randomizer)

    made = make(_least_variance(goal, make, _gaussian(goal, 1.0)))
    total = made.dummies.total(n) if by_users else made.dummies
    return _found("rate" if family == "poisson" else "mean", total.mean, made, goal)


def noise_shares_of(
    goal: Goal,
    n: int,
    family: str,
    k: int | None = None,
    levels: int = 1,
    colluders: int = 0,
) -> Smallest:
    """The least noise of a law, in shares of all users, in a secure sum."""
    build = FAMILIES[checks.one_of("noise", family, FAMILIES)]

    def make(variance: float) -> Aggregated:
        return Aggregated(NoiseShare(build(variance, n), k, levels), n, colluders=colluders)

    moved = 2.0 if k is not None else float(levels) ** 2
    made = make(_least_variance(goal, make, _gaussian(goal, moved)))
    return _found("variance", made.noise_of_all(n).variance, made, goal)


def _gaussian(goal: Goal, moved: float) -> float:
    """About the variance of normal noise for a move of this square."""
    return 2.0 * goal.rounds * moved * math.log(1.25 / goal.delta) / goal.epsilon**2


def _least_variance(goal: Goal, make: Callable[[float], Counted], guess: float) -> float:
    """Nearly the least that meets the goal."""

    @lru_cache(maxsize=64)
    def excess(variance: float) -> float:
        return log_log_excess(goal.reached(make(variance)), goal.delta)

    high = guess
    while excess(high) > 0.0:
        if high >= _MOST_VARIANCE:
            raise goal.missed()
        high *= _STRIDE
    low = high / _STRIDE
    while high <= guess and low > _LEAST_VARIANCE and excess(low) <= 0.0:
        high, low = low, low / _STRIDE
    near = math.log1p(-_NEAR / math.log(goal.delta))
    return steered(excess, high, low, share=_PRECISION, near=near).good


def laplace_dummies(goal: Goal, n: int, colluders: int = 0) -> Smallest:
    """Dummies in numbers of truncated Laplace law: the smallest scale, then the fewest."""

    def make(scale: float, centre: int) -> WithDummies:
        return WithDummies(TruncatedLaplaceNoise(centre, scale), n, colluders=colluders)

    def drawable(scale: float) -> float:
        return _STEPS / max(math.floor(_STEPS / scale), 1)

    def far(scale: float) -> int:
        return min(math.ceil(scale * (60.0 - 2.0 * math.log(goal.delta))) + 1, _MOST_CENTRE)

    whole = drawable(2.0 * goal.rounds / goal.epsilon)
    if not goal.met(make(whole, far(whole))):
        raise goal.missed()
    least = bisect(
        lambda x: goal.met(make(drawable(x), far(x))), whole, 0.01 * whole, share=0.01
    ).good
    # a little more than the least, so that few dummies are enough
    scale = drawable(min(1.005 * least, whole))
    fewest = bisect_whole(lambda centre: goal.met(make(scale, centre)), far(scale), 0).good
    return _found("centre", fewest, make(scale, fewest), goal)


def noise_shares(
    goal: Goal, n: int, k: int | None = None, levels: int = 1, colluders: int = 0
) -> Smallest:
    """The smallest scale of discrete Laplace noise, in shares of all users, in a secure sum."""
    honest = _honest(n, colluders)

    def make(scale: float) -> Aggregated:
        return Aggregated(_share(honest, k, levels, scale), n, colluders=colluders)

    return _least_scale(goal, k, levels, make)


def split_and_mix(
    goal: Goal,
    n: int,
    k: int | None = None,
    levels: int = 1,
    colluders: int = 0,
    users: int | None = None,
) -> Smallest:
    """The same through a shuffler, with as few messages as hide everything but the sum.

    No sum of up to ``users`` (n unless given) wraps around.
    """
    sums, honest = 1 if k is None else 2, _honest(n, colluders)
    slack = _SPLIT * goal.delta / (goal.rounds * sums * (1.0 + math.exp(min(goal.epsilon, 700.0))))
    share = _share(honest, k, levels, _whole(goal, k, levels))
    modulus = roomy(share, n if users is None else users)
    messages = next(
        (m for m in range(3, _MOST_MESSAGES) if split_distance(honest, m, modulus) <= slack), None
    )
    if messages is None:
        raise ParameterError("n", f"enough to hide in {_MOST_MESSAGES} messages each", n)

    def make(scale: float) -> SplitAndMix:
        share = _share(honest, k, levels, scale)
        return SplitAndMix(share, n, messages, modulus, colluders=colluders)

    return _least_scale(goal, k, levels, make)


def paired_dummies(goal: Goal, n: int, colluders: int = 0) -> Smallest:
    """Messages for and against every value, a tenth more noise than a secure sum needs: the
    fewest pairs that hide them."""
    whole = noise_shares(goal, n, k=2, colluders=colluders).value
    honest = _honest(n, colluders)
    noise = NegativeBinomialNoise(1.0 / honest, math.exp(-1.0 / (_STRETCH * whole)))
    ratio = math.exp(-_SLOPE * (1.0 - 1.0 / _STRETCH) / whole)

    def make(shape: float) -> PairedDummies:
        return PairedDummies(
            noise, NegativeBinomialNoise(shape / honest, ratio), n, colluders=colluders
        )

    @lru_cache(maxsize=64)
    def excess(shape: float) -> float:
        return goal.excess(make(shape))

    high = _FEWEST_PAIRS
    try:
        goal.achieved(make(high))
    except RegimeError:  # more pairs have more outcomes
        raise goal.missed() from None
    while excess(high) > 0.0:
        if high >= _MOST_PAIRS:
            raise goal.missed()
        high *= 2.0
    made = make(steered(excess, high, 0.5 * high, share=0.02, near=0.02).good)
    return _found("pairs", made.pairs.total(n).mean, made, goal)


def _honest(n: int, colluders: int) -> int:
    """Users whose shares are sure to be secret."""
    if colluders >= n:
        raise ParameterError("colluders", f"fewer than the {n:,} users", colluders)
    return n - colluders


def _share(n: int, k: int | None, levels: int, scale: float) -> NoiseShare:
    return NoiseShare(PolyaNoise(1.0 / n, scale), k, levels)


def _whole(goal: Goal, k: int | None, levels: int) -> float:
    """A scale that needs no delta."""
    return (levels if k is None else 2.0) * goal.rounds / goal.epsilon


def _least_scale(
    goal: Goal, k: int | None, levels: int, make: Callable[[float], Counted]
) -> Smallest:
    whole = up(_whole(goal, k, levels), 1e-9)
    if not goal.met(make(whole)):
        raise goal.missed()
    least = bisect(lambda x: goal.met(make(x)), whole, 0.01 * whole, share=0.01).good
    return _found("scale", least, make(least), goal)


def sample_threshold(goal: Goal, rate: float, n: int | None = None) -> Smallest:
    """The smallest threshold for users who report with this probability."""

    def make(threshold: int) -> SampleThreshold:
        return SampleThreshold(rate, threshold, n=n, neighbours="replace")

    @lru_cache(maxsize=64)
    def excess(threshold: int) -> float:
        """Nearly straight in the threshold; nothing is shown below 1."""
        if threshold < 1:
            return math.inf
        return goal.excess(make(threshold))

    before, low, high = 0, 2, 8
    while excess(low) > 0.0 and excess(high) > 0.0:
        if high >= _MOST_THRESHOLD:
            raise ParameterError("rate", "small enough for the target", rate)
        slope = (excess(high) - excess(low)) / (high - low)
        further = high - excess(high) / min(slope, -1e-3)
        before, low, high = low, high, min(max(math.ceil(further), high + 1), 4 * high)
    ends = (high, low) if excess(low) > 0.0 else (low, before)
    fewest = steered(excess, *ends).good
    return _found("threshold", fewest, make(fewest), goal)


def summed(
    goal: Goal,
    n: int,
    family: Callable[[float], Randomizer],
    neighbours: str = "replace",
    colluders: int = 0,
) -> Smallest:
    """The largest local budget of reports of which only the sum is released."""

    def make(eps0: float) -> Aggregated:
        return Aggregated(family(eps0), n, neighbours, colluders)

    low = goal.epsilon / goal.rounds
    if not goal.met(make(low)):
        raise goal.missed()
    best = _LARGEST_EPS0
    if not goal.met(make(best)):
        best = bisect(lambda eps0: goal.met(make(eps0)), low, best, share=_PRECISION).good
    return _found("eps0", best, make(best), goal)
