"""Central moments of a lognormal variable of mean 1, without cancellation.

X = exp(v), v ~ N(-h/2, h). Since X - 1 = e^(v/2) 2 sinh(v/2), folding v and -v together gives

    E[(X-1)^k] = 2 e^(-h/8) * integral over v > 0 of C((k-1)v/2) (2 sinh(v/2))^k phi_h(v) dv

with C = cosh for even k and sinh for odd k, phi_h the normal density of variance h: every term is
positive (docs/proofs/shuffle_gaussian.md). The integrand is even and entire, so the trapezoidal
rule with a step of a fraction of sqrt(h) is exact to rounding.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.numerics.logs import log
from shuffledp.numerics.rounding import Array, roundings
from shuffledp.numerics.search import bisect_each

_STEP = 0.5
"""In units of sqrt(h): the trapezoidal error is of the order of e^(-(pi/0.5)^2) = e^-39."""
_REACH = 9.0
"""In units of sqrt(h), around the peak."""


def _log_two_sinh(x: Array) -> Array:
    """ln(2 sinh x), x >= 0."""
    return x + log(-np.expm1(-2.0 * x))


def _log_two_cosh(x: Array) -> Array:
    """ln(2 cosh x), x >= 0."""
    return x + np.log1p(np.exp(-2.0 * x))


@lru_cache(maxsize=32)
def log_central_moments(h: float, top: int) -> Array:
    """ln E[(X-1)^k] for k = 0, ..., top: 0 at k = 0, -inf at k = 1, finite from k = 2 on."""
    result = np.full(top + 1, -np.inf)
    result[0] = 0.0
    if top < 2:
        return result
    k = np.arange(2.0, top + 1.0)
    odd = k % 2 == 1
    root = math.sqrt(h)
    # the peak solves S(v) = v / h, S = (k-1)/2 tanh or coth + k/2 coth(v/2); S >= k - 1/2
    low, high = np.zeros_like(k), h * (2.0 * k - 1.0) + 2.0 * root * np.sqrt(2.0 * k)

    def rising(v: Array) -> NDArray[np.bool_]:
        slope = 0.5 * k / np.tanh(0.5 * v)
        turn = np.tanh(0.5 * (k - 1.0) * v)
        slope += 0.5 * (k - 1.0) * np.where(odd, 1.0 / turn, turn)
        return np.asarray(slope > v / h)

    halvings = 2 + math.ceil(math.log2(float(high[-1]) / root))  # to a quarter of sqrt(h)
    low, _ = bisect_each(rising, low, high, halvings)
    step = _STEP * root
    start = np.maximum(np.rint(low / step) - math.ceil(_REACH / _STEP), 0.0)
    j = start[:, None] + np.arange(2.0 * math.ceil(_REACH / _STEP) + 1.0)
    v = j * step
    x = 0.5 * (k - 1.0)[:, None] * v
    fold = np.where(odd[:, None], _log_two_sinh(x), _log_two_cosh(x))
    # v^2 / (2h) written with j, so that it does not lose digits when it is huge
    terms = fold + k[:, None] * _log_two_sinh(0.5 * v) - 0.5 * (_STEP * j) ** 2
    terms = np.where(j == 0.0, -np.inf, terms)
    top_term = terms.max(axis=1)
    total = np.exp(terms - top_term[:, None]).sum(axis=1)
    result[2:] = top_term + np.log(total) + math.log(_STEP / math.sqrt(2.0 * math.pi)) - h / 8.0
    result.flags.writeable = False
    return result


def central_moment_errors(h: float, top: int) -> Array:
    """Bounds on the absolute errors of ``log_central_moments``.

    Step and reach cost 5e-16 + 3e-17 sqrt(k); the rest is rounding of the pieces of the largest
    terms (docs/proofs/shuffle_gaussian.md, "Rounding").
    """
    k, root = np.arange(top + 1.0), math.sqrt(h)
    furthest = 2.0 * h * k + 2.0 * np.sqrt(2.0 * k * h) + 10.0 * root
    size = k * (furthest + 2.0 + 2.0 * abs(math.log(0.25 * root))) + 0.5 * (furthest / root) ** 2
    errors: Array = 5e-16 + 3e-17 * np.sqrt(k) + roundings(16) * (size + h + 10.0)
    errors[:2] = 0.0
    return errors
