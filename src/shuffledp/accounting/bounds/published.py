"""Published closed forms and concentration bounds, each as printed, with its regime enforced.

Symbols: E = exp(eps0), e = exp(epsilon).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from shuffledp.accounting.bounds.clones import response_curve, stronger_weight
from shuffledp.accounting.bounds.scopes import pure_ldp
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import ClosedFormCurve, Curve, ProfileCurve, PureEnd, RenyiCurve
from shuffledp.accounting.randomizers import LDP
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.rounding import FORMULA, SUMS, Array, down, roundings, up

_SMALLEST, _LARGEST = 1e-100, 150.0
"""Range of epsilon in which the blanket formulas are evaluated; outside they say delta <= 1."""


@bound(
    Theorem(
        id="local",
        citation="Kasiviswanathan et al. 2011",
        statement="shuffling cannot hurt: epsilon <= eps0 (and delta <= delta0 there)",
        validity="any (eps0, delta0)-LDP randomizer, n >= 1",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/published.md",
    ),
    pure_ldp,
    asked_of=False,
)
def local(randomizer: LDP, n: int) -> Curve:
    """The unamplified guarantee: delta(eps) of one randomized response."""
    return response_curve(randomizer.eps0)


@bound(
    Theorem(
        id="erlingsson-2019",
        citation="Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta 2019 (SODA),"
        " Theorem 7",
        statement="epsilon <= 12 eps0 sqrt(ln(1/delta) / n)",
        validity="eps0 <= 1/2, n >= 1000, delta <= 1/100",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/published.md",
    ),
    pure_ldp,
    asked_of=False,
)
def erlingsson(randomizer: LDP, n: int) -> Curve:
    """Amplification by shuffling, first form."""
    eps0 = randomizer.eps0
    if eps0 > 0.5:
        raise RegimeError("eps0 <= 1/2", f"eps0 = {eps0:g}")
    if n < 1000:
        raise RegimeError("n >= 1000", f"n = {n}")

    def formula(delta: float) -> float:
        if delta > 0.01:
            raise RegimeError("delta <= 0.01", f"delta = {delta:g}")
        return min(12.0 * eps0 * math.sqrt(-math.log(delta) / n), eps0)

    return ClosedFormCurve(formula, largest_delta=0.01)


@bound(
    Theorem(
        id="erlingsson-2019-rdp",
        citation="Erlingsson et al. 2019 (SODA), Theorem 7, composed in Rényi form",
        statement="Rényi divergence <= 2 order E^4 (E-1)^2 / n",
        validity="order > 1, n >= 1",
        status=Status.HEURISTIC,
        direction=Direction.UPPER,
        note="the composition behind Theorem 7, whose step size we know second-hand",
    ),
    pure_ldp,
)
def erlingsson_rdp(randomizer: LDP, n: int) -> Curve:
    """The n-fold composition behind Theorem 7, in Rényi form."""
    eps0 = randomizer.eps0
    step = 2.0 * math.exp(2.0 * min(eps0, 300.0)) * math.expm1(min(eps0, 300.0)) / n
    return RenyiCurve(lambda order: 0.5 * n * order * step * step, PureEnd(eps0))


@bound(
    Theorem(
        id="feldman-2021-closed",
        citation="Feldman, McMillan, Talwar 2021 (FOCS), Theorem 3.1",
        statement="epsilon <= ln(1 + (E-1)/(E+1) (8 sqrt(E ln(4/delta)/n) + 8E/n))",
        validity="eps0 <= ln(n / (16 ln(2/delta)))",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/published.md",
    ),
    pure_ldp,
    asked_of=False,
)
def feldman_2021_closed(randomizer: LDP, n: int) -> Curve:
    """Closed form of the first clone bound."""
    eps0 = randomizer.eps0

    def formula(delta: float) -> float:
        limit = n / (16.0 * (math.log(2.0) - math.log(delta)))
        if eps0 > math.log(limit):
            raise RegimeError("eps0 <= ln(n / (16 ln(2/delta)))", f"eps0 = {eps0:g}")
        big = math.exp(eps0)
        spread = 8.0 * math.sqrt(big * (math.log(4.0) - math.log(delta)) / n) + 8.0 * big / n
        return min(math.log1p(math.tanh(0.5 * eps0) * spread), eps0)

    return ClosedFormCurve(formula)


@bound(
    Theorem(
        id="feldman-2023-closed",
        citation="Feldman, McMillan, Talwar 2023 (SODA), Theorem 3.2",
        statement="epsilon <= ln(1 + (E-1)(4 sqrt(2 ln(4/delta)) / sqrt((E+1) n) + 4/n))",
        validity="eps0 <= ln(n / (8 ln(2/delta)) - 1)",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/published.md",
        note="from the stronger pair, which our own proof covers",
    ),
    pure_ldp,
    asked_of=False,
)
def feldman_2023_closed(randomizer: LDP, n: int) -> Curve:
    """Closed form of the stronger clone bound."""
    eps0 = randomizer.eps0

    def formula(delta: float) -> float:
        limit = n / (8.0 * (math.log(2.0) - math.log(delta))) - 1.0
        if limit <= 0.0 or eps0 > math.log(limit):
            raise RegimeError("eps0 <= ln(n / (8 ln(2/delta)) - 1)", f"eps0 = {eps0:g}")
        big = math.exp(eps0)
        spread = (
            4.0 * math.sqrt(2.0 * (math.log(4.0) - math.log(delta)) / ((big + 1.0) * n)) + 4.0 / n
        )
        return min(math.log1p(math.expm1(eps0) * spread), eps0)

    return ClosedFormCurve(formula)


@bound(
    Theorem(
        id="feldman-2023-rdp-quoted",
        citation="attributed to Feldman, McMillan, Talwar 2023 by Chen, Cao, Ge 2024, Table 1",
        statement="Rényi divergence <= 64 E order / n",
        validity="order < n / (16 eps0 E), as quoted",
        status=Status.HEURISTIC,
        direction=Direction.UPPER,
        note="a rate quoted with its constant, not a theorem we could trace; drawn for comparison",
    ),
    pure_ldp,
)
def feldman_2023_rdp(randomizer: LDP, n: int) -> Curve:
    """The comparison curve of papers 000 and 002."""
    eps0 = randomizer.eps0
    limit = n / (16.0 * eps0) * math.exp(-eps0)

    def divergence(order: float) -> float:
        if order >= limit:
            raise RegimeError(f"order < {limit:g}", f"order = {order:g}")
        return 64.0 * math.exp(eps0) * order / n

    return RenyiOnlyCurve(divergence)


class RenyiOnlyCurve(RenyiCurve):
    """A Rényi bound with a regime in the order, not converted to other questions."""

    def epsilon(self, delta: float) -> float:
        raise self._cannot("epsilon")

    def delta(self, epsilon: float) -> float:
        raise self._cannot("delta")

    def tradeoff(self, alpha: float) -> float:
        raise self._cannot("tradeoff")


def _hoeffding(eps0: float, n: int, gamma: float, spread_over_sum: float) -> ProfileCurve:
    """Blanket bound by Hoeffding; the range of L is spread_over_sum * (1 + e)."""

    def profile(epsilon: float, _width: float) -> Enclosure:
        if not _SMALLEST < epsilon < _LARGEST:
            return Enclosure(1.0, 1.0)
        mean = math.expm1(epsilon)
        spread = spread_over_sum * (1.0 + math.exp(epsilon))
        decay = gamma * -math.expm1(-2.0 * (mean / spread) ** 2)
        log_delta = math.log(spread * spread / (4.0 * mean * gamma * n)) + n * math.log1p(
            -min(decay, 1.0 - 1e-16)
        )
        value = min(up(math.exp(min(log_delta, 0.0)), SUMS), 1.0)
        return Enclosure(value, value)

    return ProfileCurve(profile, PureEnd(eps0))


def _bennett(
    eps0: float,
    n: int,
    gamma: float,
    largest: Callable[[float], float],
    second_moment: Callable[[float], float],
) -> ProfileCurve:
    """Blanket bound by Bennett; M ~ Bin(n, gamma) averages out in closed form.

    ``largest`` gives max L from epsilon, ``second_moment`` E[L^2] from e = exp(epsilon).
    """

    def profile(epsilon: float, _width: float) -> Enclosure:
        if not _SMALLEST < epsilon < _LARGEST:
            return Enclosure(1.0, 1.0)
        mean, e = math.expm1(epsilon), math.exp(epsilon)
        b, c = largest(epsilon), second_moment(e)
        if b <= 0.0:
            return Enclosure(0.0, 0.0)
        u = mean * b / c
        phi = (1.0 + u) * math.log1p(u) - u if u > 1e-4 else u * u / 2.0 - u**3 / 6.0
        decay = math.expm1(-down(c / (b * b) * phi, SUMS))
        log_all = n * math.log1p(gamma * decay)
        log_none = n * math.log1p(-gamma) if gamma < 1.0 else -math.inf
        averaged = math.exp(log_all) * -math.expm1(min(log_none - log_all, 0.0))
        value = min(up(b / math.log1p(u) * averaged / (gamma * n), SUMS) + 1e-300, 1.0)
        return Enclosure(value, value)

    return ProfileCurve(profile, PureEnd(eps0))


def _capped_exp(eps0: float) -> float:
    # Beyond that every bound below says delta <= 1 whatever the exact value.
    return math.exp(min(eps0, _LARGEST))


_GENERIC = "any eps0-LDP randomizer, epsilon > 0"


@bound(
    Theorem(
        id="balle-2019-hoeffding",
        citation="Balle, Bell, Gascón, Nissim 2019 (CRYPTO), generic randomizer, Hoeffding",
        statement="(B^2 / (4 A gamma n)) (1 - gamma (1 - exp(-2A^2/B^2)))^n, gamma = 1/E,"
        " B = (1+e)(E-1/E), A = e-1",
        validity=_GENERIC,
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/published.md",
    ),
    pure_ldp,
    asked_of=False,
)
def balle_hoeffding(randomizer: LDP, n: int) -> Curve:
    """Privacy blanket with the generic blanket probability, by Hoeffding."""
    big = _capped_exp(randomizer.eps0)
    return _hoeffding(randomizer.eps0, n, 1.0 / big, big - 1.0 / big)


@bound(
    Theorem(
        id="balle-2019-bennett",
        citation="Balle, Bell, Gascón, Nissim 2019 (CRYPTO), generic randomizer, Bennett",
        statement="(1/(gamma n)) E_M[ b/ln(1+Ab/c) exp(-M (c/b^2) phi(Ab/c)) ], b >= max L,"
        " c >= E[L^2]",
        validity=_GENERIC,
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/published.md",
        note="c bounds the second moment, not the variance",
    ),
    pure_ldp,
    asked_of=False,
)
def balle_bennett(randomizer: LDP, n: int) -> Curve:
    """Privacy blanket with the generic blanket probability, by Bennett."""
    big = _capped_exp(randomizer.eps0)
    return _bennett(
        randomizer.eps0,
        n,
        1.0 / big,
        lambda epsilon: big - math.exp(epsilon) / big,
        lambda e: big * (e * e + 1.0) - 2.0 * e / big / big / big,
    )


@bound(
    Theorem(
        id="blanket-hoeffding",
        citation="Balle et al. 2019 on the stronger pair of Feldman et al. 2023",
        statement="as balle-2019-hoeffding with gamma = 2/(E+1), B = gamma (E-1)(1+e)",
        validity=_GENERIC,
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/stronger_clones.md",
        note="the largest law of V is two-valued on its blanket, so gamma and B are both known",
    ),
    pure_ldp,
    asked_of=False,
)
def blanket_hoeffding(randomizer: LDP, n: int) -> Curve:
    """Hoeffding on the dominating law of V."""
    gamma, half = stronger_weight(randomizer.eps0)
    return _hoeffding(randomizer.eps0, n, max(gamma, 1e-300), 2.0 * half)


@bound(
    Theorem(
        id="blanket-bennett",
        citation="Balle et al. 2019 on the stronger pair of Feldman et al. 2023",
        statement="as balle-2019-bennett with gamma = 2/(E+1), b = gamma (E-e),"
        " c = gamma^2 ((E-e)^2 + (eE-1)^2)/2",
        validity=_GENERIC,
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/stronger_clones.md",
    ),
    pure_ldp,
    asked_of=False,
)
def blanket_bennett(randomizer: LDP, n: int) -> Curve:
    """Bennett on the dominating law of V."""
    big = _capped_exp(randomizer.eps0)
    gamma = 2.0 / (big + 1.0)
    return _bennett(
        randomizer.eps0,
        n,
        gamma,
        lambda epsilon: gamma * big * -math.expm1(epsilon - randomizer.eps0),
        lambda e: gamma * gamma * ((big - e) ** 2 + (e * big - 1.0) ** 2) / 2.0,
    )


def _girgis_rest(eps0: float, n: int, order: float) -> float:
    """ln of the Chernoff term exp(eps0 L - (n-1)/(8E))."""
    return eps0 * order - (n - 1.0) / 8.0 * math.exp(-eps0)


def _log_add(*terms: float) -> float:
    top = max(terms)
    return top + math.log(sum(math.exp(term - top) for term in terms))


@cache
def _half_gammas(count: int) -> Array:
    return np.array([math.lgamma(0.5 * i) for i in range(3, count + 3)])


def _log_gammas(count: int) -> Array:
    """ln Gamma(i/2) for i = 3, 4, ..."""
    return _half_gammas(1 << max(count - 1, 1).bit_length())[:count]


@bound(
    Theorem(
        id="girgis-2021-full",
        citation="Girgis, Data, Diggavi, Suresh, Kairouz 2021 (CCS), Theorem 1",
        statement="1/(L-1) ln(1 + C(L,2)(E-1)^2/(m E) + sum_{i>=3} C(L,i) i Gamma(i/2)"
        " ((E^2-1)^2/(2E^2 m))^(i/2) + exp(eps0 L - (n-1)/(8E))), m = floor((n-1)/(2E)) + 1",
        validity="integer order L >= 2",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/published.md",
    ),
    pure_ldp,
    asked_of=False,
)
def girgis_full(randomizer: LDP, n: int) -> Curve:
    """Rényi bound with all moments."""
    eps0 = randomizer.eps0
    clones = math.floor((n - 1.0) / 2.0 * math.exp(-eps0)) + 1.0
    log_variance = (
        2.0 * math.log(math.expm1(min(eps0, 300.0))) - min(eps0, 300.0) - math.log(clones)
    )
    log_range = 2.0 * math.log(2.0 * math.sinh(min(eps0, 300.0))) - math.log(2.0 * clones)

    def divergence(order: float) -> float:
        i = np.arange(3.0, order + 1.0)
        pairs = math.log(order * (order - 1.0) / 2.0)
        log_choose = pairs + np.cumsum(np.log((order - i + 1.0) / i))
        moments = log_choose + np.log(i) + _log_gammas(i.size) + 0.5 * i * log_range
        head = (0.0, pairs + log_variance, _girgis_rest(eps0, n, order))
        log_moment = float(np.logaddexp.reduce(np.concatenate((head, moments))))
        rounding = roundings(4) * order * (1.0 + abs(log_range))
        return up((log_moment + rounding) / (order - 1.0), FORMULA)

    return RenyiCurve(divergence, PureEnd(eps0), integer_orders=True)


@bound(
    Theorem(
        id="girgis-2021-simple",
        citation="Girgis et al. 2021 (CCS), Theorem 2; eq. (8) of Chen, Cao, Ge",
        statement="1/(L-1) ln(exp(L^2 (E-1)^2/m) + exp(eps0 L - (n-1)/(8E))), m = floor((n-1)/(2E))"
        " + 1",
        validity="integer order L >= 2",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/published.md",
    ),
    pure_ldp,
    asked_of=False,
)
def girgis_simple(randomizer: LDP, n: int) -> Curve:
    """Rényi bound in exponential form."""
    eps0 = randomizer.eps0
    clones = math.floor((n - 1.0) / 2.0 * math.exp(-eps0)) + 1.0
    spread = math.expm1(min(eps0, 300.0)) ** 2 / clones

    def divergence(order: float) -> float:
        log_moment = _log_add(order * order * spread, _girgis_rest(eps0, n, order))
        return up(log_moment / (order - 1.0), FORMULA)

    return RenyiCurve(divergence, PureEnd(eps0), integer_orders=True)
