"""Liew, Takahashi 2023 as published: for comparison, each with the label it deserves.

Symbols: L the order, gamma the subsampling or check-in rate, SG_k the paper's shuffle Gaussian
divergence of k reports (shuffle-gaussian, its first direction).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from shuffledp.accounting.bounds.scopes import gaussian
from shuffledp.accounting.bounds.shuffle_gaussian import GaussianPair, _forward, gaussian_pair
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import ClosedFormCurve, OrderTable
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Refutation, Status, Theorem
from shuffledp.numerics.composition import binomial_window, composed_epsilon
from shuffledp.numerics.lognormal_mean import LognormalMean
from shuffledp.numerics.power_series import log_binomial_sums
from shuffledp.numerics.rounding import Array
from shuffledp.numerics.search import bisect

_CITATION = "Liew, Takahashi 2023 (Shuffle Gaussian Mechanism for Differential Privacy)"
MOST_PUBLISHED = 128
"""Orders tried for the bounds below; the paper stops at 30."""
_MOST_SUMMED = 2000
"""Users up to which eq. (17) is summed."""
_DELTAS = 48


def _log_subsampled(h: float, rate: float, k: int, top: int) -> Array:
    """(L-1) times the right side of (16) for L = 0..top."""
    moments = np.arange(-1.0, top) * _forward(LognormalMean(h, k), top)[0]  # (j-1) SG_k(j)
    terms = moments + np.arange(top + 1.0) * math.log(rate) + math.log(2.0)
    terms[:2] = -np.inf
    two = float(moments[2])
    small = math.log(4.0 * math.expm1(two)) if two < 1.0 else math.inf
    terms[2] = 2.0 * math.log(rate) + min(small, math.log(2.0) + two)
    sums = log_binomial_sums(terms)
    return np.where(sums > 30.0, sums, np.log1p(np.exp(np.minimum(sums, 30.0))))


def _divergences(logs: Array, rounds: int) -> Array:
    orders = np.arange(float(len(logs)))
    result = np.zeros(len(logs))
    result[2:] = rounds * logs[2:] / (orders[2:] - 1.0)
    return result


@bound(
    Theorem(
        id="liew-2023-corollary-1",
        citation=_CITATION + ", Corollary 1",
        statement="the Rényi divergence of order L is at most L sensitivity^2 / (2 sigma^2)",
        validity="Gaussian reports; any data sets, by data processing",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/shuffle_gaussian.md",
        note="as if there were no shuffler",
    ),
    gaussian,
    asked_of=False,
)
def corollary_1(randomizer: Randomizer, n: int) -> OrderTable:
    """The unshuffled Gaussian mechanism."""
    pair = gaussian_pair(randomizer, n)
    slope = 0.5 * pair.h * pair.rounds
    return OrderTable(
        lambda top: slope * np.arange(top + 1.0), 1 << 16, exact=lambda order: slope * order
    )


@bound(
    Theorem(
        id="liew-2023-theorem-2",
        citation=_CITATION + ", Theorem 2 (16)",
        statement="Wang, Balle, Kasiviswanathan 2019 applied to the pair's divergences",
        validity="m of n users drawn; the pair of shuffle-gaussian, direction M(D') against M(D);"
        " orders 2..128",
        status=Status.FIXED_PAIR,
        direction=Direction.UPPER,
        proof="proofs/shuffle_gaussian.md",
        note="for the pair of shuffle-gaussian only; the exact value is shuffle-gaussian",
    ),
    gaussian,
)
def theorem_2(randomizer: Randomizer, n: int) -> OrderTable:
    """The general subsampling lemma."""
    pair = gaussian_pair(randomizer, n)
    if pair.drawn is None:
        raise RegimeError("m of n users drawn", str(randomizer))
    drawn = pair.drawn

    def table(top: int) -> Array:
        logs = _log_subsampled(pair.h, pair.participation, drawn, top)
        return _divergences(logs, pair.rounds)

    return OrderTable(table, MOST_PUBLISHED)


def _need_check_in(randomizer: Randomizer, n: int) -> GaussianPair:
    pair = gaussian_pair(randomizer, n)
    if pair.drawn is not None or pair.check_in == 1.0:
        raise RegimeError("users who check in with probability < 1", str(randomizer))
    return pair


@bound(
    Theorem(
        id="liew-2023-eq-17",
        citation=_CITATION + ", eq. (17)",
        statement="(16) averaged over the binomial number k >= 1 of reports,"
        " at the rate gamma for all k",
        validity=f"check-in; computed for n <= {_MOST_SUMMED} and orders 2..128",
        status=Status.REFUTED,
        direction=Direction.UPPER,
        refutation=Refutation(
            dataset="all others at 0, the victim at 0 or 1, ten users who check in with probability"
            " 0.1",
            witness="shuffle-gaussian",
            parameters={
                "sigma": 1.0,
                "sensitivity": 1.0,
                "check_in": 0.1,
                "n": 10,
                "order": 4.0,
            },
            claimed=-0.021943,
            leaked=0.058895,
            mechanism="gaussian",
        ),
        note="leaves out k = 0, which shows where n gamma is small,"
        " and keeps the rate gamma where k/n > gamma report;"
        " n = 60,000: shuffledp reproduce liew-2023-equation-17",
    ),
    gaussian,
)
def equation_17(randomizer: Randomizer, n: int) -> OrderTable:
    """The sum over the number of reports."""
    pair = _need_check_in(randomizer, n)
    if n > _MOST_SUMMED:
        raise RegimeError(f"n <= {_MOST_SUMMED}", n)
    return OrderTable(lambda top: summed_17(pair, n, top), MOST_PUBLISHED)


@lru_cache(maxsize=4)
def summed_17(pair: GaussianPair, n: int, top: int) -> Array:
    """The right side of (17) for orders 0..top; seconds where n is large."""
    counts, masses = binomial_window(n, pair.check_in, 1.0 - pair.check_in)
    total = np.full(top + 1, -np.inf)
    for k, mass in zip(counts.tolist(), masses.tolist(), strict=True):
        if k >= 1.0 and mass > 0.0:
            logs = _log_subsampled(pair.h, pair.check_in, int(k), top)
            total = np.logaddexp(total, math.log(mass) + logs)
    return _divergences(total, pair.rounds)


@bound(
    Theorem(
        id="liew-2023-theorem-3",
        citation=_CITATION + ", Theorem 3 (18), its Delta optimised for every order",
        statement="(17) cut at (1 - Delta) n gamma reports by a Chernoff bound",
        validity="check-in; orders 2..128",
        status=Status.HEURISTIC,
        direction=Direction.UPPER,
        note="rests on eq. (17); its Conjecture 1 is true but does not rescue it",
    ),
    gaussian,
)
def theorem_3(randomizer: Randomizer, n: int) -> OrderTable:
    """The paper's bound for shuffled check-in."""
    pair = _need_check_in(randomizer, n)
    gamma = pair.check_in

    @lru_cache(maxsize=4)
    def table(top: int) -> Array:
        alone = _log_subsampled(pair.h, gamma, 1, top)
        best = np.full(top + 1, np.inf)
        for i in range(1, _DELTAS):
            cut = i / _DELTAS
            crowd = math.floor((1.0 - cut) * n * gamma) + 1
            rest = _log_subsampled(pair.h, gamma, crowd, top)
            best = np.minimum(best, np.logaddexp(alone - cut**2 * n * gamma / 2.0, rest))
        return _divergences(best, pair.rounds)

    return OrderTable(table, MOST_PUBLISHED)


@bound(
    Theorem(
        id="liew-2023-clones",
        citation=_CITATION + ", row 'Clones' of Table 1 (after Feldman, McMillan, Talwar 2021)",
        statement="closed form of Feldman 2021 for (eps0, delta0),"
        " eps0 = sensitivity sqrt(2 ln(1.25/delta0))/sigma,"
        " delta0 the delta of the closed form; rounds by strong composition",
        validity="all users report; eps0 <= 1 or the classical Gaussian formula is not proven",
        status=Status.HEURISTIC,
        direction=Direction.UPPER,
        note="the classical formula for eps0 is proven for eps0 <= 1 only;"
        " gaussian-approximate is proven and smaller",
    ),
    gaussian,
)
def clones(randomizer: Randomizer, n: int) -> ClosedFormCurve:
    """The paper's baseline: one delta for everything, scanned."""
    pair = gaussian_pair(randomizer, n)
    if pair.participation < 1.0:
        raise RegimeError("all users reporting", str(randomizer))

    def one_round(delta: float) -> tuple[float, float]:
        """epsilon and the total delta when delta0 = delta."""
        eps0 = math.sqrt(2.0 * pair.h * (math.log(1.25) - math.log(delta)))
        if eps0 > math.log(n / (16.0 * (math.log(2.0) - math.log(delta)))):
            raise RegimeError("eps0 <= ln(n / (16 ln(2/delta)))", eps0)
        big = math.exp(eps0)
        spread = 8.0 * math.sqrt(big * (math.log(4.0) - math.log(delta)) / n) + 8.0 * big / n
        epsilon = math.log1p((big - 1.0) / (big + 1.0) * spread)
        return epsilon, delta + (math.exp(epsilon) + 1.0) * (1.0 + 0.5 / big) * n * delta

    def largest(total: float) -> tuple[float, float]:
        def fits(log_delta: float) -> bool:
            try:
                return one_round(math.exp(log_delta))[1] <= total
            except RegimeError:
                return True

        found = bisect(fits, math.log(1e-300), math.log(total), halvings=60)
        return one_round(math.exp(found.good))

    def epsilon(delta: float) -> float:
        if pair.rounds == 1:
            return largest(delta)[0]
        best = math.inf
        for share in (0.5, 0.9, 0.99, 0.999, 1.0 - 1e-6):
            each = -math.expm1(math.log1p(-share * delta) / pair.rounds)
            value = composed_epsilon(largest(each)[0], pair.rounds, (1.0 - share) * delta)
            best = min(best, value)
        return best

    return ClosedFormCurve(epsilon)
