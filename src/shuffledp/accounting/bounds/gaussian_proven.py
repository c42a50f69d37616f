"""Gaussian reports, every data set: what is proven without knowing the worst pair.

Symbols: mu = sensitivity / sigma, p the probability that the victim takes part in a round,
E = exp(eps0), e = exp(epsilon).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import ClassVar

import numpy as np

from shuffledp.accounting.bounds.approximate import stronger_approximate
from shuffledp.accounting.bounds.clones import gaussian_guess, stronger_weight
from shuffledp.accounting.bounds.scopes import gaussian, one_round
from shuffledp.accounting.bounds.shuffle_gaussian import GaussianPair, gaussian_pair
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import NEVER, Curve, GDPCurve, ProfileCurve
from shuffledp.accounting.curves.convert import Profile
from shuffledp.accounting.curves.gdp import gaussian_delta, gaussian_start
from shuffledp.accounting.randomizers import LDP, Randomizer
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.composition import binomial_window
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.positive_part import Law, mean_positive_part
from shuffledp.numerics.rounding import FORMULA, SUMS, down, roundings, up
from shuffledp.numerics.search import Guess, Start, bisect, grown

_MOST_ROUNDS = 10**7
_LARGEST = 300.0
"""Reports with a larger local budget are not taken for pure ones."""
_LEAST_RATE = 1e-150
"""Of check-in: with it no mass underflows."""
_HALVES = 2, 80
"""Range of delta0 tried, in half powers of ten below 1/n."""


@dataclass(frozen=True)
class RevealedRounds(Curve):
    """mu-GDP in each of Bin(rounds, p) rounds, the number known to the adversary."""

    mu: float
    rounds: int
    p: float
    kind: ClassVar[str] = "GDP"

    def delta(self, epsilon: float) -> float:
        p = max(self.p, 1e-290)  # more rounds with the victim leak more
        k, mass = binomial_window(self.rounds, p, 1.0 - p)
        step = max(1, len(k) // 2000)  # delta grows with k: the last of each group stands for it
        total = 1e-24
        for i in range(0, len(k), step):
            last = float(k[min(i + step, len(k)) - 1])
            if last:
                total += float(mass[i : i + step].sum()) * gaussian_delta(
                    self.mu * math.sqrt(last), epsilon
                )
        return min(up(total, SUMS), 1.0)

    def epsilon(self, delta: float) -> float:
        if delta <= 2e-24:
            raise RegimeError("delta > 2e-24", delta)
        if self.delta(0.0) <= delta:
            return 0.0

        def enough(epsilon: float) -> bool:
            return self.delta(epsilon) <= delta

        return bisect(enough, *grown(enough, self.mu, 0.0), halvings=50).good

    def renyi(self, order: float) -> float:
        exponent = 0.5 * order * (order - 1.0) * self.mu**2
        if exponent > 700.0:
            gain = float(np.logaddexp(exponent + math.log(self.p), math.log1p(-self.p)))
        else:
            gain = math.log1p(self.p * math.expm1(exponent))
        least = 1e-320  # what is rounded off below the normal range
        return self.rounds * (up((gain + least) / (order - 1.0), FORMULA) + least)


@bound(
    Theorem(
        id="gaussian-unshuffled",
        citation="Dong, Roth, Su 2022; data processing",
        statement="the report itself is mu-GDP, mu = sensitivity/sigma; the victim's rounds,"
        " Bin(rounds, p), revealed",
        validity="Gaussian reports, checked in or drawn; any rounds",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/shuffle_gaussian.md",
        note="as if there were no shuffler",
    ),
    gaussian,
    turn=2,
)
def gaussian_unshuffled(randomizer: Randomizer, n: int) -> Curve:
    """No use is made of the shuffler."""
    pair = gaussian_pair(randomizer, n)
    mu = math.sqrt(pair.h)
    if pair.participation == 1.0:
        return GDPCurve(up(mu * math.sqrt(pair.rounds), roundings(8)))
    if pair.rounds > _MOST_ROUNDS:
        raise RegimeError(f"at most {_MOST_ROUNDS} rounds", pair.rounds)
    return RevealedRounds(mu, pair.rounds, pair.participation)


def _approximate_profile(pair: GaussianPair) -> Profile:
    """Each report is (eps0, delta0)-LDP for every delta0: the best one at each epsilon."""
    mu = math.sqrt(pair.h)

    @lru_cache(maxsize=128)
    def taken_as(halves: int) -> Profile:
        """delta0 is this many half powers of ten below 1/n."""
        delta0 = 10.0 ** (-0.5 * halves) / pair.n
        local = up(GDPCurve(mu).epsilon(delta0), SUMS)
        if not 0.0 < local <= _LARGEST:
            return lambda epsilon, width: Enclosure(1.0, 1.0)
        if pair.check_in < 1.0:
            return _checked_in(local, delta0, pair.n, pair.check_in)
        return stronger_approximate.curve(LDP(local, delta0), pair.reports).enclose

    def profile(epsilon: float, width: float) -> Enclosure:
        @cache
        def value(halves: int) -> float:
            return taken_as(halves)(epsilon, width).upper

        low, high = _HALVES
        while high - low > 2:  # falls, then rises
            left, right = low + (high - low) // 3, high - (high - low) // 3
            low, high = (low, right) if value(left) <= value(right) < 1.0 else (left, high)
        best = min(value(halves) for halves in range(low, high + 1))
        return Enclosure(best, best)

    return profile


def _approximate_guess(pair: GaussianPair) -> Guess:
    """From the limiting Gaussian pairs of a few delta0."""

    def guess(delta: float) -> Start | None:
        local = (
            gaussian_start(math.sqrt(pair.h), 10.0 ** (-0.5 * halves) / pair.n)
            for halves in range(*_HALVES, 4)
        )
        found = (
            gaussian_guess(eps0.x, pair.reports, stronger_weight(eps0.x)[0])(0.5 * delta)
            for eps0 in local
            if eps0 is not None
        )
        return min((start for start in found if start is not None), default=None)

    return guess


def _checked_in(eps0: float, delta0: float, n: int, q: float) -> Profile:
    """delta(eps) of stronger clones with an erasure symbol, plus what delta0 may add."""
    q = max(q, _LEAST_RATE)  # erasing some reports is post-processing: a larger rate leaks more
    clones, nothing = stronger_weight(eps0)
    w = 0.5 * clones  # 1 / (E + 1)
    decay = math.exp(-eps0)
    failure = 2.0 * (n - 1.0) * decay * (1.0 + 2.0 * decay) / (1.0 + decay) + decay / (1.0 + decay)
    moved = math.nextafter(up(q * delta0 * failure, FORMULA), 1.0)

    def profile(epsilon: float, width: float) -> Enclosure:
        if epsilon >= eps0:
            return Enclosure(0.0, q * delta0)
        e, big = math.exp(epsilon), math.exp(eps0)
        off = roundings(8) * (1.0 + e) * (1.0 + big)
        silence = -down(math.expm1(epsilon), roundings(8))
        values = [big - e + off, 1.0 - e * big + off, silence, 0.0]
        weights = [q * w, q * w, 1.0 - q, q * nothing]
        value = mean_positive_part(Law(values, weights, 1e-14), n, width=max(width, 2e-4))
        return Enclosure(min(value.lower, 1.0), min(value.upper + (1.0 + e) * moved, 1.0))

    return profile


@bound(
    Theorem(
        id="gaussian-approximate",
        citation="ours, after Feldman, McMillan, Talwar 2021",
        statement="stronger clones for (eps0, delta0)-LDP reports, minimised over delta0",
        validity="Gaussian reports of all users, or of those checked in; one round",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/shuffle_gaussian.md",
    ),
    gaussian,
    asked_of=one_round,
    turn=3,
)
def gaussian_approximate(randomizer: Randomizer, n: int) -> Curve:
    """Every data set, any dimension."""
    pair = gaussian_pair(randomizer, n)
    if pair.rounds > 1 or pair.drawn is not None:
        raise RegimeError("one round, nobody drawn", str(randomizer))
    return ProfileCurve(_approximate_profile(pair), NEVER, guess=_approximate_guess(pair))
