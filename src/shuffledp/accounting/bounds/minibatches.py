"""Central noise on the batches of a shuffled data set: DP-SGD as data loaders usually run it.

All batches have one size; the victim's clipped gradient counts, or is 0. Guaranteed is what holds
even if the order is known: every example is in one batch. Leaked is what the pair of Chua et al.
shows: all others' gradients are -1, the victim's +1 (docs/proofs/allocation.md, section 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from shuffledp.accounting.bounds.counted import Scenes, guaranteed_curve, leaked_curve
from shuffledp.accounting.bounds.counters import Counter
from shuffledp.accounting.bounds.identity import delta_lower, delta_upper
from shuffledp.accounting.bounds.scopes import known_law
from shuffledp.accounting.bounds.theorem import Bound
from shuffledp.accounting.curves import NEVER, Curve, ProfileCurve
from shuffledp.accounting.curves.convert import Profile
from shuffledp.accounting.curves.ends import Ends
from shuffledp.accounting.curves.gdp import gaussian_delta
from shuffledp.accounting.curves.losses import Samples
from shuffledp.accounting.randomizers.cells import gaussian_cells
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.labels import Direction, Refutation, Status, Theorem, register
from shuffledp.numerics.composed_losses import Losses, composed_delta
from shuffledp.numerics.normal import cdf
from shuffledp.numerics.rounding import BELOW_ONE, SUMS, Array, down, up

_WIDTH = 1e-2
_ENOUGH = 0.5
"""Share of the guaranteed delta from which on the largest batch tells nearly all there is."""
_THRESHOLDS = 400
_LEAST_LEAK = 1e-14
_LEAST_SIGMA = 0.1
"""With less noise the batch of the victim stands out for sure."""
_FARTHEST = 600.0
_SLACK, _TINY = 1e-16, 1e-300


@dataclass(frozen=True)
class ShuffledBatches(Counter):
    """``batches`` noisy sums; with probability ``share`` the victim is in one of them, else in a
    smaller batch that the leaking pair ignores."""

    sigma: float
    batches: int
    share: float = 1.0
    reach: float = 1.0
    """How far the victim's gradient can move: 2 if it is replaced, not set to 0."""
    falls: bool = field(default=False, init=False)

    @property
    def pure(self) -> float:
        return math.inf

    @property
    def farthest(self) -> float:
        s = self.reach / self.sigma
        return min(0.5 * s * s + 38.0 * s + 1.0, _FARTHEST)

    @property
    def rising(self) -> ShuffledBatches:
        return self

    def known_order(self, epsilons: Array) -> Array:
        """delta of one batch alone."""
        return np.array([gaussian_delta(self.reach / self.sigma, float(x)) for x in epsilons])

    def worst(self, epsilons: Array) -> tuple[Ends, Ends]:
        high = self.known_order(epsilons)
        (low, _), (reverse_low, _) = self.one(epsilons)
        return (np.minimum(low, high), high), (np.minimum(reverse_low, high), high)

    def one(self, epsilons: Array) -> tuple[Ends, Ends]:
        ends = [self._ends(float(epsilon)) for epsilon in np.minimum(epsilons, _FARTHEST)]
        lows, highs, reverse_lows, reverse_highs = np.array(ends).T
        zero = epsilons > _FARTHEST
        forward = np.where(zero, 0.0, np.minimum(lows, highs)), highs
        reverse = np.where(zero, 0.0, np.minimum(reverse_lows, reverse_highs)), reverse_highs
        return forward, reverse

    def _ends(self, epsilon: float) -> tuple[float, float, float, float]:
        most = min(gaussian_delta(1.0 / self.sigma, epsilon), 1.0)
        seen = self._largest_batch(epsilon)
        if seen >= _ENOUGH * most or self.sigma < _LEAST_SIGMA:
            return seen, most, 0.0, most
        pair = _pair(self.sigma, self.share)
        ends = [
            (
                delta_lower(way, self.batches, epsilon, _WIDTH),
                min(delta_upper(way, self.batches, epsilon, _WIDTH), most),
            )
            for way in (pair, pair.swapped())
        ]
        return max(ends[0][0], seen), ends[0][1], *ends[1]

    def _largest_batch(self, epsilon: float) -> float:
        """Leaked by whether the largest of all sums, others' gradients added back, is above a
        threshold: the best of many."""
        top = 2.0 + self.sigma * (2.0 + math.sqrt(2.0 * math.log(self.batches + 1.0)))
        tau = np.linspace(0.0, top + 10.0 * self.sigma, _THRESHOLDS)
        none, own, other = (
            np.log1p(-np.minimum(cdf((shift - tau) / self.sigma), BELOW_ONE))
            for shift in (0.0, 2.0, 1.0)
        )
        rest = (self.batches - 1) * none
        power, size = (
            self.share * -np.expm1(rest + one) - (1.0 - self.share) * np.expm1(rest + none)
            for one in (own, other)
        )
        gains = down(power, SUMS) - math.exp(epsilon) * up(size, SUMS)
        return max(float(gains.max()), 0.0)

    def guaranteed_losses(self, rounds: int = 1) -> tuple[Losses, Losses]:
        samples = _known_order(self)
        return samples.above(), samples.above()

    def leaked_losses(self) -> tuple[Losses, Losses]:
        samples = _leaked(self)
        return samples.below(), samples.swapped().below()


@lru_cache(maxsize=32)
def _pair(sigma: float, share: float) -> Outcomes:
    """A batch's sum, others' gradients added back: around 2 with the victim, 1 without, else 0."""
    whole = gaussian_cells(sigma, sigma, 2.0)  # mirrored
    return whole if share == 1.0 else whole.diluted(share)


@lru_cache(maxsize=64)
def _known_order(counter: ShuffledBatches) -> Samples:
    def profiles(epsilons: list[float]) -> tuple[Ends, Ends]:
        high = np.minimum(counter.known_order(np.array(epsilons)), 1.0)
        return (np.zeros(high.size), high), (np.zeros(high.size), high)

    return Samples.take(profiles, NEVER, 1e-40, between=3)


@lru_cache(maxsize=64)
def _leaked(counter: ShuffledBatches) -> Samples:
    return Samples.take(
        lambda epsilons: counter.one(np.array(epsilons)), NEVER, _LEAST_LEAK, every=2
    )


def poisson_curve(sigma: float, rate: float, steps: int) -> ProfileCurve:
    """What Poisson sampling at this rate would cost in so many steps, from above: each profile in
    closed form, their losses added up."""
    s = 1.0 / sigma

    def excess(c: Array) -> Array:
        """E(X - c)+, X the likelihood ratio of a step that has the example."""
        d = 0.5 * s - np.log(c) / s
        return np.asarray(cdf(d) - c * cdf(d - s))

    def profiles(epsilons: list[float]) -> tuple[Ends, Ends]:
        e = np.exp(np.array(epsilons))
        forward = rate * excess(1.0 + (e - 1.0) / rate)
        c = np.maximum(1.0 - (1.0 - 1.0 / e) / rate, _TINY)
        reverse = e * rate * np.maximum(excess(c) + c - 1.0, 0.0)
        zero = np.zeros(e.size)
        return (zero, np.minimum(forward + _SLACK, 1.0)), (zero, np.minimum(reverse + _SLACK, 1.0))

    samples = Samples.take(profiles, NEVER, 10.0 * _SLACK, between=3)

    def composed(losses: Losses) -> Profile:
        return lambda epsilon, _: composed_delta([(losses, steps)], epsilon)

    return ProfileCurve(
        composed(samples.above()), NEVER, reverse=composed(samples.swapped().above())
    )


def _as_if_sampled(scenes: Scenes, _n: int) -> Curve:
    (counter,) = scenes[0]
    assert isinstance(counter, ShuffledBatches)
    return poisson_curve(counter.sigma, 1.0 / counter.batches, counter.batches)


POISSON_BATCHES = Bound(
    register(
        Theorem(
            id="poisson-batches",
            citation="common practice; its error first shown by Chua et al. 2024 (ICML)",
            statement="batches of shuffled data are accounted for as if each example joined each"
            " batch independently",
            validity="said of one epoch of DP-SGD on shuffled batches",
            status=Status.REFUTED,
            direction=Direction.UPPER,
            refutation=Refutation(
                dataset="all others' gradients point against the victim's, which counts or is 0",
                witness="shuffled-batches-pair",
                parameters={"sigma": 1.0, "batch": 60, "n": 60_000, "delta": 1e-8},
                claimed=0.3064,
                leaked=5.107,
                mechanism="minibatches",
            ),
        )
    ),
    _as_if_sampled,
    known_law,
    None,
)
BATCHES = Bound(
    register(
        Theorem(
            id="shuffled-batches",
            citation="parallel composition: the Gaussian mechanism once per epoch",
            statement="an epoch is (1/sigma)-GDP even if the order of the data is known",
            validity="central Gaussian noise on the batches of a data set in any order, each"
            " example in one batch per epoch, one example's gradient replaced by 0; adaptive steps",
            status=Status.PROVEN,
            direction=Direction.UPPER,
            proof="proofs/allocation.md",
            note="no amplification by the shuffle is proven",
        )
    ),
    guaranteed_curve,
    known_law,
    None,
)
BATCHES_REPLACED = Bound(
    register(
        Theorem(
            id="shuffled-batches-replaced",
            citation="parallel composition: the Gaussian mechanism once per epoch",
            statement="an epoch is (2/sigma)-GDP even if the order of the data is known",
            validity="as shuffled-batches, one record replaced by another",
            status=Status.PROVEN,
            direction=Direction.UPPER,
            proof="proofs/allocation.md",
            note="no amplification by the shuffle is proven",
        )
    ),
    guaranteed_curve,
    known_law,
    None,
)
BATCHES_PAIR = Bound(
    register(
        Theorem(
            id="shuffled-batches-pair",
            citation="Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang 2024 (ICML); exact"
            " evaluation our own",
            statement="all others' gradients point against the victim's: one batch's sum stands out"
            " by 2, or by 1 if the victim's is 0",
            validity="the same protocols, a fresh shuffle in each epoch",
            status=Status.FIXED_PAIR,
            direction=Direction.LOWER,
            proof="proofs/allocation.md",
        )
    ),
    leaked_curve,
    known_law,
    None,
)
