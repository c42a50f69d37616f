"""Wang et al. 2023 as claims: mixtures, and the shuffled pair rebuilt from its parts.

Symbols: E = exp(eps0), w = 1/(E+1), C ~ Bin(n-1, 2w), A ~ Bin(C, 1/2), P0 = (A+1, C-A),
Q0 = (A, C-A+1), P = (1-w) P0 + w Q0, Q = (1-w) Q0 + w P0.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.accounting.bounds.claims import TradeoffClaim
from shuffledp.accounting.bounds.clones import stronger_weight
from shuffledp.accounting.curves.tradeoff import (
    Mixture,
    TradeoffFunction,
    advanced_of_laws,
    joint,
    proposition_6_4,
)
from shuffledp.checks import count, positive
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Refutation, Status, Theorem, register
from shuffledp.numerics.binomial import log_mass
from shuffledp.numerics.rounding import Array
from shuffledp.numerics.window import quantile

_MOST = 8_000_000
"""Atoms of the pair P0, Q0 that are worth listing."""
_DEPTH = 46.0
"""Chernoff exponent of the window of C: all but exp(-46) = 1e-20 of it on either side."""
_ROUNDING = 4e-13

THEOREMS = {
    theorem.id: register(theorem)
    for theorem in (
        Theorem(
            id="wang-2023-lemma-3.1",
            citation="Wang, Su, Ye, Shokri, Su 2023 (NeurIPS), Lemma 3.1",
            statement="T of two mixtures is at least T with the index revealed",
            validity="any finite mixture, common weights",
            status=Status.FIXED_PAIR,
            direction=Direction.UPPER,
            proof="proofs/tradeoff.md",
        ),
        Theorem(
            id="wang-2023-lemma-6.2",
            citation="Wang et al. 2023 (NeurIPS), Lemma 6.2, optimised at every slope",
            statement="H_e of two mixtures is at most the best sum of two shared hockey-sticks",
            validity="two parts, common weights, any slope e > 0",
            status=Status.FIXED_PAIR,
            direction=Direction.UPPER,
            proof="proofs/tradeoff.md",
        ),
        Theorem(
            id="wang-2023-lemma-6.3-printed",
            citation="Wang et al. 2023 (NeurIPS), Lemma 6.3 as printed, f_ij = T(P_i, Q_j)",
            statement="T of two mixtures is at least C of the combined conjugates",
            validity="T(P_i, Q_i) symmetric",
            status=Status.REFUTED,
            direction=Direction.UPPER,
            refutation=Refutation(
                dataset="P1 = Q1 = (1/2, 1/2), P2 = (1, 0), Q2 = (0, 1), w = gamma = eta = 1/2",
                witness="exact",
                parameters={"alpha": 0.25},
                claimed=0.375,
                leaked=0.25,
            ),
            note="holds with T(P_j, Q_i): the crossed pairs are the wrong way round",
        ),
        Theorem(
            id="wang-2023-proposition-6.1-printed",
            citation="Wang et al. 2023 (NeurIPS), Proposition 6.1 as printed",
            statement="Lemma 3.1 is an equality if and only if the ratio of the mixtures is the"
            " mean ratio",
            validity="two parts",
            status=Status.REFUTED,
            direction=Direction.EXACT,
            refutation=Refutation(
                dataset="Q1 = Q2 = (1/2, 1/2), P1 = (1, 0), P2 = (0, 1), w = 1/2",
                witness="exact",
                parameters={"alpha": 0.0},
                claimed=0.5,
                leaked=1.0,
            ),
            note="the condition is necessary, not sufficient: it also holds where q1 = q2",
        ),
        Theorem(
            id="wang-2023-proposition-4.1",
            citation="Wang et al. 2023 (NeurIPS), Proposition 4.1",
            statement="T(P0, Q0) is the mixture over C of binomial trade-off functions",
            validity="eps0 > 0, n >= 1",
            status=Status.FIXED_PAIR,
            direction=Direction.EXACT,
            proof="proofs/tradeoff.md",
        ),
        Theorem(
            id="wang-2023-theorem-4.2",
            citation="Wang et al. 2023 (NeurIPS), Theorem 4.2,"
            " rebuilt from Propositions 4.1 and 6.4",
            statement="shuffled eps0-LDP reports are C(2w Id + (1-2w) T(P0, Q0))-DP",
            validity="any eps0-LDP randomizers; eps0 > 0, n >= 1",
            status=Status.PROVEN,
            direction=Direction.UPPER,
            proof="proofs/tradeoff.md",
        ),
        Theorem(
            id="stronger-clones-tradeoff",
            citation="Feldman, McMillan, Talwar 2023 (SODA); proof our own;"
            " pair by Neyman and Pearson",
            statement="shuffled eps0-LDP reports are T(P, Q)-DP",
            validity="any eps0-LDP randomizers; eps0 > 0, n >= 1",
            status=Status.PROVEN,
            direction=Direction.UPPER,
            proof="proofs/stronger_clones.md",
        ),
        Theorem(
            id="wang-2023-theorem-5.1",
            citation="Wang et al. 2023 (NeurIPS), Theorem 5.1",
            statement="one noisy gradient step from a random start I is at least the mixture over I"
            " of G_mu(I)",
            validity="one stated pair of data sets, mu(I) its gradient difference over sigma",
            status=Status.FIXED_PAIR,
            direction=Direction.UPPER,
            proof="proofs/tradeoff.md",
        ),
        Theorem(
            id="wang-2023-theorem-5.1-worst",
            citation="Wang et al. 2023 (NeurIPS), Theorem 5.1 and the remark after it",
            statement="as Theorem 5.1 with mu(I) the sensitivity of the gradient at I",
            validity="mu(I) bounds the gradient difference of every pair of neighbours",
            status=Status.PROVEN,
            direction=Direction.UPPER,
            proof="proofs/tradeoff.md",
        ),
    )
}


def claim(theorem_id: str, function: TradeoffFunction) -> TradeoffClaim:
    """The function with the labels of its theorem."""
    return TradeoffClaim(function, THEOREMS[theorem_id])


def joint_concavity(mixture: Mixture) -> TradeoffClaim:
    """Lemma 3.1 for discrete pairs: true of this mixture, not of any others."""
    return claim("wang-2023-lemma-3.1", mixture.joint().lowered(_ROUNDING))


def advanced_joint_concavity(mixture: Mixture) -> TradeoffClaim:
    """Lemma 6.2 at its best for two discrete pairs."""
    return claim("wang-2023-lemma-6.2", advanced_of_laws(mixture).lowered(_ROUNDING))


def clone_parts(eps0: float, n: int) -> tuple[list[TradeoffFunction], Array]:
    """T((A+1, c-A), (A, c-A+1)) for every likely c, last the useless function 0, and weights.

    c outside the window counts as revealing: sound, and less than 1e-19 in all.
    """
    budget, users = positive("eps0", eps0), count("n", n)
    p, q = stronger_weight(budget)
    trials = float(users - 1)
    low, high = 0.0, 0.0
    if users > 1:
        low = max(quantile(_DEPTH, -1, trials, p, q), 0.0)
        high = min(quantile(_DEPTH, 1, trials, p, q), trials)
    if (high - low + 1.0) * (high + 2.0) > _MOST:
        raise RegimeError(
            f"at most {_MOST:,} atoms; the bound 'wang-2023' has no such limit",
            f"about {(high - low + 1.0) * (high + 2.0):.1e} at n = {users}, eps0 = {budget:g}",
            "wang-2023-proposition-4.1",
        )
    values = np.arange(low, high + 1.0)
    weights = np.exp(log_mass(values, trials, p, q)[0]) if users > 1 else np.ones(1)
    parts = [_binomial_part(int(c)) for c in values]
    rest = max(1.0 - math.fsum(weights.tolist()), 0.0)
    parts.append(TradeoffFunction(np.array([0.0, 1.0]), np.zeros(2)))
    weights = np.append(weights, rest)
    return parts, weights / weights.sum()


def _binomial_part(c: int) -> TradeoffFunction:
    """T of one more than Bin(c, 1/2) against Bin(c, 1/2)."""
    k = np.arange(c + 1.0)
    law = np.exp(log_mass(k, float(c), 0.5, 0.5)[0]) if c else np.ones(1)
    law /= law.sum()
    return TradeoffFunction.from_masses(np.append(0.0, law), np.append(law, 0.0))


def proposition_4_1(eps0: float, n: int) -> TradeoffClaim:
    """T(P0, Q0): the parts' supports are disjoint (their total is C + 1), so Lemma 3.1 is exact."""
    return claim("wang-2023-proposition-4.1", joint(*clone_parts(eps0, n)))


def theorem_4_2(eps0: float, n: int) -> TradeoffClaim:
    """C(2w Id + (1-2w) T(P0, Q0)) from ``proposition_4_1``: the bound 'wang-2023' as a function."""
    base = proposition_4_1(eps0, n).function
    w = 0.5 * stronger_weight(eps0)[0]
    return claim("wang-2023-theorem-4.2", proposition_6_4(base, w).lowered(_ROUNDING))


def clone_pair(eps0: float, n: int) -> TradeoffClaim:
    """T(P, Q) itself: the bound 'stronger-clones' as a function, never below Theorem 4.2's."""
    base = proposition_4_1(eps0, n).function
    share = stronger_weight(eps0)[0]
    first, second = base.first, base.second
    w = 0.5 * share
    mixed = TradeoffFunction.from_masses(
        (1.0 - w) * first + w * second, (1.0 - w) * second + w * first
    )
    return claim("stronger-clones-tradeoff", mixed.lowered(_ROUNDING))
