"""The guarantee asked for, and the largest local budget that meets it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from shuffledp import checks
from shuffledp.bounds import Bound
from shuffledp.curves import ProfileCurve
from shuffledp.errors import RegimeError
from shuffledp.labels import Interval
from shuffledp.numerics.enclosure import SEARCH
from shuffledp.protocols import Shuffled
from shuffledp.randomizers import Randomizer
from shuffledp.sampling import Device, device

_MOST = 40.0
_PRECISION = 1e-3


@dataclass(frozen=True)
class Target:
    """(epsilon, delta) for n users over all rounds; every round gets an equal share of both."""

    epsilon: float
    delta: float
    n: int
    rounds: int = 1

    def __post_init__(self) -> None:
        checks.positive("epsilon", self.epsilon)
        checks.probability("delta", self.delta)
        object.__setattr__(self, "n", checks.count("n", self.n))
        object.__setattr__(self, "rounds", checks.count("rounds", self.rounds))

    @property
    def share(self) -> tuple[float, float]:
        """epsilon and delta of one round."""
        return self.epsilon / self.rounds, self.delta / self.rounds

    @lru_cache(maxsize=256)  # noqa: B019  # targets are few, and small
    def holds(self, randomizer: Randomizer) -> bool:
        """Whether reports of this randomizer meet the target, proven."""
        epsilon, delta = self.share
        if randomizer.eps0 <= epsilon:
            return True
        guarantees, _ = Shuffled(randomizer, self.n).candidates()
        return any(self._delta(bound, randomizer, epsilon) <= delta for bound in guarantees)

    def _delta(self, bound: Bound, randomizer: Randomizer, epsilon: float) -> float:
        try:
            curve = bound.curve(randomizer, self.n)
        except RegimeError:
            return 1.0
        if isinstance(curve, ProfileCurve):
            return curve.enclose(epsilon, SEARCH).upper
        return curve.delta(epsilon)

    def achieved(self, randomizer: Randomizer) -> Interval:
        """epsilon of one round at its delta."""
        return Shuffled(randomizer, self.n).epsilon(self.share[1])

    def largest(self, build: Callable[[float], Randomizer]) -> Device:
        """The device of largest budget, to one part in a thousand, that meets the target.

        What is checked is what the device really runs.
        """
        low, _ = self.share
        high = 2.0 * low
        while high < _MOST and self.holds(device(build(high)).randomizer):
            low, high = high, 2.0 * high
        high = min(high, _MOST)
        while high - low > _PRECISION * low:
            middle = 0.5 * (low + high)
            if self.holds(device(build(middle)).randomizer):
                low = middle
            else:
                high = middle
        return device(build(low))
