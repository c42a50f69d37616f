"""Powers of power series with positive coefficients, in logarithms.

With a_0 = 1 the coefficients of b = a^n obey b_j = (1/j) sum_i (i(n+1) - j) a_i b_(j-i). Where
a_1 = 0 all factors are >= 0 up to j = 2(n+1); beyond, the terms with a minus sign are watched and,
where they take too much, the power is formed by repeated squaring, which has no minus signs at all.
Rounding: docs/proofs/shuffle_gaussian.md.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.numerics.logs import log, log_factorials
from shuffledp.numerics.rounding import Array, roundings

_ROWS = 64
_MOST_SWELL = 20.0
"""How far minus signs may enlarge relative errors, all coefficients together, before squaring."""


def log_power(log_a: Array, n: int) -> Array:
    """ln of the coefficients of (sum a_i t^i)^n, a_0 = 1, as many as given."""
    if n == 1:
        return log_a.copy()
    found = _by_recurrence(log_a, n)
    return by_squaring(log_a, n) if found is None else found


def power_errors(log_a: Array, errors: Array, log_b: Array, n: int) -> Array:
    """Bounds on the absolute errors of ``log_b`` = log_power(log_a, n), where a_1 = 0."""
    k = np.arange(float(len(log_a)))
    each = np.maximum.accumulate(errors[1:] / k[1:])
    size = np.maximum(*(np.where(np.isfinite(x), np.abs(x), 0.0) for x in (log_a, log_b)))
    rounding = roundings(64.0 + k + 5.0 * np.maximum.accumulate(size))
    sure = n == 1 or len(log_a) <= 2 * n + 3  # no minus signs
    swell, levels = (1.0, 0.5) if sure else (_MOST_SWELL, max(10.0, 2.0 * n.bit_length()))
    return k * (swell * np.concatenate([[0.0], each]) + levels * rounding)


def _by_recurrence(log_a: Array, n: int) -> Array | None:
    """None where the minus signs would cost digits."""
    size = len(log_a)
    first = int(np.argmax(np.isfinite(log_a[1:]))) + 1 if size > 1 else 1
    index = np.arange(float(size))
    spread = index * (n + 1.0)
    log_b = np.full(size, -np.inf)
    log_b[0] = 0.0
    backwards = log_b[::-1]  # a view
    buffer = np.empty(size)
    swell = 1.0
    for j in range(first, size):
        terms = buffer[: j + 1 - first]
        np.add(log_a[first : j + 1], backwards[size - 1 - j + first : size], out=terms)
        peak = float(terms.max())
        if peak == -math.inf:
            continue
        terms -= peak
        np.exp(terms, out=terms)
        factors = spread[first : j + 1] - j
        total = float(factors @ terms)
        if factors[0] < 0.0:
            swell *= float(np.abs(factors) @ terms) / total if total > 0.0 else math.inf
            if swell > _MOST_SWELL:
                return None
        log_b[j] = peak + math.log(total / j)
    return log_b


def by_squaring(log_a: Array, n: int) -> Array:
    """The same without any minus sign, along the last axis: slower."""
    result: Array | None = None
    square = log_a
    while True:
        if n & 1:
            result = square if result is None else log_product(result, square)
        n >>= 1
        if n == 0:
            assert result is not None
            return result
        square = log_product(square, square)


def log_product(log_a: Array, log_b: Array) -> Array:
    """ln of the coefficients of a product of two series, as many as given along the last axis."""
    size = log_a.shape[-1]
    result = np.full(log_a.shape, -np.inf)
    for j in range(size):
        if log_a is log_b:  # each pair once
            half = (j + 1) // 2
            terms = log_a[..., :half] + log_a[..., j : j - half : -1] + math.log(2.0)
            if j % 2 == 0:
                terms = np.concatenate([terms, 2.0 * log_a[..., j // 2, None]], axis=-1)
        else:
            terms = log_a[..., : j + 1] + log_b[..., j::-1]
        peak = np.maximum(terms.max(axis=-1), -1e300)  # all terms may be zero
        result[..., j] = peak + log(np.exp(terms - peak[..., None]).sum(axis=-1))
    return result


def log_binomial_sums(log_moments: Array, first: int = 2) -> Array:
    """ln of sum over k >= first of C(L, k) m_k for L = 0, ..., len - 1; every m_k >= 0."""
    size = len(log_moments)
    factorials = log_factorials(size - 1)
    scaled = log_moments - factorials
    result = np.full(size, -np.inf)
    # row L of this view holds -ln (L - k)! for k = 0, 1, ..., and -inf where k > L
    falling = np.concatenate([np.full(size, -np.inf), -factorials])[::-1]
    rows = np.lib.stride_tricks.sliding_window_view(falling, size)[size - 1 :: -1]
    for start in range(first, size, _ROWS):
        stop = min(start + _ROWS, size)
        terms = scaled[first:stop] + rows[start:stop, first:stop]
        peak = np.maximum(terms.max(axis=1), -1e300)  # all moments may be zero
        total = np.exp(terms - peak[:, None]).sum(axis=1)
        result[start:stop] = peak + log(total) + factorials[start:stop]
    return result
