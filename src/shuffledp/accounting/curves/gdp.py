"""Gaussian differential privacy: one number mu is the whole curve (Dong, Roth, Su 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from shuffledp.accounting.curves.base import Curve
from shuffledp.numerics.rounding import FORMULA, down, roundings, up
from shuffledp.numerics.search import Start, bisect, grown

_LOG = 1e-14
"""Granted to the sum of logarithms of a tail."""
_QUANTILE = 1e-11
"""Granted to the normal quantile of the standard library (docs/proofs/numerics.md,
"Rounding by name")."""
_LEAST_NORMAL, _LOG_NORMAL = 1e-290, -660.0
"""Where doubles, and their logarithms, still have all their digits."""


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def _mills(x: float) -> float:
    """Upper normal tail over the density, accurate also where both underflow."""
    if x < 25.0:
        return _cdf(-x) * math.sqrt(2.0 * math.pi) * math.exp(0.5 * x * x)
    fraction = x
    for k in range(40, 0, -1):
        fraction = x + k / fraction
    return 1.0 / fraction


def gaussian_delta(mu: float, epsilon: float) -> float:
    """delta(epsilon) of two unit normals mu apart, rounding added: never 0."""
    log_delta = gaussian_log_delta(mu, epsilon)
    if log_delta < _LOG_NORMAL:
        return math.nextafter(up(math.exp(log_delta), FORMULA), 1.0)
    high, low = epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu
    density = math.exp(-0.5 * high * high) / math.sqrt(2.0 * math.pi)
    shift = roundings(8) * density * (epsilon / mu + mu)  # the rounding of high and low
    if high < 0.0:
        near, far = _cdf(-high), math.exp(min(epsilon, 700.0)) * _cdf(-low)
        return min(max(near - far, 0.0) + roundings(16) * (near + far) + shift, 1.0)
    near, far = _mills(high), _mills(low)
    error = roundings(32) * (1.0 + low * low) * (near + far) * density
    return min(max(density * (near - far), 0.0) + error + shift, 1.0)


def gaussian_log_delta(mu: float, epsilon: float) -> float:
    """An upper bound of ln delta(epsilon), also where delta itself underflows."""
    high, low = epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu
    if high < 1.0:
        return 0.0
    if high > 1e100:  # delta < exp(-high^2 / 2)
        return -1e199
    near, far = _mills(high), _mills(low)
    error = roundings(32.0 * (1.0 + low * low) * (near + far) + 8.0 * (epsilon / mu + mu))
    value = -down(0.5 * high * high, roundings(8)) + math.log(max(near - far, 0.0) + error)
    return min(value - 0.5 * math.log(2.0 * math.pi) + _LOG, 0.0)


def gaussian_start(mu: float, delta: float) -> Start | None:
    """Where to begin a search for epsilon(delta) of a pair that is nearly Gaussian."""
    if not (0.0 < mu < 50.0 and delta > 0.0):
        return None
    epsilon, slope = 0.0, -1.0
    for _ in range(50):  # Newton: ln delta is concave
        high, low = _mills(epsilon / mu - 0.5 * mu), _mills(epsilon / mu + 0.5 * mu)
        rest = gaussian_delta(mu, epsilon) / delta
        if not (0.0 < rest < math.inf and high > low):
            return None
        slope = -low / (high - low)
        step = -math.log(rest) / slope
        epsilon = max(epsilon + step, 0.0)
        if abs(step) <= 1e-6 * epsilon:
            break
    return Start(epsilon, slope) if epsilon > 0.0 else None


def gaussian_tradeoff(mu: float, alpha: float) -> float:
    """Least type II error of telling two unit normals mu apart, in doubles."""
    if alpha <= 0.0 or alpha >= 1.0:
        return 1.0 - alpha
    from statistics import NormalDist  # slow to import, rarely needed

    return _cdf(-NormalDist().inv_cdf(alpha) - mu)


@dataclass(frozen=True)
class GDPCurve(Curve):
    """mu-GDP.

    Parameters
    ----------
    mu
        Distance of the two unit normal laws.

    Examples
    --------
    >>> from shuffledp.accounting.curves import GDPCurve
    >>> round(GDPCurve(1.0).delta(1.0), 4)
    0.1269
    """

    mu: float
    kind: ClassVar[str] = "GDP"

    def delta(self, epsilon: float) -> float:
        return gaussian_delta(self.mu, epsilon)

    def epsilon(self, delta: float) -> float:
        def enough(epsilon: float) -> bool:
            if delta > _LEAST_NORMAL:
                return self.delta(epsilon) <= delta
            return gaussian_log_delta(self.mu, epsilon) <= math.log(delta) - FORMULA

        if enough(0.0):
            return 0.0
        return bisect(enough, *grown(enough, max(self.mu, 1e-12), 0.0), halvings=100).good

    def renyi(self, order: float) -> float:
        return 0.5 * self.mu * self.mu * order

    def tradeoff(self, alpha: float) -> float:
        return down(gaussian_tradeoff(self.mu, alpha), _QUANTILE)
