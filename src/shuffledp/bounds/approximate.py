"""(eps0, delta0)-LDP randomizers: a pure pair plus what the failure mass can add.

Symbols: E = exp(eps0), e = exp(epsilon).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from shuffledp.bounds.clones import Weight, pair_curve, standard_weight, stronger_weight
from shuffledp.bounds.theorem import Theorem, bound
from shuffledp.curves import Curve, ProfileCurve
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.randomizers import LDP


def _with_failure(
    theorem: str, randomizer: LDP, n: int, weight: Weight, failure: Callable[[float], float]
) -> Curve:
    """delta(eps) of the pure pair plus (1 + e) failure(E); delta0 from eps0 on."""
    if not randomizer.delta0:
        raise RegimeError(theorem, "an approximate randomizer (delta0 > 0)", "delta0 = 0")
    pure = pair_curve(LDP(randomizer.eps0), n, weight)
    moved = randomizer.delta0 * failure(randomizer.eps0) * (1.0 + 1e-12)

    def profile(epsilon: float, width: float) -> Enclosure:
        if epsilon >= randomizer.eps0:
            return Enclosure(0.0, randomizer.delta0)
        value = pure.enclose(epsilon, width)
        extra = (1.0 + math.exp(epsilon)) * moved
        return Enclosure(min(value.lower, 1.0), min(value.upper + extra, 1.0))

    return FloorCurve(profile, top=math.inf, guess=pure.guess, theorem=theorem)


@dataclass(frozen=True)
class FloorCurve(ProfileCurve):
    """A profile that never falls to zero: Rényi divergences are infinite."""

    theorem: str = ""

    def enclose_epsilon(self, delta: float) -> Enclosure:
        low, high = 0.0, 1.0
        while self.enclose(high).upper > delta:
            low, high = high, 2.0 * high
            if high > 1e6:
                raise RegimeError(self.theorem, "delta > delta0", f"delta = {delta:g}")
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.enclose(middle).upper <= delta else (middle, high)
        return Enclosure(low, high)

    def renyi(self, order: float) -> float:
        raise self._cannot("renyi")

    def tradeoff(self, alpha: float) -> float:
        best = 0.0
        for k in range(200):
            epsilon = 1e-3 * 1.06**k
            e, delta = math.exp(epsilon), self.delta(epsilon)
            best = max(best, 1.0 - delta - e * alpha, (1.0 - delta - alpha) / e)
        return best


@bound(
    Theorem(
        id="stronger-clones-approximate",
        citation="ours, after Feldman, McMillan, Talwar 2021 and 2023",
        statement="delta(eps) of the pair with weight 2/(E+1) plus (1+e) delta0 (2(n-1)(E+2)/(E(E+1)) + 1/(E+1))",
        validity="any (eps0, delta0)-LDP randomizers, adaptive; delta0 > 0",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/approximate.md",
    )
)
def stronger_approximate(randomizer: LDP, n: int) -> Curve:
    """The stronger pair for approximate randomizers."""

    def failure(eps0: float) -> float:
        decay = math.exp(-eps0)
        return 2.0 * (n - 1.0) * decay * (1.0 + 2.0 * decay) / (1.0 + decay) + decay / (1.0 + decay)

    return _with_failure("stronger-clones-approximate", randomizer, n, stronger_weight, failure)


@bound(
    Theorem(
        id="feldman-2021-approximate",
        citation="Feldman, McMillan, Talwar 2021 (FOCS), Theorem 3.8",
        statement="delta(eps) of the pair with weight 1/E plus (1+e)(1 + 1/(2E)) n delta0",
        validity="any (eps0, delta0)-LDP randomizers, adaptive; delta0 > 0",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/approximate.md",
    )
)
def feldman_approximate(randomizer: LDP, n: int) -> Curve:
    """The published extra term; our proof gives a smaller one."""
    return _with_failure(
        "feldman-2021-approximate",
        randomizer,
        n,
        standard_weight,
        lambda eps0: (1.0 + 0.5 * math.exp(-eps0)) * n,
    )
