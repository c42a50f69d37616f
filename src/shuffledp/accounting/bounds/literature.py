"""Bounds and limits published since 2024, each as its authors state it, with what holds of it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from shuffledp.accounting.bounds.blanket import blanket_curve
from shuffledp.accounting.bounds.scopes import known_law, pure_ldp
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import ClosedFormCurve, Curve, GDPCurve
from shuffledp.accounting.randomizers import KRR, LDP, Channel, Randomizer, VictimPair
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Refutation, Status, Theorem, register


def _two_inputs(randomizer: Randomizer) -> Randomizer:
    known_law(randomizer)
    binary = isinstance(randomizer, KRR) and randomizer.k == 2
    if not binary and not (isinstance(randomizer, Channel) and len(randomizer.matrix) == 2):
        raise RegimeError("a randomizer of two inputs and finitely many outputs", str(randomizer))
    return randomizer


def _limit(pairs: Iterable[VictimPair], n: int) -> GDPCurve:
    """mu^2 = (1/n) sum of (a - b)^2 / base, of the worst pair."""
    found = []
    for pair in pairs:
        if pair.outcomes.unseen:
            raise RegimeError("laws with the same outcomes", pair.outcomes.unseen)
        difference = pair.outcomes.first - pair.outcomes.second
        ratio = np.clip(difference / pair.outcomes.base, -1e100, 1e100)
        found.append(float(difference @ ratio))
    return GDPCurve(math.sqrt(max(found) / n))


@bound(
    Theorem(
        id="su-2025",
        citation="Su, Cheng, Wang 2025 (arXiv 2504.07414)",
        statement="the blanket is the best of all decompositions; its bound by Fourier transforms",
        validity="randomizers whose law and worst pair of inputs are known",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/blanket.md",
        note="the bound is that of `blanket`, evaluated here with directed errors",
    ),
    known_law,
    asked_of=False,
)
def su_2025(randomizer: Randomizer, n: int) -> Curve:
    """What their algorithm approximates."""
    return blanket_curve(randomizer, n)


@bound(
    Theorem(
        id="takagi-2026-index",
        citation="Takagi, Liew 2026 (arXiv 2601.19154), the shuffle index",
        statement="the blanket bound tends to that of mu-GDP, mu^2 = (1/n) int (a-b)^2 / u"
        " (mu = 1 / (index sqrt(n)))",
        validity="randomizers with a blanket u, as n grows; no error term",
        status=Status.ASYMPTOTIC,
        direction=Direction.ESTIMATE,
        proof="proofs/published.md",
        refutation=Refutation(
            dataset="all other users on the third symbol, the victim on the first or second",
            witness="dataset",
            parameters={"k": 3, "eps0": 5.0, "n": 10_000, "delta": 1e-6},
            claimed=0.7004,
            leaked=0.7388,
            mechanism="krr",
        ),
        note="right in the limit; at the finite n on record a data set leaks more",
    ),
    known_law,
)
def takagi_2026(randomizer: Randomizer, n: int) -> GDPCurve:
    """The limit of the blanket bound."""
    return _limit(randomizer.blankets(), n)


@bound(
    Theorem(
        id="fixed-composition-2026",
        citation="Fixed-composition shuffle asymptotics 2026 (arXiv 2602.09029)",
        statement="mu-GDP with mu^2 = (1/n) (a-b)' C^-1 (a-b), C the mean covariance of one report;"
        " largest where all others hold the same input: (1/n) sum (a-b)^2 / b",
        validity="two inputs, finitely many outputs of full support, as n grows; no error term",
        status=Status.ASYMPTOTIC,
        direction=Direction.ESTIMATE,
        proof="proofs/published.md",
        refutation=Refutation(
            dataset="all other users hold the victim's other value",
            witness="dataset",
            parameters={"eps0": 4.0, "n": 10_000, "delta": 1e-6},
            claimed=0.2816,
            leaked=0.3146,
            mechanism="rr",
        ),
        note="right in the limit; at the finite n on record a data set leaks more",
    ),
    _two_inputs,
)
def fixed_composition(randomizer: Randomizer, n: int) -> GDPCurve:
    """The limit for the worst composition of the data."""
    return _limit(randomizer.datasets(), n)


@bound(
    Theorem(
        id="informal-root",
        citation="found in libraries and lecture notes, without a proof",
        statement="epsilon = eps0 sqrt(ln(1/delta) / n)",
        validity="said of any eps0-LDP randomizer",
        status=Status.REFUTED,
        direction=Direction.UPPER,
        refutation=Refutation(
            dataset="3-RR, all other users on the third symbol, the victim on the first or second",
            witness="dataset-3rr",
            parameters={"eps0": 4.0, "n": 10_000, "delta": 1e-6},
            claimed=0.1487,
            leaked=0.4066,
        ),
        note="too small from about eps0 = 1 on, for few users earlier",
    ),
    pure_ldp,
)
def informal_root(randomizer: LDP, n: int) -> Curve:
    """As it is usually written."""
    eps0 = randomizer.eps0
    return ClosedFormCurve(lambda delta: min(eps0 * math.sqrt(-math.log(delta) / n), eps0))


MURAKAMI_2025 = register(
    Theorem(
        id="murakami-2025",
        citation="Murakami, Sei, Eriguchi 2025 (IEEE S&P; arXiv 2504.07362), augmented shuffling",
        statement="the shuffler keeps each value with probability b and adds dummies of each value,"
        " a number drawn from D: if one count, of a value held or not, is (eps/2, delta/2)-DP, all"
        " are (eps, delta)-DP; geometric D of ratio e^(-eps/2) and b = 1 - e^(-eps/2): delta = 0",
        validity="numbers of dummies independent for each value; values replaced; users who send"
        " their value as it is",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/published.md",
        note="without sampling (b = 1) the shape is `WithDummies`, accounted for exactly",
    )
)


def geometric_dummies(epsilon: float) -> tuple[float, float]:
    """The geometric protocol of Murakami et al. 2025 that is epsilon-DP: with which probability a
    value is kept, and the ratio r of the law (1 - r) r^z of its number of dummies."""
    ratio = math.exp(-0.5 * epsilon)
    return -math.expm1(-0.5 * epsilon), ratio


VAN_DIJK_2026 = register(
    Theorem(
        id="van-dijk-2026",
        citation="van Dijk, Ertan 2026 (arXiv 2605.06259), the worked setting",
        statement="one epoch of shuffled batches: delta(0) <= 0.01 for sigma = 1 and 1.14 million"
        " batches",
        validity="sigma >= sqrt(3 / ln(batches))",
        status=Status.HEURISTIC,
        direction=Direction.UPPER,
        note="not refuted: shuffled-batches-pair leaks delta(0) = 0.0024 there; its proof is not"
        " checked here, and no answer uses it",
    )
)
