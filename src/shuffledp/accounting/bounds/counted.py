"""What counters guarantee and leak: one of them by its own profile, several by their losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial

import numpy as np

from shuffledp.accounting.bounds.blanket import WorstDataset
from shuffledp.accounting.bounds.composition import CountedRound, composed_lower, composed_upper
from shuffledp.accounting.bounds.counters import Counter
from shuffledp.accounting.bounds.scopes import known_law
from shuffledp.accounting.bounds.theorem import Bound
from shuffledp.accounting.curves import Curve, ProfileCurve, PureEnd, SearchLimit
from shuffledp.accounting.curves.ends import Ends
from shuffledp.accounting.curves.gdp import gaussian_start
from shuffledp.labels import Direction, Status, Theorem, register
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.rounding import Array

Scenes = Sequence[Sequence[Counter]]
"""Data sets, each as the counters that the victim's change moves; the guarantee is the same for
all."""

GUARANTEED = register(
    Theorem(
        id="counters",
        citation="our own; monotone likelihood ratios and revealed users",
        statement="the supremum over all data sets of each moved counter's profile;"
        " counters are independent, so their losses add up",
        validity="released counts or sums with integer noise, one or two of them moved"
        " by a user; see the proof for each shape",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/counters.md",
    )
)
LEAKED = register(
    Theorem(
        id="counters-dataset",
        citation="exact computation",
        statement="the law of the moved counters for one data set, with the victim's value and"
        " without",
        validity="the same protocols",
        status=Status.FIXED_PAIR,
        direction=Direction.LOWER,
        proof="proofs/counters.md",
    )
)

SPLIT_GUARANTEED = register(
    Theorem(
        id="split-and-mix",
        citation="after Balle, Bell, Gascón, Nissim 2020; our own bound for every data set",
        statement="shuffled shares are within sqrt(E[q^(C-1)] - 1) / 2 of shares that tell their"
        " noisy sum only; C counts the components of a random graph",
        validity="sums modulo q of numbers with integer noise, each split into at least 3 shares",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/split.md",
    )
)


Profiles = Callable[[Array], tuple[Ends, Ends]]


def _one(counter: Counter, direction: Direction, profiles: Profiles) -> ProfileCurve:
    """A single counter, both directions."""

    @lru_cache(maxsize=1024)
    def ends(epsilon: float) -> tuple[Enclosure, Enclosure]:
        found = profiles(np.array([epsilon]))
        (a, b), (c, d) = ((float(low[0]), float(high[0])) for low, high in found)
        return Enclosure(min(a, b), b), Enclosure(min(c, d), d)

    deviation = 2.5 * max(each.upper for each in ends(0.0))
    return ProfileCurve(
        lambda epsilon, _width: ends(epsilon)[0],
        end=PureEnd(counter.pure),
        direction=direction,
        reverse=lambda epsilon, _width: ends(epsilon)[1],
        guess=partial(gaussian_start, deviation),
        limit=SearchLimit(counter.farthest),
    )


class LargestLeak(WorstDataset):
    """A single counter: the most that any data set leaks at an epsilon, or at a delta; of
    questions about all of a curve, what single data sets leak."""

    def __init__(self, counter: Counter) -> None:
        self.counter = counter
        self.largest = _one(counter, Direction.LOWER, counter.worst)

    @cached_property
    def curves(self) -> list[ProfileCurve]:  # type: ignore[override]
        return [_one(each, Direction.LOWER, each.one) for each in self.counter.datasets()]

    def delta(self, epsilon: float) -> float:
        return self.largest.delta(epsilon)

    def epsilon(self, delta: float) -> float:
        return self.largest.epsilon(delta)

    def sketched(self, quantity: str, at: Sequence[float]) -> list[float]:
        if quantity in ("delta", "epsilon"):
            return self.largest.sketched(quantity, at)
        return super().sketched(quantity, at)


def guaranteed_curve(scenes: Scenes, _n: int) -> Curve:
    """What holds for every data set."""
    counters = scenes[0]
    if len(counters) == 1:
        return _one(counters[0], Direction.UPPER, counters[0].worst)
    return composed_upper([CountedRound(counter, 1) for counter in counters])


def leaked_curve(scenes: Scenes, _n: int) -> Curve:
    """What the worst of the data sets leaks."""
    if len(scenes[0]) == 1:
        return LargestLeak(scenes[0][0])
    return WorstDataset(
        [composed_lower([CountedRound(counter, 1) for counter in scene]) for scene in scenes]
    )


COUNTERS = Bound(GUARANTEED, guaranteed_curve, known_law, None)
COUNTERS_DATASET = Bound(LEAKED, leaked_curve, known_law, None)
SPLIT = Bound(SPLIT_GUARANTEED, guaranteed_curve, known_law, None)
