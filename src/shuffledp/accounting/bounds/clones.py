"""Clone pairs: the exact divergences behind the generic bounds.

Symbols: E = exp(eps0), e = exp(epsilon), w = 1/(E+1). Given C other users that became clones,
P = (1-w) P0 + w Q0 and Q = (1-w) Q0 + w P0 with P0 = (A+1, C-A), Q0 = (A, C-A+1), A ~ Bin(C, 1/2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial

from shuffledp.accounting.bounds.scopes import pure_ldp
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import Curve, GDPCurve, ProfileCurve, PureEnd
from shuffledp.accounting.curves.gdp import gaussian_start
from shuffledp.accounting.randomizers import LDP
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Refutation, Status, Theorem
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.logs import log1p_exp
from shuffledp.numerics.renyi import TwoSidedRenyi
from shuffledp.numerics.rounding import FORMULA, down, roundings, up
from shuffledp.numerics.search import Guess
from shuffledp.numerics.trinomial import TwoSided, deltas

Weight = Callable[[float], tuple[float, float]]

_NO_CLONES = 600.0
"""Beyond this even 1e12 users hold no clone that a double could show."""


def stronger_weight(eps0: float) -> tuple[float, float]:
    """Clone probability 2/(E+1) and its complement."""
    decay = math.exp(-eps0)
    return 2.0 * decay / (1.0 + decay), math.tanh(0.5 * eps0)


def standard_weight(eps0: float) -> tuple[float, float]:
    """Clone probability 1/E and its complement."""
    return math.exp(-eps0), -math.expm1(-eps0)


def _slopes(eps0: float, epsilon: float) -> tuple[float, float]:
    """Threshold on the share of one symbol, less 1/2, and its distance from 1."""
    decay = math.exp(-epsilon)
    slope = 0.5 * math.tanh(0.5 * epsilon) / math.tanh(0.5 * eps0)
    coslope = -math.expm1(epsilon - eps0) * decay / (-math.expm1(-eps0) * (1.0 + decay))
    return slope, coslope


def gaussian_guess(eps0: float, n: int, p: float) -> Guess:
    """Of the limiting Gaussian pair."""
    mu = 2.0 * math.tanh(0.5 * eps0) / math.sqrt(max(n * p, 1e-300))
    return partial(gaussian_start, mu)


def response_curve(eps0: float) -> ProfileCurve:
    """One randomized response: the worst eps0-LDP randomizer without any shuffling."""

    def profile(epsilon: float, _width: float) -> Enclosure:
        value = -math.expm1(min(epsilon - eps0, 0.0)) / (1.0 + math.exp(-eps0))
        return Enclosure(down(value, roundings(90)), min(up(value, roundings(90)), 1.0))

    def renyi(order: float) -> float:
        # ln( cosh((L - 1/2) eps0) / cosh(eps0 / 2) ) / (L - 1), written without cancellation
        if order * eps0 < 1.0:
            rise = 2.0 * math.sinh(0.5 * order * eps0) * math.sinh(0.5 * (order - 1.0) * eps0)
            log_moment = math.log1p(rise / math.cosh(0.5 * eps0))
        else:
            high, low = math.exp((1.0 - 2.0 * order) * eps0), math.exp(-eps0)
            log_moment = (order - 1.0) * eps0 + math.log1p(high) - math.log1p(low)
        return min(up(log_moment / (order - 1.0), FORMULA + roundings(8) / (order - 1.0)), eps0)

    return ProfileCurve(profile, PureEnd(eps0), exact_renyi=renyi)


def pair_curve(randomizer: LDP, n: int, weight: Weight) -> ProfileCurve:
    """Exact curve of a clone pair with the given clone probability."""
    eps0 = randomizer.eps0
    return response_curve(eps0) if eps0 > _NO_CLONES else _pair(eps0, n, weight)


@lru_cache(maxsize=64)
def _pair(eps0: float, n: int, weight: Weight) -> ProfileCurve:
    """Several theorems share this pair: what one has computed the others reuse."""
    p, q = weight(eps0)

    def sums(epsilon: float) -> TwoSided:
        slope, coslope = _slopes(eps0, min(epsilon, eps0))
        log_scale = math.log(2.0 * math.tanh(0.5 * eps0)) + log1p_exp(epsilon)
        return TwoSided(n, p, q, log_scale, slope, coslope)

    @lru_cache(maxsize=256)
    def profile(epsilon: float, width: float) -> Enclosure:
        return sums(epsilon).delta(width)

    return ProfileCurve(
        profile,
        end=PureEnd(eps0),
        enclose_many=lambda epsilons: deltas([sums(epsilon) for epsilon in epsilons]),
        exact_renyi=lambda order: pair_renyi(eps0, n, weight, order).upper,
        guess=gaussian_guess(eps0, n, p),
    )


@lru_cache(maxsize=1024)
def pair_renyi(eps0: float, n: int, weight: Weight, order: float) -> Enclosure:
    """Rényi divergence of a clone pair; both directions are alike by symmetry."""
    p, q = weight(eps0)
    gap = stronger_weight(eps0)[0]
    return TwoSidedRenyi(n, p, q, 1.0, math.tanh(0.5 * eps0), gap, eps0).divergence(order)


@bound(
    Theorem(
        id="stronger-clones",
        citation="Feldman, McMillan, Talwar 2023 (SODA), whose Lemma 3.5 has an erratum;"
        " proof our own",
        statement="delta(eps) is at most that of the clone pair with C ~ Bin(n-1, 2/(e^eps0+1))",
        validity="any eps0-LDP randomizers, adaptive, one per slot; eps0 > 0, n >= 1",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/stronger_clones.md",
    ),
    pure_ldp,
    turn=2,
)
def stronger_clones(randomizer: LDP, n: int) -> ProfileCurve:
    """The pair that bounds every eps0-LDP randomizer."""
    return pair_curve(randomizer, n, stronger_weight)


@bound(
    Theorem(
        id="feldman-2021",
        citation="Feldman, McMillan, Talwar 2021 (FOCS), Theorem 3.1 and its numerical form",
        statement="delta(eps) is at most that of the clone pair with C ~ Bin(n-1, e^-eps0)",
        validity="any eps0-LDP randomizers, adaptive; eps0 > 0, n >= 1",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/clones.md",
    ),
    pure_ldp,
    asked_of=False,
)
def feldman_2021(randomizer: LDP, n: int) -> ProfileCurve:
    """The first clone pair, computed exactly."""
    return pair_curve(randomizer, n, standard_weight)


@bound(
    Theorem(
        id="chen-2024-exact",
        citation="Chen, Cao, Ge 2024 (ICASSP), Theorem 1 and Corollary 1",
        statement="Rényi divergence and trade-off function of the clone pair with weight e^-eps0",
        validity="any eps0-LDP randomizers, adaptive; order > 1, n >= 1",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/clones.md",
        note="their printed formulas carry slips; computed from the pair itself",
    ),
    pure_ldp,
    asked_of=False,
)
def chen_exact(randomizer: LDP, n: int) -> ProfileCurve:
    """Exact Rényi curve of the clone pair with weight 1/E."""
    return pair_curve(randomizer, n, standard_weight)


@bound(
    Theorem(
        id="chen-2024-exact-stronger",
        citation="Chen, Cao, Ge 2024 (ICASSP), Theorem 1, on the pair of Feldman et al. 2023",
        statement="Rényi divergence and trade-off function of the clone pair with weight"
        " 2/(e^eps0+1)",
        validity="any eps0-LDP randomizers, adaptive; order > 1, n >= 1",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/stronger_clones.md",
    ),
    pure_ldp,
    asked_of=False,
)
def chen_exact_stronger(randomizer: LDP, n: int) -> ProfileCurve:
    """Exact Rényi curve of the clone pair with weight 2/(E+1)."""
    return pair_curve(randomizer, n, stronger_weight)


@bound(
    Theorem(
        id="wang-2023",
        citation="Wang, Su, Ye, Shokri, Su 2023 (NeurIPS), Theorem 4.2 and Corollary 4.3",
        statement="T >= C(2w Id + (1-2w) T(P0, Q0)), delta(eps) = (1-2w) H_g(P0||Q0),"
        " g = (e^eps-2w)/(1-2w)",
        validity="any eps0-LDP randomizers, adaptive; eps0 > 0, n >= 1",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/published.md",
        note="always dominated by the exact pair it relaxes",
    ),
    pure_ldp,
    asked_of=False,
)
def wang_2023(randomizer: LDP, n: int) -> Curve:
    """Joint-concavity relaxation of the stronger pair."""
    eps0 = randomizer.eps0
    if eps0 > _NO_CLONES:
        return response_curve(eps0)
    p, q = stronger_weight(eps0)

    def profile(epsilon: float, width: float) -> Enclosure:
        if epsilon >= eps0:
            return Enclosure(0.0, 0.0)
        # divided by e throughout, so that nothing overflows; 2w = p
        decay = math.exp(-epsilon)
        total = -math.expm1(-epsilon) + 2.0 * decay * q
        slope = 0.5 * -math.expm1(-epsilon) / total
        log_scale = epsilon + math.log(2.0 * total)
        return TwoSided(n, p, q, log_scale, slope, decay * q / total).delta(width)

    return ProfileCurve(profile, PureEnd(eps0), guess=gaussian_guess(eps0, n, p))


@bound(
    Theorem(
        id="chen-2024-gdp",
        citation="Chen, Cao, Ge 2024 (ICASSP), Theorem 2",
        statement="approximately mu-GDP with mu = 2 e^(eps0/2) / sqrt(n-1), as n grows",
        validity="n >= 2; no error term",
        status=Status.ASYMPTOTIC,
        direction=Direction.ESTIMATE,
        proof="proofs/published.md",
        refutation=Refutation(
            dataset="3-RR, all other users on the third symbol, the victim on the first or second",
            witness="dataset-3rr",
            parameters={"eps0": 7.0, "n": 10_000, "order": 3.0},
            claimed=0.6581,
            leaked=1.82,
        ),
        note="for fixed eps0 only, and no finite n is guaranteed:"
        " at the one on record a data set leaks"
        " more. Corollary 2 is its Rényi form 2 e^eps0 order / (n-1)",
    ),
    pure_ldp,
)
def chen_gdp(randomizer: LDP, n: int) -> GDPCurve:
    """The asymptotic mu."""
    if n < 2:
        raise RegimeError("n >= 2", n)
    return GDPCurve(2.0 * math.exp(0.5 * min(randomizer.eps0, 1400.0)) / math.sqrt(n - 1.0))
