"""E R^L for real L > 1, R a mean of lognormal variables, from both sides.

Near 1, where R hardly moves, the binomial series E R^L - 1 = sum C(L, k) E (R-1)^k is used: all
moments are positive and known, and what follows an even K is at most |C(L, K)| (K/L) E (R-1)^K
(docs/proofs/shuffle_gaussian.md). Elsewhere, with an integer m > L and a = m - L,

    E R^L = 1/Gamma(a) * integral of t^(a-1) E[R^m e^(-tR)] dt,

and E[R^m e^(-tR)] is a coefficient of a power of a series with positive coefficients again.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.numerics.binomial import Array
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.lognormal_mean import LognormalMean
from shuffledp.numerics.power_series import log_power

_MOST_TERMS = 64
_MOST_POWER = 64
_CLOSE = 1e-11
_MOST_EXPONENT = 100.0
"""Beyond, the range of ln t would be very long; R is then as good as one report's ratio."""
_STEP = 0.3
"""In ln t: the integrand is analytic in a strip, the trapezoidal error below e^-30."""
_DEPTH = 42.0
_ROUNDING = 1e-11


def excess(ratio: LognormalMean, order: float) -> Enclosure | None:
    """Enclosure of E R^order - 1; None where neither form is accurate."""
    found = _series(ratio, order)
    if found is not None:
        return found
    if order + 1.5 > _MOST_POWER or order * ratio.h > _MOST_EXPONENT:
        return None
    log_moment = _quadrature(ratio, order)
    if not 0.0 < log_moment < 700.0:
        return None
    slack = _ROUNDING * (1.0 + log_moment) + 1e-13 * ratio.count
    if slack > 1e-6:
        return None
    return Enclosure(math.expm1(log_moment - slack), math.expm1(log_moment + slack))


def _series(ratio: LognormalMean, order: float) -> Enclosure | None:
    top = _MOST_TERMS
    moments = ratio.log_central(top)
    total, choose = 0.0, order  # choose = C(order, k - 1)
    for k in range(2, top + 1):
        choose *= (order - k + 1.0) / k
        if k > order and k % 2 == 0 and moments[k] < 600.0:
            rest = abs(choose) * k / order * math.exp(float(moments[k]))
            if rest <= _CLOSE * total:
                spread = rest + _ROUNDING * total
                return Enclosure(max(total - spread, 0.0), total + spread)
        if moments[k] > 600.0:
            return None
        total += choose * math.exp(float(moments[k]))
        if total <= 0.0:
            return None
    return None


def _quadrature(ratio: LognormalMean, order: float) -> float:
    """ln E R^order."""
    m = math.ceil(order + 0.5)
    a = m - order
    nodes: list[float] = []
    values: list[float] = []
    for direction in (1, -1):
        x = 0.0 if direction > 0 else -_STEP
        while True:
            value = a * x + _log_weighted_moment(ratio, m, x)
            nodes.append(x)
            values.append(value)
            if value < max(values) - _DEPTH:
                break
            x += direction * _STEP
    top = max(values)
    total = math.fsum(math.exp(value - top) for value in values)
    return top + math.log(total * _STEP) - math.lgamma(a)


def _log_weighted_moment(ratio: LognormalMean, m: int, x: float) -> float:
    """ln E[R^m e^(-tR)], t = e^x: R^m reweights each lognormal, e^(-tR) factorises."""
    n, h = ratio.count, ratio.h
    k = np.arange(m + 1.0)
    log_tau = x - math.log(n)
    factorials = np.array([math.lgamma(j + 1.0) for j in range(m + 1)])
    lognormal = 0.5 * k * (k - 1.0) * h + ratio.log_laplace(log_tau + math.log(ratio.share) + k * h)
    if ratio.thin < 1.0:
        silent = math.log1p(-ratio.thin) - math.exp(log_tau)
        lognormal = np.logaddexp(math.log(ratio.thin) + lognormal, silent)
    log_a = lognormal - factorials
    if ratio.share < 1.0:
        log_a = _shifted(log_a, ratio.share) - (1.0 - ratio.share) * math.exp(log_tau)
    power = log_power(log_a - log_a[0], n) + n * log_a[0]
    return float(power[m]) + math.lgamma(m + 1.0) - m * math.log(n)


def _shifted(log_a: Array, share: float) -> Array:
    """Coefficients of e^((1-share)s) A(share s)."""
    k = np.arange(len(log_a))
    scaled = log_a + k * math.log(share)
    shift = k * math.log1p(-share) - np.array([math.lgamma(j + 1.0) for j in k.tolist()])
    return np.array([np.logaddexp.reduce(scaled[: j + 1] + shift[j::-1]) for j in k.tolist()])
