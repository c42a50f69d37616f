"""Moments of a mean of lognormal variables, of any order, to full relative accuracy near 1.

R is the mean of ``count`` independent Y, E Y = 1, in one of two forms, X lognormal of mean 1 and
E X^2 = e^h: Y = X with probability ``thin``, else 1; or Y = 1 - share + share X.

Positive integer orders: E R^L - 1 = sum over k >= 2 of C(L, k) E[(R-1)^k], all terms positive, and
the moments of R - 1 are coefficients of one power of one series. Negative orders:

    E R^-a - 1 = 1/Gamma(a) * integral of t^(a-1) e^-t expm1( count log1p(thin G(t share/count)) )
    dt

with G(x) = E[e^(-x(X-1)) - 1 + x(X-1)] >= 0; every integrand is positive here, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.numerics.central_moments import central_moment_errors, log_central_moments
from shuffledp.numerics.logs import log, log_factorials
from shuffledp.numerics.power_series import log_binomial_sums, log_power, power_errors
from shuffledp.numerics.quadrature import gauss_legendre
from shuffledp.numerics.rounding import Array, all_orders, roundings
from shuffledp.numerics.search import bisect_each

_DEPTH = 42.0
"""Integrands below e^-42 of their peak are left out."""
_WIDEST = 40.0
"""Up to this h, G is integrated as it stands; beyond, through its Laplace transform."""
_STEEPEST = 300.0
_NODES, _WEIGHTS = gauss_legendre(20)
_PANELS = 24
_MOST_NODES = 4000
_LARGEST = 600.0
"""Exponents are cut here; times any number of reports the result is still finite."""
_CUT = -45.0
"""Below this w, exp(-e^w) is 1."""


def log1p_exp(x: Array) -> Array:
    """ln(1 + e^x), to full relative accuracy."""
    return np.where(x > 0.0, x, 0.0) + np.log1p(np.exp(-np.abs(x)))


@dataclass(frozen=True)
class LognormalMean:
    """R as above; at most one of ``thin`` and ``share`` differs from 1."""

    h: float
    count: int
    thin: float = 1.0
    share: float = 1.0

    def log_central(self, top: int) -> tuple[Array, Array]:
        """ln E (R - 1)^k for k = 0, ..., top, and bounds on the errors.

        The logarithm is 0 at k = 0, -inf at k = 1, finite beyond.
        """
        k, factorials = np.arange(top + 1.0), log_factorials(top)
        scale, rate = math.log(self.share / self.count), math.log(self.thin)
        series = log_central_moments(self.h, top) + k * scale - factorials
        series[1:] += rate
        rounding = roundings(8.0 * (k * (abs(scale) + 2.0) + abs(rate) + factorials + 4.0))
        errors = central_moment_errors(self.h, top) + rounding
        power = log_power(series, self.count)
        errors = power_errors(series, errors, power, self.count) + rounding
        return power + factorials, errors

    def excess_moments(self, top: int) -> tuple[Array, Array]:
        """ln(E R^L - 1) for L = 0, ..., top (-inf for 0 and 1),
        and relative errors of E R^L - 1."""
        moments, errors = self.log_central(top)
        sums = log_binomial_sums(moments)
        wrong = log_binomial_sums(moments + log(np.expm1(errors)))
        size = np.where(np.isfinite(moments), np.abs(moments), 0.0)
        size = np.maximum.accumulate(size + np.where(np.isfinite(sums), np.abs(sums), 0.0))
        rounding = roundings(64.0 + np.arange(top + 1.0) + 8.0 * (size + log_factorials(top)))
        relative = np.exp(wrong - np.where(np.isfinite(sums), sums, 0.0))
        return sums, np.expm1(rounding) + all_orders(relative)

    def log_excess_moments(self, top: int) -> Array:
        """The former alone."""
        return self.excess_moments(top)[0]

    def log_excess(self, order: float) -> float:
        """ln(E R^order - 1) for any order < 0."""
        if not order < 0.0:
            raise ValueError(f"order must be negative, got {order!r}")
        a = -order
        # below ``low`` the integrand is t^(a+2) and less than e^-_DEPTH of its peak
        low = min(self._quadratic_limit(), math.log(a)) - _DEPTH / (a + 2.0)
        if self.h > _WIDEST:  # there the gap falls at least like t already
            low = max(low, -_LARGEST)
        left, right, peak = self._range(a, low)
        step = (right - left) / min(max(400, math.ceil(right - left) * 5), _MOST_NODES)
        x = np.arange(left, right + step, step)
        total = float(np.exp(a * x + self._log_gap(x) - peak).sum())
        return peak + math.log(total * step) - math.lgamma(a)

    def _quadratic_limit(self) -> float:
        """ln t below which the integrand is t^a times kappa t^2 to 1e-14."""
        moments = log_central_moments(self.h, 3)
        scale = math.log(self.share / self.count)
        kappa = float(moments[2]) + 2.0 * scale + math.log(0.5 * self.thin * self.count)
        return -32.0 + min(0.0, float(moments[2] - moments[3]) - scale, -0.5 * kappa)

    def _range(self, a: float, low: float) -> tuple[float, float, float]:
        """Where the integrand, as a function of x = ln t, is within e^-_DEPTH of its peak."""
        left, right, peak = low, math.log(a + 1.0) + 5.0, -math.inf
        most = _LARGEST if self.share < 1.0 else math.inf  # R >= 1 - share: e^-t decides
        while True:  # far enough to the right
            x = np.linspace(left, right, 101)
            terms = a * x + self._log_gap(x)
            peak = float(terms.max())
            if terms[-1] < peak - _DEPTH or right >= most:
                break
            right = min(right + 0.5 * (right - left) + 1.0, most)
        while True:  # and no further
            inside = np.flatnonzero(terms > peak - _DEPTH)
            first, last = max(int(inside[0]) - 1, 0), min(int(inside[-1]) + 1, 100)
            if last - first > 30:
                break
            x = np.linspace(float(x[first]), float(x[last]), 101)
            terms = a * x + self._log_gap(x)
            peak = float(terms.max())
        return float(x[first]), float(x[last]), peak

    def _log_gap(self, x: Array) -> Array:
        """ln( E e^(-tR) - e^-t ), t = e^x."""
        t = np.exp(np.minimum(x, _LARGEST))
        gained = self.count * self.raised_each(x)
        large = gained > 1.0
        ahead = np.where(large, gained + np.log1p(-np.exp(-np.maximum(gained, 1.0))), 0.0)
        near = log(np.expm1(np.minimum(gained, 1.0)))
        found = np.where(large, ahead, near) - t
        # where t itself overflows or swamps the digits, E e^(-tR) is far above e^-t
        steep = (x - math.log(self.count) > math.log(_STEEPEST)) & (gained > _DEPTH)
        if np.any(steep):
            found[steep] = self._log_transform(x[steep])
        return found

    def raised_each(self, x: Array) -> Array:
        """ln E e^(-t(Y-1)/count) >= 0, t = e^x, to full relative accuracy."""
        raised = self._log_raised(x + math.log(self.share / self.count))
        return np.where(
            raised < _LARGEST,
            np.log1p(self.thin * np.expm1(np.minimum(raised, _LARGEST))),
            raised + math.log(self.thin),
        )

    def _log_transform(self, x: Array) -> Array:
        """ln E e^(-tR), t = e^x."""
        each = self.log_laplace(x + math.log(self.share / self.count)) + math.log(self.thin)
        each -= (1.0 - self.share) * np.exp(np.minimum(x, _LARGEST)) / self.count
        if self.thin < 1.0:
            each = np.logaddexp(
                each, math.log1p(-self.thin) - np.exp(np.minimum(x, _LARGEST)) / self.count
            )
        return self.count * each

    def _log_raised(self, log_tau: Array) -> Array:
        """ln E e^(-tau(X-1)) >= 0."""
        tau = np.exp(np.minimum(log_tau, _LARGEST))
        root = math.sqrt(self.h)
        reach = 0.5 * self.h + 9.5 * root
        # e^(-tau X) moves the mass to the left by W(h tau) <= ln(1 + h tau)
        left = reach + np.log1p(self.h * np.minimum(tau, 1e300))
        direct = tau * -np.expm1(-left) > _STEEPEST  # where e^(-tau(X-1)) might overflow
        if self.h > _WIDEST:
            direct = np.ones_like(direct)
        result = np.empty_like(log_tau)
        if np.any(direct):
            result[direct] = np.maximum(tau[direct] + self.log_laplace(log_tau[direct]), 0.0)
        if not np.all(direct):
            step = min(0.25, 0.4 * root)
            v = np.arange(-float(left[~direct].max()), reach + step, step)
            weight = np.exp(-((v + 0.5 * self.h) ** 2) / (2.0 * self.h))
            weight *= step / math.sqrt(2.0 * math.pi * self.h)
            y = np.multiply.outer(tau[~direct], np.expm1(v))
            result[~direct] = np.log1p(_bend(y) @ weight)
        return result

    def log_laplace(self, log_tau: Array) -> Array:
        """ln E e^(-tau X) by Gauss-Legendre panels around the peak in w = ln(tau X)."""
        h = self.h
        centre = log_tau - 0.5 * h
        low, high = np.minimum(centre, 0.0) - 1.0, np.maximum(centre, 0.0) + 1.0
        low = np.minimum(low, centre - h * np.exp(np.minimum(centre, 600.0)) - 1.0)
        low = np.maximum(low, np.minimum(centre, -800.0) - 1.0)
        low, high = bisect_each(  # e^w = (centre - w) / h
            lambda w: np.exp(np.minimum(w, 690.0)) <= (centre - w) / h, low, high, halvings=60
        )
        peak_at = 0.5 * (low + high)

        def height(w: Array, c: Array) -> Array:
            return -np.exp(np.minimum(w, 690.0)) - (w - c) ** 2 / (2.0 * h)

        peak = height(peak_at, centre)
        curvature = np.sqrt(1.0 / h + np.exp(np.minimum(peak_at, 690.0)))
        right = peak_at + np.minimum(9.5 / curvature, np.maximum(7.0 - peak_at, 9.5 / curvature))
        right = np.where(peak_at < 0.0, np.minimum(right, np.maximum(7.0, peak_at)), right)
        far, _ = bisect_each(  # the left end, where the integrand has fallen by e^-_DEPTH
            lambda w: height(w, centre) < peak - _DEPTH,
            peak_at - 9.5 * math.sqrt(h),
            peak_at,
            halvings=40,
        )
        left = np.maximum(far, np.minimum(_CUT, right))
        width = (right - left) / _PANELS
        nodes = (np.arange(_PANELS)[:, None] + _NODES).ravel()
        w = left[:, None] + width[:, None] * nodes
        inside = np.exp(height(w, centre[:, None]) - peak[:, None]) @ np.tile(_WEIGHTS, _PANELS)
        value = peak + log(width * inside) - 0.5 * math.log(2.0 * math.pi * h)
        tail = np.array(
            [_log_lower_tail(float(z)) for z in (left - centre) / math.sqrt(h)]
        )  # exp(-e^w) is 1 there, or the whole tail is negligible
        return np.where(left <= _CUT, np.logaddexp(value, tail), value)


def _bend(y: Array) -> Array:
    """e^-y - 1 + y without cancellation."""
    near = np.abs(y) < 0.3
    small = np.where(near, y, 0.0)
    series = np.zeros_like(small)
    for k in range(16, 1, -1):
        series = (1.0 - small * series) / k if k > 2 else 0.5 * (1.0 - small * series)
    return np.where(near, small * small * series, np.expm1(-y) + y)


def _log_lower_tail(z: float) -> float:
    """ln of the normal distribution function."""
    if z > -30.0:
        return math.log(max(0.5 * math.erfc(-z / math.sqrt(2.0)), 1e-300))
    return -0.5 * z * z - math.log(-z) - 0.5 * math.log(2.0 * math.pi) - 1.0 / (z * z)
