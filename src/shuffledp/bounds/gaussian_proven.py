"""Gaussian reports, every data set: what is proven without knowing the worst pair.

Symbols: mu = sensitivity / sigma, p the probability that the victim takes part in a round,
E = exp(eps0), e = exp(epsilon).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from shuffledp.bounds.approximate import stronger_approximate
from shuffledp.bounds.clones import stronger_weight
from shuffledp.bounds.shuffle_gaussian import GaussianPair, gaussian_pair
from shuffledp.bounds.theorem import Subject, Theorem, bound
from shuffledp.curves import Curve, GDPCurve, ProfileCurve
from shuffledp.curves.convert import Profile
from shuffledp.curves.gdp import gaussian_delta
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status
from shuffledp.numerics.binomial import U
from shuffledp.numerics.composition import binomial_window, composed_epsilon
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.positive_part import Law, mean_positive_part
from shuffledp.randomizers import LDP, Randomizer

_MOST_ROUNDS = 10**7
_SPLITS = (0.5, 0.9, 0.99)
"""Shares of delta given to the rounds' own deltas when composing."""
_SAFE = 1.0 + 1e-9
_WIDTH = 5e-3


@dataclass(frozen=True)
class RevealedRounds(Curve):
    """mu-GDP in each of Bin(rounds, p) rounds, the number known to the adversary."""

    mu: float
    rounds: int
    p: float
    kind: ClassVar[str] = "GDP"

    def delta(self, epsilon: float) -> float:
        k, mass = binomial_window(self.rounds, self.p, 1.0 - self.p)
        step = max(1, len(k) // 2000)  # delta grows with k: the last of each group stands for it
        total = 1e-24
        for i in range(0, len(k), step):
            last = float(k[min(i + step, len(k)) - 1])
            if last:
                total += float(mass[i : i + step].sum()) * gaussian_delta(
                    self.mu * math.sqrt(last), epsilon
                )
        return min(total * _SAFE, 1.0)

    def epsilon(self, delta: float) -> float:
        if delta <= 2e-24:
            raise RegimeError("gaussian-unshuffled", "delta > 2e-24", delta)
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, self.mu
        while self.delta(high) > delta:
            low, high = high, 2.0 * high
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high

    def renyi(self, order: float) -> float:
        exponent = 0.5 * order * (order - 1.0) * self.mu**2
        if exponent > 700.0:
            gain = exponent + math.log(self.p)
        else:
            gain = math.log1p(self.p * math.expm1(exponent))
        return self.rounds * gain / (order - 1.0) * (1.0 + 1e-12)


@bound(
    Theorem(
        id="gaussian-unshuffled",
        citation="Dong, Roth, Su 2022; data processing",
        statement="the report itself is mu-GDP, mu = sensitivity/sigma; the victim's rounds, Bin(rounds, p), revealed",
        validity="Gaussian reports, checked in or drawn; any rounds",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/shuffle_gaussian.md",
        note="as if there were no shuffler",
    ),
    about=Subject.LAW,
)
def gaussian_unshuffled(randomizer: Randomizer, n: int) -> Curve:
    """No use is made of the shuffler."""
    pair = gaussian_pair("gaussian-unshuffled", randomizer, n)
    mu = math.sqrt(pair.h)
    if pair.participation == 1.0:
        return GDPCurve(mu * math.sqrt(pair.rounds) * (1.0 + 8.0 * U))
    if pair.rounds > _MOST_ROUNDS:
        raise RegimeError("gaussian-unshuffled", f"at most {_MOST_ROUNDS} rounds", pair.rounds)
    return RevealedRounds(mu, pair.rounds, pair.participation)


@dataclass(frozen=True)
class ApproximateRoute(Curve):
    """Each report is (eps0, delta0)-LDP for every eps0: the best of them, then composition."""

    pair: GaussianPair
    kind: ClassVar[str] = "(epsilon, delta)"

    def epsilon(self, delta: float) -> float:
        value = self._over_rounds(delta)
        if not math.isfinite(value):
            raise RegimeError("gaussian-approximate", "noise enough for some delta0", self.pair.h)
        return value

    def _over_rounds(self, delta: float) -> float:
        rounds = self.pair.rounds
        if rounds == 1:
            return self._one_round(delta)
        best = math.inf
        for share in _SPLITS:
            each = -math.expm1(math.log1p(-share * delta) / rounds)
            rest = (1.0 - share) * delta
            best = min(best, composed_epsilon(self._one_round(each), rounds, rest))
        return best

    def delta(self, epsilon: float) -> float:
        if self._over_rounds(0.999) > epsilon:
            return 1.0
        low, high = math.log(1e-300), math.log(0.999)
        while high - low > 1e-3:
            middle = 0.5 * (low + high)
            fits = self._over_rounds(math.exp(middle)) <= epsilon
            low, high = (low, middle) if fits else (middle, high)
        return math.exp(high)

    def _one_round(self, delta: float) -> float:
        """epsilon of one round: the best over delta0; drawing m of n comes on top."""
        pair = self.pair
        p = pair.participation
        if pair.drawn is None:
            return min(self._with(delta, share) for share in _shares(delta, pair.n))
        base = min(self._with(delta / p, share) for share in _shares(delta / p, pair.reports))
        return math.log1p(p * math.expm1(base)) * _SAFE if base < 600.0 else base

    def _with(self, delta: float, delta0: float) -> float:
        """epsilon at delta when each report is taken as (eps0, delta0)-LDP."""
        if delta >= 1.0:
            return 0.0
        pair, mu = self.pair, math.sqrt(self.pair.h)
        local = GDPCurve(mu).epsilon(delta0) * _SAFE
        if local > 600.0 or local <= 0.0:
            return math.inf if local > 0.0 else GDPCurve(mu).epsilon(delta)
        if pair.check_in == 1.0:
            curve = stronger_approximate(LDP(local, delta0), pair.reports)
            assert isinstance(curve, ProfileCurve)
            profile: Profile = curve.enclose
        else:
            profile = _checked_in(local, delta0, pair.n, pair.check_in)
        return _smallest(lambda x: profile(x, _WIDTH).upper <= delta, local)


def _shares(delta: float, n: int) -> list[float]:
    return [delta * share / n for share in (0.3, 0.1, 0.03, 0.01)]


def _checked_in(eps0: float, delta0: float, n: int, q: float) -> Profile:
    """delta(eps) of stronger clones with an erasure symbol, plus what delta0 may add."""
    w = 0.5 * stronger_weight(eps0)[0]  # 1 / (E + 1)
    decay = math.exp(-eps0)
    failure = 2.0 * (n - 1.0) * decay * (1.0 + 2.0 * decay) / (1.0 + decay) + decay / (1.0 + decay)
    moved = q * delta0 * failure * (1.0 + 1e-12)

    def profile(epsilon: float, width: float) -> Enclosure:
        if epsilon >= eps0:
            return Enclosure(0.0, q * delta0)
        e, big = math.exp(epsilon), math.exp(eps0)
        up = 8.0 * U * (1.0 + e) * (1.0 + big)
        values = [big - e + up, 1.0 - e * big + up, 1.0 - e + 8.0 * U * e, 0.0]
        weights = [q * w, q * w, 1.0 - q, q * (1.0 - 2.0 * w)]
        value = mean_positive_part(Law(values, weights, 1e-14), n, width=max(width, 2e-4))
        return Enclosure(value.lower, min(value.upper + (1.0 + e) * moved, 1.0))

    return profile


def _smallest(holds: Callable[[float], bool], top: float) -> float:
    """Smallest epsilon that holds, from above; ``top`` is the unshuffled one."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, top
    while high - low > 2e-4 * high and high > 1e-12:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high if holds(high) else math.inf


@bound(
    Theorem(
        id="gaussian-approximate",
        citation="ours, after Feldman, McMillan, Talwar 2021; composition by Kairouz, Oh, Viswanath 2015",
        statement="stronger clones for (eps0, delta0)-LDP reports, minimised over delta0; rounds composed optimally",
        validity="Gaussian reports, checked in or drawn; any rounds up to 1e7",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/shuffle_gaussian.md",
    ),
    about=Subject.LAW,
)
def gaussian_approximate(randomizer: Randomizer, n: int) -> Curve:
    """Every data set, any dimension."""
    pair = gaussian_pair("gaussian-approximate", randomizer, n)
    if pair.rounds > _MOST_ROUNDS:
        raise RegimeError("gaussian-approximate", f"at most {_MOST_ROUNDS} rounds", pair.rounds)
    return ApproximateRoute(pair)
