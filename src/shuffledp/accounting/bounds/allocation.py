"""Random allocation: every example takes part in some steps of an epoch, drawn at random.

Each step adds Gaussian noise to a sum of clipped gradients; the victim is added or removed. Of t
steps and k = 1 the likelihood ratio is a mean of t lognormal variables, the one of t shuffled
Gaussian reports (docs/proofs/allocation.md). Symbols: h = 1/sigma^2, X = exp(N(-h/2, h)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from shuffledp.accounting.bounds.composition import CountedRound, composed_upper
from shuffledp.accounting.bounds.counted import guaranteed_curve, leaked_curve
from shuffledp.accounting.bounds.counters import Counter
from shuffledp.accounting.bounds.largest_steps import MOST, large_ratios
from shuffledp.accounting.bounds.scopes import known_law
from shuffledp.accounting.bounds.theorem import Bound
from shuffledp.accounting.curves.ends import Ends
from shuffledp.accounting.curves.losses import Samples, tested_losses
from shuffledp.labels import Direction, Status, Theorem, register
from shuffledp.numerics.composed_losses import Losses
from shuffledp.numerics.lognormal_cells import excesses, shortfalls, shortfalls_above
from shuffledp.numerics.rounding import Array, down, roundings, up
from shuffledp.numerics.sum_tests import Tests, large_ratio_tests, small_ratio_tests

_WIDTH, _COARSE = 1e-3, 4e-3
_RARE, _NOISES, _CLEAR = 0.02, (0.2, 1.5), 1e3
"""Where few steps decide; how much more than what is missing is told by them."""
_ALIKE = 200
"""Parts of so many steps are cut to the size of the smallest."""
_NEGLIGIBLE = 1e-3
"""Share of the other direction below which a direction is bounded, not computed."""
_DEEPEST = 1e-34
"""Delta at which the grid of one epoch ends; what is left there is revealing."""
_TOGETHER = 16
_FARTHEST = 600.0
"""Largest epsilon whose exponential is formed."""
_APART, _NEAREST, _FURTHER, _LEAST_LEAK = 0.06, 1e-6, 1.2, 1e-16
"""Of logarithms of epsilons: nearer ones share their tests."""


@dataclass(frozen=True)
class AllocatedNoise(Counter):
    """The noisy sums of ``steps`` steps, in ``k`` of which the victim takes part."""

    sigma: float
    steps: int
    k: int = 1
    falls: bool = field(default=False, init=False)

    @property
    def h(self) -> float:
        """Variance of the logarithm of a step's likelihood ratio."""
        return 1.0 / (self.sigma * self.sigma)

    @property
    def pure(self) -> float:
        return math.inf

    @property
    def farthest(self) -> float:
        return min(self.k * (0.5 * self.h + 38.0 / self.sigma + 1.0), _FARTHEST)

    @property
    def rising(self) -> AllocatedNoise:
        return self

    def worst(self, epsilons: Array) -> tuple[Ends, Ends]:
        return self.one(epsilons)

    def one(self, epsilons: Array) -> tuple[Ends, Ends]:
        return self.ends(epsilons, _WIDTH)

    def ends(self, epsilons: Array, width: float) -> tuple[Ends, Ends]:
        """As ``one``; ``width`` is the relative width aimed at."""
        if self.k > 1:
            return self._of_several(epsilons, width)
        near = np.minimum(epsilons, _FARTHEST)  # delta falls: beyond it is no larger
        low, high = excesses(self.h, self.steps, np.expm1(near), width)
        reverse_low = np.zeros(near.size)
        reverse_high = np.minimum(shortfalls_above(self.h, self.steps, near), 1.0)
        counts = reverse_high > _NEGLIGIBLE * low
        if counts.any():
            reverse_low[counts], high_there = shortfalls(self.h, self.steps, near[counts], width)
            reverse_high[counts] = np.minimum(reverse_high[counts], high_there)
        ends = [
            (np.where(epsilons > _FARTHEST, 0.0, np.minimum(a, b)), np.minimum(b, 1.0))
            for a, b in ((low, high), (reverse_low, reverse_high))
        ]
        return ends[0], ends[1]

    @property
    def few_decide(self) -> bool:
        """Whether a few large variables decide, and few enough: parts of the epoch then tell too
        much."""
        rare = math.exp(min(self.h, 100.0)) * self.k > _RARE * self.steps
        some = _NOISES[0] < self.sigma < _NOISES[1]
        return 1 < self.k <= MOST and self.k < self.steps and some and rare

    def parts(self) -> list[tuple[Counter, int]]:
        """One step of each of k parts of the epoch, told which: no less is leaked."""
        return [(self, 1)] if self.few_decide else self._parts()

    def _parts(self) -> list[tuple[Counter, int]]:
        size, more = divmod(self.steps, self.k)
        more = more if size < _ALIKE else 0  # a step less leaks no less, and hardly more
        return [
            (AllocatedNoise(self.sigma, steps), count)
            for steps, count in ((size + 1, more), (size, self.k - more))
            if count
        ]

    def _of_several(self, epsilons: Array, width: float) -> tuple[Ends, Ends]:
        """Above: see below; below: tests of a sum over its steps."""
        ends = []
        for (_, high), mirrored in zip(
            self.above(epsilons, width, 1.0), (False, True), strict=True
        ):
            tests = [self._tests(_about(float(epsilon))) for epsilon in epsilons]
            tests = [_mirrored(each) for each in tests] if mirrored else tests
            low = np.array(list(map(_gain, epsilons.tolist(), tests)))
            ends.append((np.minimum(low, high), high))
        return ends[0], ends[1]

    def above(
        self, epsilons: Array, width: float, little: float = _NEGLIGIBLE
    ) -> tuple[Ends, Ends]:
        """Upper ends, for k > 1: by the largest steps of the epoch, or by its parts; a direction
        that has ``little`` of the other is not computed any better."""
        nothing, near = np.zeros(epsilons.size), np.minimum(epsilons, _FARTHEST)
        forward = np.ones(epsilons.size)
        unclear = np.ones(epsilons.size, bool)
        if self.few_decide:
            largest = large_ratios(self.h, self.steps, self.k)
            forward = largest.above(np.expm1(near))
            unclear = forward < _CLEAR * largest.missing
        if unclear.any():
            told = self._told(epsilons[unclear], width, mirrored=False)
            forward[unclear] = np.minimum(forward[unclear], told)
        reverse = np.minimum(shortfalls_above(self.h, self.steps, near, self.k), 1.0)
        reverse = np.where(near == 0.0, np.minimum(reverse, forward), reverse)  # the same there
        counts = reverse > little * forward
        if counts.any():
            told = self._told(epsilons[counts], width, mirrored=True)
            reverse[counts] = np.minimum(reverse[counts], told)
        return (nothing, forward), (nothing, reverse)

    def _told(self, epsilons: Array, width: float, *, mirrored: bool) -> Array:
        """Upper ends if parts of the epoch are told, of one step each."""
        curve = composed_upper([CountedRound(*part) for part in self._parts()])
        profile = curve.reverse if mirrored else curve.forward
        assert profile is not None
        return np.array([profile(float(x), width).upper for x in epsilons])

    def _tests(self, epsilon: float) -> Tests:
        """Of the victim's presence, good about this epsilon in either direction."""
        ahead = large_ratio_tests(self.h, self.steps, self.k, math.expm1(epsilon))
        found = [ahead, _mirrored(small_ratio_tests(self.h, self.steps, self.k, epsilon))]
        if self.few_decide:
            found.append(large_ratios(self.h, self.steps, self.k).tests())
        power, size = np.concatenate(found, axis=1)
        return power, size

    def guaranteed_losses(self, rounds: int = 1) -> tuple[Losses, Losses]:
        samples = _samples(self)
        return samples.above(), samples.swapped().above()

    def leaked_losses(self) -> tuple[Losses, Losses]:
        if self.k > 1:
            return _tested(self)
        samples = _samples(self)
        return samples.below(), samples.swapped().below()


@lru_cache(maxsize=64)
def _tested(counter: AllocatedNoise) -> tuple[Losses, Losses]:
    """Of tests made for one epsilon after the other, until none leaks anything."""
    found: list[Tests] = []
    epsilon, leaks = 0.0, 1.0
    while epsilon < counter.farthest and leaks > _LEAST_LEAK:
        found.append(counter._tests(epsilon))
        leaks = max(_gain(epsilon, found[-1]), _gain(epsilon, _mirrored(found[-1])))
        epsilon = _FURTHER * epsilon if epsilon else leaks
    power, size = np.concatenate(found, axis=1)
    return tested_losses(power, size)


def _mirrored(tests: Tests) -> Tests:
    """Whoever is not taken for present is taken for absent, and conversely."""
    power, size = tests
    return down(1.0 - size, roundings(4)), up(1.0 - power, roundings(4))


def _about(epsilon: float) -> float:
    """One epsilon for many near it: tests made for it are good for them."""
    if epsilon < _NEAREST:
        return 0.0
    return min(math.exp(_APART * round(math.log(epsilon) / _APART)), _FARTHEST)


def _gain(epsilon: float, tests: Tests) -> float:
    """The best of these tests: power less e^epsilon times size."""
    if epsilon > _FARTHEST:
        return 0.0
    power, size = tests
    grown = up(math.exp(epsilon), roundings(8))
    return max(float((power - up(grown * size, roundings(8))).max()), 0.0)


@lru_cache(maxsize=64)
def _samples(counter: AllocatedNoise) -> Samples:
    """Close together where the profile bends: at first by its deviation, then by its epsilon, in
    the tail by that of one step."""
    ends_at = counter.ends if counter.k == 1 else counter.above
    found = [ends_at(np.zeros(1), _WIDTH)]
    epsilons, deviation = [0.0], 2.5 * float(max(side[1][0] for side in found[0]))
    while max(side[1][-1] for side in found[-1]) > _DEEPEST and epsilons[-1] < counter.farthest:
        grid: list[float] = []
        for _ in range(_TOGETHER):
            step = max(0.05 * deviation, epsilons[-1] / 40.0)
            step = min(step, 0.09 / counter.sigma) if counter.k == 1 else 2.0 * step
            grid.append(min(epsilons[-1] + step, counter.farthest))
            epsilons.append(grid[-1])
        found.append(ends_at(np.unique(grid), _WIDTH if len(epsilons) < 50 else _COARSE))
    ends = [np.concatenate([part[side][i] for part in found]) for side in (0, 1) for i in (0, 1)]
    return Samples(np.unique(epsilons), (ends[0], ends[1]), (ends[2], ends[3]))


ALLOCATION = Bound(
    register(
        Theorem(
            id="random-allocation",
            citation="Chua et al. 2025 (balls and bins); Feldman, Shenfeld 2025; the law of a mean"
            " of lognormal variables and its certified evaluation our own",
            statement="delta(eps) <= E(R - e^eps)+ and E(1 - e^eps R)+, R the mean of t lognormal"
            " likelihood ratios; k of t steps: k epochs of one step in t/k",
            validity="every example joins k of t steps drawn at random, Gaussian noise on each"
            " step's sum, one example added or removed; adaptive steps",
            status=Status.PROVEN,
            direction=Direction.UPPER,
            proof="proofs/allocation.md",
        )
    ),
    guaranteed_curve,
    known_law,
    None,
)
ALLOCATION_REPLACED = Bound(
    register(
        Theorem(
            id="random-allocation-replaced",
            citation="group privacy, by profiles; our own wording",
            statement="delta(eps) <= min over a + b = eps of delta(a), the example removed, and"
            " e^a delta(b), another one added",
            validity="as random-allocation, one example replaced by another",
            status=Status.PROVEN,
            direction=Direction.UPPER,
            proof="proofs/allocation.md",
        )
    ),
    guaranteed_curve,
    known_law,
    None,
)
ALLOCATION_PAIR = Bound(
    register(
        Theorem(
            id="random-allocation-pair",
            citation="exact computation",
            statement="what is leaked of an example whose clipped gradient points the same way in"
            " every step while all others are 0",
            validity="the same protocols",
            status=Status.FIXED_PAIR,
            direction=Direction.LOWER,
            proof="proofs/allocation.md",
        )
    ),
    leaked_curve,
    known_law,
    None,
)
