"""The guarantee asked for, and the largest local budget that meets it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from shuffledp import checks
from shuffledp.accounting.protocols import Rounds, Shuffled, Stated
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.collection.devices import Device, device
from shuffledp.labels import Value
from shuffledp.numerics.enclosure import SEARCH
from shuffledp.numerics.search import bisect

Builder = Callable[[float], Randomizer]
"""From a strength: eps0, or, for Gaussian noise, the largest distance of two values over sigma."""
_MOST = 40.0
_PRECISION = 1e-3
_NEAR, _FAR = 0.02, 60.0
"""A delta 2 % below its target will do; e^60 times off is as good as further."""


@dataclass(frozen=True)
class Target:
    """(epsilon, delta) for n users over all rounds together.

    Parameters
    ----------
    epsilon, delta
        The guarantee.
    n
        Number of users.
    rounds
        How often they report.
    """

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
        """delta at the target epsilon, all rounds composed, proven: as small as needed."""
        protocol = Shuffled(randomizer, self.n)
        if self.rounds == 1:
            return protocol.proven().quick_delta(self.epsilon, SEARCH, wanted=self.delta)
        return Rounds([(protocol, self.rounds)]).bound("composition", epsilon=self.epsilon)

    def unshuffled(self) -> float:
        """The largest pure budget of a report that needs no shuffler, all rounds together."""
        if self.rounds == 1:
            return self.epsilon

        def fits(epsilon: float) -> bool:
            found = Rounds([(Stated(epsilon), self.rounds)]).guaranteed(delta=self.delta)
            return found.value <= self.epsilon

        low, high = self.epsilon / self.rounds, self.epsilon
        return bisect(fits, low, high, share=_PRECISION).good

    def largest(self, build: Builder) -> tuple[float, Device]:
        """(Nearly) the largest strength that meets the target, and its device.

        What is checked is what the device really runs.
        """
        low = self.epsilon / self.rounds
        high = 2.0 * low

        def excess(strength: float) -> float:
            """How far delta is beyond the target, as a logarithm."""
            randomizer = device(build(strength)).randomizer
            if self.rounds * randomizer.eps0 <= self.epsilon:
                return -_FAR
            return math.log(max(self.achieved(randomizer).value / self.delta, math.exp(-_FAR)))

        if self.rounds > 1:
            # an equal share for every round is too little, all for one round too much
            share = replace(self, epsilon=low, delta=self.delta / self.rounds, rounds=1)
            low = share.largest(build)[0]
            high = 1.01 * replace(self, rounds=1).largest(build)[0]
            below, above = -_FAR, _FAR
        else:
            while (below := excess(low)) > 0.0:  # without a pure budget less may be needed
                low, high = 0.5 * low, low
            above = _FAR
            while high < _MOST and (above := excess(high)) <= 0.0:
                low, below, high, above = high, above, 2.0 * high, _FAR
            high = min(high, _MOST)
        for step in itertools.count():
            if high - low <= _PRECISION * low or below >= -_NEAR:
                return low, device(build(low))
            share_of_gap = 0.5 if step % 3 == 2 else below / (below - above)
            middle = low + min(max(share_of_gap, 0.05), 0.95) * (high - low)
            found = excess(middle)
            if found <= 0.0:
                low, below = middle, found
            else:
                high, above = middle, found
        raise AssertionError
