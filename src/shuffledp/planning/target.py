"""The guarantee asked for, and the largest local budget that meets it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from shuffledp import checks
from shuffledp.curves import ProfileCurve
from shuffledp.errors import RegimeError
from shuffledp.labels import Value
from shuffledp.numerics.enclosure import SEARCH
from shuffledp.protocols import Rounds, Shuffled
from shuffledp.randomizers import Randomizer
from shuffledp.sampling import Device, device

_MOST = 40.0
_PRECISION = 1e-3
_ROUNDS_PRECISION = 1e-2
"""Composing takes time; the error hardly depends on the last per cent of the budget."""


@dataclass(frozen=True)
class Target:
    """(epsilon, delta) for n users over all rounds together."""

    epsilon: float
    delta: float
    n: int
    rounds: int = 1

    def __post_init__(self) -> None:
        checks.positive("epsilon", self.epsilon)
        checks.probability("delta", self.delta)
        object.__setattr__(self, "n", checks.count("n", self.n))
        object.__setattr__(self, "rounds", checks.count("rounds", self.rounds))

    @lru_cache(maxsize=256)  # noqa: B019  # targets are few, and small
    def achieved(self, randomizer: Randomizer) -> Value:
        """delta at the target epsilon, all rounds composed, proven."""
        protocol = Shuffled(randomizer, self.n)
        if self.rounds == 1:
            return _guarantee(protocol, self.epsilon)
        return Rounds([(protocol, self.rounds)]).bound("composition", epsilon=self.epsilon)

    def holds(self, randomizer: Randomizer) -> bool:
        """Whether reports of this randomizer meet the target."""
        return (
            self.rounds * randomizer.eps0 <= self.epsilon
            or self.achieved(randomizer).value <= self.delta
        )

    def largest(self, build: Callable[[float], Randomizer]) -> Device:
        """The device of (nearly) the largest budget that meets the target.

        What is checked is what the device really runs.
        """
        low = self.epsilon / self.rounds
        high, precision = 2.0 * low, _PRECISION
        if self.rounds > 1:
            # an equal share for every round is too little, all for one round too much
            share = replace(self, epsilon=low, delta=self.delta / self.rounds, rounds=1).largest(
                build
            )
            whole = replace(self, rounds=1).largest(build)
            low, high = share.randomizer.eps0, 1.01 * whole.randomizer.eps0
            precision = _ROUNDS_PRECISION
        else:
            while high < _MOST and self.holds(device(build(high)).randomizer):
                low, high = high, 2.0 * high
            high = min(high, _MOST)
        while high - low > precision * low:
            middle = 0.5 * (low + high)
            if self.holds(device(build(middle)).randomizer):
                low = middle
            else:
                high = middle
        return device(build(low))


def _guarantee(protocol: Shuffled, epsilon: float) -> Value:
    """delta at epsilon as far as it is guaranteed, quickly."""
    found = []
    for bound in protocol.candidates()[0]:
        try:
            curve = protocol.curve(bound.theorem.id)
        except RegimeError:
            continue
        if isinstance(curve, ProfileCurve):
            delta = curve.enclose(epsilon, SEARCH).upper
        else:
            delta = curve.delta(epsilon)
        theorem = bound.theorem
        found.append(Value(delta, theorem.status, theorem.direction, theorem.id, theorem.note))
    return min(found, key=lambda value: value.value)
