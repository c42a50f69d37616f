"""ln E R^L for real L > 1, R a mean of lognormal variables, from both sides.

Four forms, each where it is accurate (docs/proofs/shuffle_gaussian.md); a = m - L, m an integer >
L:

* R close to 1: the binomial series, E R^L - 1 = sum C(L, k) E (R-1)^k. * One report decides: E R^L
is at least n^-L times the sum of the single moments, and hardly more. * Small E R^L - 1: 1/Gamma(a)
* integral of t^(a-1) e^-t (E[R^m e^(-t(R-1))] - 1) dt, in moments of R - 1. * Elsewhere the same
integral without the -1: coefficients of a power of a positive series.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.frequencies import product
from shuffledp.numerics.lognormal_mean import LognormalMean, log1p_exp
from shuffledp.numerics.logs import log, log_factorials
from shuffledp.numerics.power_series import by_squaring, log_product
from shuffledp.numerics.rounding import Array, roundings, up

_MOST_SERIES = 2048
_MORE_TERMS = 64
_MOST_SIGNED = 64
_MOST_POWER = 1024
_MOST_ORDER = 20_000
_CLOSE = 1e-11
_STEP = 0.25
"""In ln t: the integrand is analytic in a strip, the trapezoidal error below 1e-12."""
_DEPTH = 42.0
_ROUNDING = 1e-11
_TAIL = 9.5
_OVERFLOW = 600.0
_MOST_VALUES = 4000
_STEEPEST = 30.0
"""Largest exponent of e^(-tau(Y-1)) in sums of both signs."""
_MOST_TRANSFORMS, _MOST_WORK = 3e4, 4e8


def log_moment(ratio: LognormalMean, order: float) -> Enclosure | None:
    """Enclosure of ln E R^order; None where no form is accurate."""
    if ratio.count * ratio.h == 0.0:
        return Enclosure(0.0, 0.0)
    for form in (_series, _one_jump, _small, _large):
        found = form(ratio, order)
        if found is not None:
            return found
    return None


def _about_one(excess: float, error: float) -> Enclosure:
    return Enclosure(math.log1p(max(excess - error, 0.0)), math.log1p(excess + error))


def _series(ratio: LognormalMean, order: float) -> Enclosure | None:
    """What follows an even K > order is at most |C(order, K)| (K/order) E (R-1)^K."""
    if order > _MOST_SERIES:
        return None
    top = math.ceil(order) + _MORE_TERMS
    moments, errors = ratio.log_central(top)
    total, blur, log_choose, sign = 0.0, 0.0, math.log(order), 1.0  # of C(order, k - 1)
    for k in range(2, top + 1):
        factor = (order - k + 1.0) / k
        if factor == 0.0:
            return _about_one(total, blur)
        log_choose, sign = log_choose + math.log(abs(factor)), math.copysign(sign, sign * factor)
        log_term = log_choose + float(moments[k])
        if log_term > _OVERFLOW:
            return None
        if k > order and k % 2 == 0:
            rest = math.exp(log_term) * k / order
            if rest <= _CLOSE * total:
                return _about_one(total, up(rest, _ROUNDING) + blur)
        term = math.exp(log_term)
        total += sign * term
        blur += term * (
            math.expm1(float(errors[k])) + roundings(64.0 + 8.0 * k * k + abs(log_term))
        )
        if total <= 0.0:
            return None
    return None


def _one_jump(ratio: LognormalMean, order: float) -> Enclosure | None:
    """E S^L >= count E Y^L, S the sum; what is missing is counted report by report.

    E S^L = count E[Y (Y + S')^k (Y + S')^f], S' the sum of the others and L - 1 = k + f: expand the
    first power, and bound the second by Y^f (1 + f S'/Y) or Y^f + S'^f.
    """
    n, k = ratio.count, math.floor(order - 1.0)
    f = order - 1.0 - k
    if order * ratio.h < 20.0 + math.log(n) or k > _MOST_ORDER:
        return None
    lead = _log_single(ratio, order)
    if lead is None:
        return None
    alone = Enclosure(*(x + (1.0 - order) * math.log(n) for x in (lead.lower, lead.upper)))
    if n == 1:
        return alone
    single = _log_whole(LognormalMean(ratio.h, 1, ratio.thin, ratio.share), k + 2)
    sums = _log_whole(ratio, k + 2) + np.arange(k + 3.0) * math.log(n)  # E S'^j <= E S^j
    j = np.arange(k + 1, dtype=np.int_)
    choose = log_factorials(k)[k] - log_factorials(k)[j] - log_factorials(k)[k - j]

    def between(table: Array, at: NDArray[np.int_]) -> Array:
        """ln of the moment of order at + f is convex in the order."""
        return np.asarray((1.0 - f) * table[at] + f * table[at + 1])

    apart = single[1 + k - j] + between(sums, j)
    tilted = log(np.array(f)) + between(single, k - j) + sums[j + 1]
    rest = choose + np.minimum(apart, tilted)
    joint = (choose + between(single, 1 + k - j) + sums[j])[1:]
    extra = float(np.logaddexp.reduce(np.concatenate([rest, joint]))) - lead.lower
    if extra > math.log(_CLOSE):
        return None
    return Enclosure(alone.lower, alone.upper + math.exp(extra))


def _log_whole(ratio: LognormalMean, top: int) -> Array:
    """ln E R^j for j = 0, ..., top."""
    return log1p_exp(ratio.log_excess_moments(top))


def _log_single(ratio: LognormalMean, order: float) -> Enclosure | None:
    """ln E Y^order, far from 0."""
    power, share = 0.5 * order * (order - 1.0) * ratio.h, ratio.share
    above = 0.0
    if share == 1.0:
        silent = math.log1p(-ratio.thin) if ratio.thin < 1.0 else -math.inf
        value = float(np.logaddexp(math.log(ratio.thin) + power, silent))
    elif (grid := _values(ratio.h, order)) is not None:
        v, log_weight = grid
        base = np.logaddexp(math.log1p(-share), math.log(share) + v)
        value = float(np.logaddexp.reduce(order * base + log_weight))
    else:  # Minkowski: |Y| <= 1 - share + share |X| in the norm of this order
        value = order * math.log(share) + power
        above = order * math.log1p((1.0 - share) / share * math.exp(-power / order))
        if above > _CLOSE:
            return None
    slack = _ROUNDING * abs(value)
    return Enclosure(value - slack, value + slack + above)


def _values(h: float, order: float) -> tuple[Array, Array] | None:
    """Nodes v = ln X and ln of their weights, as far out as X^order reaches."""
    step = min(0.25, 0.4 * math.sqrt(h))
    reach = _TAIL * math.sqrt(h)
    if (order * h + 2.0 * reach) / step > _MOST_VALUES:
        return None
    v = np.arange(-0.5 * h - reach, (order - 0.5) * h + reach, step)
    return v, -((v + 0.5 * h) ** 2) / (2.0 * h) + math.log(step / math.sqrt(2.0 * math.pi * h))


def _small(ratio: LognormalMean, order: float) -> Enclosure | None:
    """Signed moments of R - 1 under e^(-t(R-1));
    nothing cancels but by a factor known at the end."""
    m, n, h = math.ceil(order + 0.5), ratio.count, ratio.h
    log_n = math.log(n)
    if m > _MOST_SIGNED or 0.5 * h * m * (m - 1.0) - m * log_n > _OVERFLOW:
        return None
    grid = _values(h, m)
    if grid is None:
        return None
    a, highest = m - order, math.log(_STEEPEST * n / ratio.share)
    right = min(math.log(50.0 + 5.0 * m), highest)
    x = np.arange(right, -m * h - _TAIL * math.sqrt(h) - _DEPTH / a, -_STEP)
    found = _signed(ratio, m, x, *grid)
    if found is None:
        return None
    gain, moduli = (part * np.exp(a * x - np.exp(x)) for part in found)
    total, size = float(gain.sum()), float(moduli.sum())
    peak, last = float(moduli.max()), float(moduli[0])
    while last > peak * math.exp(-_DEPTH):  # where t is larger still, 1 is nothing against the rest
        right += _STEP
        at = np.array([right])
        powers = at + math.log(ratio.share / n) + h * np.arange(m + 1.0)
        log_tilted = float(_log_tilted(ratio, m, at, ratio.log_laplace(powers)[None, :])[0])
        gained = log_tilted + math.exp(right)
        if not gained > 0.0:
            return None
        last = math.exp(a * right + log_tilted) * -math.expm1(-gained)
        total, size, peak = total + last, size + last, max(peak, last)
    error = 2e-15 * (m + 10.0) * size
    if not error <= 1e-9 * total:
        return None
    scale = _STEP / math.gamma(a)
    return _about_one(scale * total, scale * (error + _ROUNDING * total))


def _signed(
    ratio: LognormalMean, m: int, x: Array, v: Array, log_weight: Array
) -> tuple[Array, Array] | None:
    """E[R^m e^(-t(R-1))] - 1 at t = e^x, and the sum of moduli it is made of."""
    n = ratio.count
    tau = np.exp(x) * ratio.share / n
    k = np.arange(m + 1)
    log_moved = log(np.abs(np.expm1(v))) + math.log(ratio.share / n)
    # v = 0 contributes to k = 0 alone
    powers = np.exp(
        log_weight[:, None] + np.where(k == 0, 0.0, np.outer(log_moved, np.maximum(k, 1)))
    )
    powers[v < 0.0, 1::2] *= -1.0
    exponent = -np.multiply.outer(tau, np.expm1(v))
    factorial = np.exp(log_factorials(m))
    tilt = np.exp(exponent)
    # of (Y-1)^k e^(-tau(Y-1)) / n^k
    moments, sizes = product(tilt, powers), product(tilt, np.abs(powers))
    moments[:, 1] = np.expm1(exponent) @ powers[:, 1]  # E (Y-1) = 0; all terms of one sign
    sizes[:, 1] = -moments[:, 1]
    moments, sizes = ratio.thin * moments / factorial, ratio.thin * sizes / factorial
    first = ratio.raised_each(x)  # ln E e^(-tau(Y-1)), to full relative accuracy
    choose = np.exp(log_factorials(m)[m] - log_factorials(m)[::-1])  # C(m, k) k!
    lifted, scale = n * first, np.exp(-first)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        b, moduli = _signed_power(moments * scale, sizes * scale, n)
        grown, rise = np.exp(lifted), np.expm1(lifted)
        gain = rise + grown * (b[:, 1:] @ choose[1:])
        moduli = rise + grown * (moduli[:, 1:] @ choose[1:])
    return (gain, moduli) if np.all(np.isfinite(moduli)) else None


def _signed_power(a: Array, size: Array, n: int) -> tuple[Array, Array]:
    """Coefficients of (1 + sum_(k>0) a_k s^k)^n by rows, and of the same with moduli."""
    top = a.shape[1] - 1
    b, c = np.zeros_like(a), np.zeros_like(a)
    b[:, 0] = c[:, 0] = 1.0
    i = np.arange(top + 1.0)
    for j in range(1, top + 1):
        factors = (i[1 : j + 1] * (n + 1.0) - j) / j
        b[:, j] = (a[:, 1 : j + 1] * b[:, j - 1 :: -1][:, :j]) @ factors
        c[:, j] = (size[:, 1 : j + 1] * c[:, j - 1 :: -1][:, :j]) @ np.abs(factors)
    return b, c


def _large(ratio: LognormalMean, order: float) -> Enclosure | None:
    """ln t in steps of which h is a multiple, or which are multiples of h:
    few Laplace transforms."""
    m, h = math.ceil(order + 0.5), ratio.h
    if m > _MOST_POWER or m * h > 600.0:
        return None
    a = m - order
    fine = max(1, math.floor(_STEP / h))  # Laplace transforms per step
    coarse = max(1, math.ceil(h / _STEP))  # steps per h
    spacing = h / coarse
    step = spacing * fine
    left = -m * h - _TAIL * math.sqrt(h) - _DEPTH / a
    right = math.log(m + 1.0) + 3.0
    while True:
        nodes = math.ceil((right - left) / step) + 1
        if nodes * fine + m * coarse > _MOST_TRANSFORMS or nodes * m * m > _MOST_WORK:
            return None
        x = left + step * np.arange(float(nodes))
        spots = left + spacing * np.arange((nodes - 1.0) * fine + m * coarse + 1.0)
        transforms = _in_blocks(ratio.log_laplace, spots + math.log(ratio.share / ratio.count))
        at = fine * np.arange(nodes)[:, None] + coarse * np.arange(m + 1)[None, :]
        values = a * x + _log_tilted(ratio, m, x, transforms[at])
        peak = float(values.max())
        if values[-1] < peak - _DEPTH:
            break
        right += max(4.0, 0.25 * (right - left))
    total = peak + math.log(float(np.exp(values - peak).sum()) * step) - math.lgamma(a)
    slack = (1e-12 + 1e-14 * m) * (1.0 + abs(total))
    return Enclosure(total - slack, total + slack) if slack <= 1e-9 * total else None


def _in_blocks(function: Callable[[Array], Array], x: Array) -> Array:
    """Little memory at a time."""
    return np.concatenate([function(x[i : i + 1024]) for i in range(0, len(x), 1024)])


def _log_tilted(ratio: LognormalMean, m: int, x: Array, transforms: Array) -> Array:
    """ln E[R^m e^(-tR)], t = e^x; ``transforms`` are ln E e^(-tau e^(kh) X), k = 0..m."""
    n, k = ratio.count, np.arange(m + 1.0)
    tau = np.exp(x)[:, None] / n
    log_a = 0.5 * k * (k - 1.0) * ratio.h + transforms
    if ratio.thin < 1.0:
        log_a = np.logaddexp(math.log(ratio.thin) + log_a, math.log1p(-ratio.thin) - tau)
    log_a = log_a - log_factorials(m)
    if ratio.share < 1.0:
        shift = k * math.log1p(-ratio.share) - log_factorials(m) - (1.0 - ratio.share) * tau
        log_a = log_product(log_a + k * math.log(ratio.share), shift)
    none = n * log_a[:, 0]  # ln E e^(-tR)
    gentle = tau[:, 0] * ratio.share < _STEEPEST
    none[gentle] = n * ratio.raised_each(x[gentle]) - np.exp(x[gentle])
    power = _log_powers(log_a - log_a[:, :1], n)
    tilted: Array = none + power[:, m] + log_factorials(m)[m] - m * math.log(n)
    return tilted


def _log_powers(log_a: Array, n: int) -> Array:
    """As power_series.log_power, by rows, where a_1 > 0."""
    top = log_a.shape[1] - 1
    if top > n + 1:  # some factor would be negative
        return by_squaring(log_a, n)
    log_b = np.full_like(log_a, -np.inf)
    log_b[:, 0] = 0.0
    i = np.arange(top + 1.0)
    for j in range(1, top + 1):
        terms = log_a[:, 1 : j + 1] + log_b[:, j - 1 :: -1][:, :j]
        peak = terms.max(axis=1)
        factors = (i[1 : j + 1] * (n + 1.0) - j) / j
        log_b[:, j] = peak + np.log(np.exp(terms - peak[:, None]) @ factors)
    return log_b
