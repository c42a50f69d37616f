"""(eps0, delta0)-LDP randomizers: a pure pair plus what the failure mass can add.

Symbols: E = exp(eps0), e = exp(epsilon).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

from shuffledp.accounting.bounds.clones import Weight, pair_curve, standard_weight, stronger_weight
from shuffledp.accounting.bounds.scopes import approximate_ldp
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import NEVER, Curve, ProfileCurve
from shuffledp.accounting.randomizers import LDP
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.enclosure import QUICK, SEARCH, Enclosure
from shuffledp.numerics.search import invert_decreasing, peak


def _with_failure(
    randomizer: LDP, n: int, weight: Weight, log_failure: Callable[[float], float]
) -> Curve:
    """delta(eps) of the pure pair plus delta0 (1 + e) failure(E); delta0 from eps0 on.

    ``log_failure`` is ln of e failure(E) as a function of epsilon: either factor alone may
    overflow.
    """
    pure = pair_curve(LDP(randomizer.eps0), n, weight)
    log_delta0 = math.log(randomizer.delta0) + 1e-12

    def log_extra(epsilon: float) -> float:
        return log_failure(epsilon) + math.log1p(math.exp(-epsilon)) + log_delta0

    def total(epsilon: float, width: float) -> Enclosure:
        return plus(pure.enclose(epsilon, width), epsilon)

    def plus(value: Enclosure, epsilon: float) -> Enclosure:
        extra = math.exp(min(log_extra(epsilon), 0.0))
        return Enclosure(min(value.lower + extra, 1.0), min(value.upper + extra, 1.0))

    @cache
    def lowest() -> float:
        """Where the sum is least: it is convex in e, and beyond that point it would rise again."""
        top = math.log(randomizer.eps0)
        return math.exp(peak(lambda x: -total(math.exp(x), QUICK).upper, top - 24.0, top, 1e-3))

    def profile(epsilon: float, width: float) -> Enclosure:
        eps0 = randomizer.eps0
        if epsilon >= eps0:
            return Enclosure(0.0, min(randomizer.delta0, total(lowest(), width).upper))
        value = pure.enclose(epsilon, width)
        # convex in e and 0 at E, so it falls at least as fast as straight to there
        if -math.expm1(epsilon - eps0) * math.exp(min(log_extra(eps0), 0.0)) < value.lower:
            return plus(value, epsilon)
        return total(min(epsilon, lowest()), width)

    return FloorCurve(profile, NEVER, guess=pure.guess, lowest=lowest, randomizer=randomizer)


@dataclass(frozen=True, kw_only=True)
class FloorCurve(ProfileCurve):
    """A profile that falls until ``lowest`` and jumps to delta0 at eps0: Rényi is infinite."""

    lowest: Callable[[], float]
    randomizer: LDP

    def enclose_epsilon(
        self, delta: float, width: float = SEARCH, one_sided: bool = False
    ) -> Enclosure:
        eps0, delta0 = self.randomizer.eps0, self.randomizer.delta0
        last = self.lowest()
        if self.enclose(last, width).upper <= delta:
            return invert_decreasing(
                partial(self.enclose, width=width),
                partial(self.enclose, width=QUICK),
                delta,
                last,
                self.start(delta),
                upper_only=one_sided,
            )
        if delta < delta0:
            raise RegimeError(f"delta >= delta0 = {delta0:g}", f"delta = {delta:g}")
        return Enclosure(eps0, eps0)

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
        statement="delta(eps) of the pair with weight 2/(E+1) plus (1+e)"
        " delta0 (2(n-1)(E+2)/(E(E+1)) + 1/(E+1))",
        validity="any (eps0, delta0)-LDP randomizers, adaptive; delta0 > 0",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/approximate.md",
    ),
    approximate_ldp,
    turn=1,
)
def stronger_approximate(randomizer: LDP, n: int) -> Curve:
    """The stronger pair for approximate randomizers."""

    decay = math.exp(-randomizer.eps0)
    users = math.log((2.0 * (n - 1.0) * (1.0 + 2.0 * decay) + 1.0) / (1.0 + decay))

    def log_failure(epsilon: float) -> float:
        return (epsilon - randomizer.eps0) + users

    return _with_failure(randomizer, n, stronger_weight, log_failure)


@bound(
    Theorem(
        id="feldman-2021-approximate",
        citation="Feldman, McMillan, Talwar 2021 (FOCS), Theorem 3.8",
        statement="delta(eps) of the pair with weight 1/E plus (1+e)(1 + 1/(2E)) n delta0",
        validity="any (eps0, delta0)-LDP randomizers, adaptive; delta0 > 0",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/approximate.md",
    ),
    approximate_ldp,
    turn=2,
)
def feldman_approximate(randomizer: LDP, n: int) -> Curve:
    """The published extra term; our proof gives a smaller one."""
    return _with_failure(
        randomizer,
        n,
        standard_weight,
        lambda epsilon: epsilon + math.log((1.0 + 0.5 * math.exp(-randomizer.eps0)) * n),
    )
