"""The guarantee asked for, and the largest local budget that meets it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from shuffledp import checks
from shuffledp.accounting.bounds.swap_gaussian import MOST_DIAMETER
from shuffledp.accounting.curves.gdp import gaussian_delta
from shuffledp.accounting.protocols import Rounds, Shuffled, Stated
from shuffledp.accounting.protocols.gaussian import enough_noise, least_scale
from shuffledp.accounting.protocols.likely import likely_delta
from shuffledp.accounting.randomizers import Gaussian, Randomizer
from shuffledp.collection.devices import Device, device
from shuffledp.errors import ParameterError
from shuffledp.labels import Value
from shuffledp.numerics.enclosure import COARSE, SEARCH
from shuffledp.numerics.search import bisect, foreseen, grown, log_log_excess, steered

Builder = Callable[[float], Randomizer]
"""From a strength: eps0, or, for Gaussian noise, the largest distance of two values over sigma."""
_MOST = 40.0
_PRECISION = 1e-3
_EDGE = (1.0 - 1e-5) * MOST_DIAMETER
"""Normal noise for which the tightest theorem still speaks; just beyond delta jumps."""
_CLOSE = 0.01
"""A delta whose logarithm is so close to its target's is asked for exactly."""
NEAR = 0.02
"""A delta 2 % below its target will do."""


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
    max_eps0
        Largest local budget allowed: what is left if the shuffler fails.
    colluders
        Users who tell the analyst what they sent.
    """

    epsilon: float
    delta: float
    n: int
    rounds: int = 1
    max_eps0: float = math.inf
    colluders: int = 0

    def __post_init__(self) -> None:
        checks.positive("epsilon", self.epsilon)
        checks.probability("delta", self.delta)
        object.__setattr__(self, "n", checks.count("n", self.n))
        object.__setattr__(self, "rounds", checks.count("rounds", self.rounds))
        if self.max_eps0 != math.inf:
            checks.positive("max_eps0", self.max_eps0)
        checks.whole("colluders", self.colluders, 0)

    @lru_cache(maxsize=256)  # noqa: B019  # targets are few, and small
    def achieved(self, randomizer: Randomizer) -> Value:
        """delta at the target epsilon, all rounds composed, proven: as small as needed."""
        protocol = Shuffled(randomizer, self.n, self.colluders)
        if self.rounds == 1:
            return protocol.proven().quick_delta(self.epsilon, SEARCH, wanted=self.delta)
        return Rounds([(protocol, self.rounds)]).bound("composition", epsilon=self.epsilon)

    def likely(self, randomizer: Randomizer) -> float | None:
        """About what that is, by a limit theorem, where that is much less work."""
        if self.rounds == 1:
            return None
        return likely_delta(Shuffled(randomizer, self.n) ** self.rounds, self.epsilon)

    def apart(self, messages: int) -> Target:
        """The same guarantee where users send so many messages, each shuffled by itself."""
        return replace(self, rounds=self.rounds * messages)

    @property
    def mu(self) -> float:
        """The distance of two normal laws as hard to tell apart as the target allows."""
        return bisect(
            lambda mu: gaussian_delta(mu, self.epsilon) <= self.delta, 0.0, 1e6, share=1e-9
        ).good

    @property
    def about(self) -> float:
        """About the budget that reports of few values may have."""
        honest = max(self.n - self.colluders, 1)
        return math.log1p(0.25 * honest * self.mu**2 / self.rounds)

    @lru_cache(maxsize=256)  # noqa: B019  # targets are few, and small
    def unshuffled(self) -> float:
        """The largest pure budget of a report that needs no shuffler, all rounds together."""
        if self.rounds == 1:
            return self.epsilon

        def fits(epsilon: float) -> bool:
            together = Rounds([(Stated(epsilon), self.rounds)])
            return together.guaranteed(epsilon=self.epsilon).value <= self.delta

        low, high = self.epsilon / self.rounds, self.epsilon
        return bisect(fits, low, high, share=_PRECISION).good

    def _at_most(self, build: Builder) -> tuple[float, Device] | None:
        """The largest budget allowed, if it meets the target; None if less is needed anyway."""
        found = device(build(self.max_eps0))
        if found.randomizer.eps0 > self.max_eps0:
            raise ParameterError("max_eps0", "left out for noise without a pure budget", math.inf)
        within = self.rounds * found.randomizer.eps0 <= self.epsilon
        if within or self.achieved(found.randomizer).value <= self.delta:
            return self.max_eps0, found
        return None

    def _least_noise(self, build: Builder) -> float | None:
        """The largest strength of normal noise on whole values, one round; None for other reports.

        Where delta is far from the target a coarse look will do.
        """

        @lru_cache(maxsize=64)
        def protocol(scale: float) -> Shuffled:
            return Shuffled(device(build(1.0 / scale)).randomizer, self.n, self.colluders)

        if self.rounds > 1 or not isinstance(protocol(1.0).randomizer, Gaussian):
            return None

        def reached(scale: float) -> float:
            proven = protocol(scale).proven()
            for width in (COARSE, SEARCH):
                found = proven.quick_delta(self.epsilon, width, wanted=self.delta).value
                if abs(log_log_excess(found, self.delta)) > _CLOSE:
                    break
            return found

        start = 1.01 * enough_noise(self.epsilon, self.delta)
        scale = least_scale(protocol, reached, self.epsilon, self.delta, start, _PRECISION)
        return 1.0 / scale

    def largest(self, build: Builder) -> tuple[float, Device]:
        """(Nearly) the largest strength that meets the target, and its device.

        What is checked is what the device really runs.
        """
        if self.max_eps0 < _MOST and (capped := self._at_most(build)) is not None:
            return capped
        least = self.epsilon / self.rounds

        @lru_cache(maxsize=64)
        def excess(strength: float) -> float:
            randomizer = device(build(strength)).randomizer
            if self.rounds * randomizer.eps0 <= self.epsilon:
                return log_log_excess(0.0, self.delta)
            return log_log_excess(self.achieved(randomizer).value, self.delta)

        @lru_cache(maxsize=64)
        def likely(strength: float) -> float:
            delta = self.likely(device(build(strength)).randomizer)
            return log_log_excess(1.0 if delta is None else delta, self.delta)

        if (found := self._least_noise(build)) is not None:
            return found, device(build(found))
        limit = self.likely(device(build(least)).randomizer) is not None
        # much noise may take long to account for
        far = limit and least < _MOST and likely(least) < 0.0
        while not far and excess(least) > 0.0:  # without a pure budget less may be needed
            least *= 0.5
        if least >= _MOST:
            return least, device(build(least))
        near = math.log1p(-NEAR / math.log(self.delta))
        if limit:
            share = _PRECISION if self.rounds > 1 else 0.1 * _PRECISION
            found = foreseen(
                excess, likely, least, _MOST, share=share, near=near, start=self.about
            ).good
            while excess(found) > 0.0:  # the limit misled about the least
                found *= 0.5
        else:
            high, low = grown(lambda x: excess(x) > 0.0, 2.0 * least, least, most=_MOST)
            if low < _EDGE < high and math.isinf(build(_EDGE).eps0) and excess(_EDGE) <= 0.0:
                low, next_to = _EDGE, (1.0 + _PRECISION) * _EDGE
                high = next_to if excess(next_to) > 0.0 else high
            found = steered(excess, low, min(high, _MOST), share=_PRECISION, near=near).good
        return found, device(build(found))
