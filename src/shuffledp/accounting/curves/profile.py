"""Curves known through their privacy profile delta(eps)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from shuffledp.accounting.curves.base import Curve
from shuffledp.accounting.curves.convert import Profile, renyi_from_profile, tradeoff_from_profile
from shuffledp.accounting.curves.ends import End, Ends, PureEnd, SearchLimit
from shuffledp.accounting.curves.losses import Samples, tradeoffs
from shuffledp.errors import ConversionError
from shuffledp.labels import Direction
from shuffledp.numerics.enclosure import COMPOSED, FINE, QUICK, SEARCH, Enclosure
from shuffledp.numerics.rounding import Array
from shuffledp.numerics.search import SETTLED, Guess, Start, invert_decreasing

_LIMIT = SearchLimit(200.0)
_SKETCHED = 1e-6
"""Where delta ends in a picture of a trade-off function."""
_WELL = 1.25
"""How far above another epsilon a limit theorem puts one that is not worth computing."""
_CLEARLY = 0.95
"""Share of an epsilon that another is well below."""
_EXPECTED = 2e-5
"""How close to its delta an epsilon must be that is about known already."""
_CLOSE = 1e-2
"""How close to its delta an epsilon must be in a picture."""


@dataclass(frozen=True)
class ProfileCurve(Curve):
    """A curve known by enclosures of delta(eps).

    ``forward`` encloses H(P||Q), ``reverse`` H(Q||P) where it differs; both vanish from ``end`` on.

    ``direction`` says which end of the enclosures to answer with: UPPER for a bound on every pair
    of data sets, LOWER for one concrete pair. ``exact_renyi`` is the pair's own divergence, the
    larger of both directions, where it is known better than through the profile. ``enclose_many``
    encloses a symmetric profile at many epsilons, coarsely and cheaply. Where delta never vanishes
    searches stop at ``limit``, and say so. A delta off by a share of ``settled`` is close enough
    for an epsilon.
    """

    forward: Profile
    end: PureEnd
    direction: Direction = Direction.UPPER
    reverse: Profile | None = None
    exact_renyi: Callable[[float], float] | None = None
    guess: Guess | None = None
    enclose_many: Callable[[list[float]], tuple[Array, Array]] | None = None
    limit: SearchLimit = _LIMIT
    settled: float = SETTLED
    kind: ClassVar[str] = "profile"

    @property
    def searched(self) -> End:
        """How far to look for an epsilon: to where delta vanishes, or as far as anybody looks."""
        return self.end if self.end.reached else self.limit

    def enclose(self, epsilon: float, width: float = FINE) -> Enclosure:
        """The larger of both directions."""
        if self.end.vanished(epsilon):
            return Enclosure(0.0, 0.0)
        value = self.forward(epsilon, width)
        if self.reverse is None:
            return value
        other = self.reverse(epsilon, width)
        return Enclosure(max(value.lower, other.lower), max(value.upper, other.upper))

    def sampled(self, epsilons: list[float]) -> tuple[Ends, Ends]:
        if self.enclose_many is not None:
            both = self.enclose_many(epsilons)
            return both, both
        forward = _ends([self.forward(x, COMPOSED) for x in epsilons])
        if self.reverse is None:
            return forward, forward
        return forward, _ends([self.reverse(x, COMPOSED) for x in epsilons])

    def pairs(self) -> list[ProfileCurve]:
        return [self]

    def one_way(self) -> list[ProfileCurve]:
        """Each direction alone: enough where only the larger one counts."""
        if self.reverse is None:
            return [self]
        return [replace(self, forward=f, reverse=None) for f in (self.forward, self.reverse)]

    def _end(self, value: Enclosure) -> float:
        return value.upper if self.direction is Direction.UPPER else value.lower

    def delta(self, epsilon: float) -> float:
        return self._end(self.enclose(epsilon))

    def epsilon(self, delta: float) -> float:
        return self._end(self.enclose_epsilon(delta, one_sided=True))

    def start(self, delta: float) -> Start | None:
        """Where to look for epsilon(delta), if that is known to be well below the end."""
        found = self.guess(delta) if self.guess is not None else None
        if found is None or not (found.sure or found.x < 0.5 * self.end.epsilon):
            return None
        return found

    def expecting(self, epsilon: float) -> ProfileCurve:
        def near(delta: float) -> Start:
            limit = self.guess(delta) if self.guess is not None else None
            if limit is None or limit.slope is None:
                return Start(epsilon, None, sure=True)
            # that of normal laws as many deviations apart
            return Start(epsilon, limit.slope * limit.x / epsilon, sure=True)

        return replace(self, guess=near, settled=max(self.settled, _EXPECTED))

    def likely_epsilon(self, delta: float, most: float) -> float:
        # where shuffling helps little no limit theorem does: what is left of delta there tells
        if most > 0.5 * self.end.epsilon:
            return most + self.enclose(most, QUICK).lower
        start = self.start(delta)
        return 0.0 if start is None else start.x

    def likely_above(self, epsilon: float, delta: float) -> bool:
        start = self.start(delta)
        return start is not None and not start.sure and start.x > _WELL * epsilon

    def seen_below(self, epsilon: float, delta: float) -> bool:
        start = self.start(delta)
        if (
            start is not None and start.sure and start.x < _CLEARLY * epsilon
        ):  # a search begins there
            epsilon = start.x if self.enclose(start.x, QUICK).upper <= delta else epsilon
        return self.enclose(epsilon, QUICK).upper <= delta

    def seen_above(self, epsilon: float, delta: float) -> bool:
        return self.enclose(epsilon, QUICK).lower > (1.0 + 2.0 * QUICK) * delta

    def enclose_epsilon(
        self, delta: float, width: float = SEARCH, one_sided: bool = False
    ) -> Enclosure:
        """Enclosure of the pair's own epsilon(delta).

        Only the lower end is sought for LOWER curves and, if ``one_sided``, only the upper one for
        others.
        """
        endless, lower = not self.end.reached, self.direction is Direction.LOWER
        end = self.searched.epsilon
        if endless and lower and self.enclose(end, width).lower >= delta:
            return Enclosure(end, math.inf)
        found = invert_decreasing(
            partial(self.enclose, width=width),
            partial(self.enclose, width=QUICK),
            delta,
            end,
            self.start(delta),
            lower_only=lower,
            upper_only=one_sided and not lower,
            settled=_CLOSE if width >= QUICK else self.settled,
        )
        if endless and not lower and found.upper >= end and self.enclose(end, width).upper > delta:
            raise ConversionError(f"No epsilon up to {end:g} reaches delta = {delta:g}.")
        return found

    def renyi(self, order: float) -> float:
        if self.exact_renyi is not None:
            return self.exact_renyi(order)
        if not self.end.reached:
            raise ConversionError("A Rényi divergence needs a pure budget; here eps0 is infinite.")
        reverse, lower = self.reverse or self.forward, self.direction is Direction.LOWER
        value = renyi_from_profile(reverse, self.forward, order, self.end, lower)
        if self.reverse is None:
            return value
        return max(value, renyi_from_profile(self.forward, reverse, order, self.end, lower))

    def tradeoff(self, alpha: float) -> float:
        ways = [(self.reverse or self.forward, self.forward)]
        if self.reverse is not None:
            ways.append((self.forward, self.reverse))
        values = [
            tradeoff_from_profile(second, first, alpha, self.searched, self._certain(second))
            for second, first in ways
        ]
        # An upper bound on the loss is a trade-off below the truth, and conversely.
        if self.direction is Direction.UPPER:
            return min(value.lower for value in values)
        return min(value.upper for value in values)

    def _certain(self, profile: Profile) -> float:
        """What of a data set's delta is left at every epsilon: outcomes of one law only."""
        if self.end.reached or self.direction is Direction.UPPER:
            return 0.0
        return profile(math.inf, FINE).lower

    def sketched(self, quantity: str, at: Sequence[float]) -> list[float]:
        if quantity == "epsilon":
            return [self._end(self.enclose_epsilon(delta, QUICK, one_sided=True)) for delta in at]
        if quantity == "delta":
            if self.enclose_many is None:
                return [self._end(self.enclose(epsilon, QUICK)) for epsilon in at]
            lower, upper = self.enclose_many(list(at))
            return list(map(float, upper if self.direction is Direction.UPPER else lower))
        if quantity == "tradeoff":
            return self._sketched_tradeoff(at)
        return super().sketched(quantity, at)

    def _sketched_tradeoff(self, alphas: Sequence[float]) -> list[float]:
        above = self.direction is Direction.UPPER
        samples = Samples.take(self.sampled, self.end, _SKETCHED, every=2)
        sides = [samples] if self.reverse is None else [samples, samples.swapped()]
        values = [
            tradeoffs(
                side.above() if above else side.below(whole=False), np.asarray(alphas), not above
            )
            for side in sides
        ]
        return list(map(float, np.min(values, axis=0)))


def _ends(values: list[Enclosure]) -> Ends:
    return np.array([x.lower for x in values]), np.array([x.upper for x in values])
