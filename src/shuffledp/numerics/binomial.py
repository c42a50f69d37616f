"""Binomial masses and tails in double precision, each with a proven relative error.

Everything here rests on three facts, written out in docs/proofs/numerics.md:

* Stirling's series envelops the log-factorial, so a mass needs no lgamma;
* the tail-to-mass ratio Pr[X > t] / Pr[X = t] is a smooth integral over [0, 1], and a 32-point
  Gauss-Legendre rule computes it to below one part in 1e-16;
* sum over k > t of (k - mean) Pr[X = k] = (N - t) p Pr[X = t], so partial means cost nothing more.

Functions return ``(value, error)``: the truth lies within ``value * (1 +- error)``.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from shuffledp.numerics.quadrature import gauss_legendre
from shuffledp.numerics.rounding import Array, down, roundings, up

Number = TypeVar("Number", float, Array)

_NODES, _WEIGHTS = gauss_legendre(32)
TAIL_ERROR = 1e-12
"""Granted to the quadrature of tails (docs/proofs/numerics.md, "Binomial mass and tail")."""
_SMALL = 128
"""Up to this many trials at p = 1/2 tails are read from a table of exact sums."""

_STIRLING_TABLE = np.array(
    [0.0]
    + [
        math.log(math.factorial(m)) - (m + 0.5) * math.log(m) + m - 0.5 * math.log(2 * math.pi)
        for m in range(1, 16)
    ]
)


def _stirling_error(m: Array) -> Array:
    """ln m! minus Stirling's formula, for m >= 1. Absolute error below 1e-14."""
    if m.min() < 16.0:
        table = _STIRLING_TABLE[np.minimum(m, 15.0).astype(np.int64)]
        return np.where(m < 16.0, table, _stirling_error(np.maximum(m, 16.0)))
    s = 1.0 / (m * m)
    return np.asarray((1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / m)


def _deviances(x: Array, mean: Array | float) -> Array:
    """x ln(x / mean) + mean - x for x >= 1, without cancellation near x = mean."""
    v = (x - mean) / (x + mean)
    v2 = v * v
    if (largest := float(v2.max())) >= 0.01:
        far = x * np.log(x / mean) + mean - x
        return far if v2.min() >= 0.01 else np.where(v2 < 0.01, _near(x, mean, v, 0.01), far)
    return _near(x, mean, v, largest)


def deviance(x: float, mean: float) -> float:
    """As above for one x >= 0, relative error below 512 roundings."""
    if x <= 0.0:
        return mean
    v = (x - mean) / (x + mean)
    return _near(x, mean, v, v * v) if v * v < 0.01 else x * math.log(x / mean) + mean - x


def _near(x: Number, mean: Number | float, v: Number, largest: float) -> Number:
    """The deviance by the series of ln((1+v)/(1-v)) where v^2 <= largest <= 0.01."""
    v2 = v * v
    tail = 0.0 * v
    for odd in range(2 * _terms(largest) + 1, 1, -2):
        tail = v2 * (1.0 / odd + tail)
    return (x - mean) * v + 2.0 * x * v * tail


def log_mass(k: Array, trials: float, p: float, q: float) -> tuple[Array, Array]:
    """ln Pr[Bin(trials, p) = k] and its ABSOLUTE error, for integer 0 <= k <= trials.

    ``p`` and ``q = 1 - p`` are passed separately so that neither loses digits.
    """
    if trials == 0.0:
        return np.zeros_like(k), np.zeros_like(k)
    inside_k = np.clip(k, 1.0, max(trials - 1.0, 1.0))
    rest = np.maximum(trials - inside_k, 1.0)
    deviance = _deviances(inside_k, trials * p) + _deviances(rest, trials * q)
    inside = (
        _stirling_error(np.array(trials))
        - _stirling_error(inside_k)
        - _stirling_error(rest)
        - deviance
        - 0.5 * np.log(2.0 * math.pi * inside_k * (rest / trials))
    )
    log_p = math.log(p) if p < 0.5 else math.log1p(-q)
    log_q = math.log(q) if q < 0.5 else math.log1p(-p)
    value = np.where(k <= 0.0, trials * log_q, np.where(k >= trials, trials * log_p, inside))
    slack = roundings(100.0 + 2.0 * np.abs(k - trials * p))
    error = slack + roundings(
        np.where(
            (k <= 0.0) | (k >= trials),
            16.0 * np.abs(value),
            256.0 * deviance + 16.0 * np.log(trials + 2.0),
        )
    )
    return value, error


def _log1p_minus(x: Array) -> Array:
    """log1p(x) - x without cancellation."""
    v = x / (2.0 + x)
    v2 = v * v
    tail = np.zeros_like(v)
    for odd in range(17, 1, -2):
        tail = v2 * (1.0 / odd + tail)
    near = 2.0 * v * tail - v * x
    with np.errstate(divide="ignore"):
        far = np.log1p(np.maximum(x, -1.0)) - x
    return np.where(np.abs(v) < 0.05, near, far)


def _weighted(values: Array) -> Array:
    """The quadrature of each row; without BLAS,
    whose threads wait for each other on a busy machine."""
    return np.asarray(np.einsum("ij,j->i", values, _WEIGHTS))


def tail_ratio(t: Array, excess: Array, trials: float, p: float, q: float) -> Array:
    """Pr[Bin(trials, p) > t] / Pr[Bin(trials, p) = t] where sd >= 150.

    ``excess`` = t - (trials - 1) p >= 0 is passed in, computed without cancellation.
    Relative error below TAIL_ERROR + roundings(64) * excess.
    """
    rho = p / q
    slope = excess / q
    scale = math.sqrt(q / (trials * p))
    lean = slope * scale
    span = scale * (np.sqrt(lean * lean + 82.0) - lean)
    s = _NODES * span[:, None]
    exponent = (
        t[:, None] * _log1p_minus(-s)
        + (trials - t[:, None] - 1.0) * _log1p_minus(rho * s)
        - slope[:, None] * s
    )
    integral = span * _weighted(np.exp(exponent))
    return np.asarray((trials - t) * rho * integral)


def _half_ratio_integral(t: Array, trials: Array) -> Array:
    """Integral over [0, 1] of (1-u)^t (1+u)^(trials-t-1),
    for trials > 128 and t >= (trials-1)/2."""
    lean_raw = 2.0 * t - (trials - 1.0)
    root = np.sqrt(trials)
    lean = lean_raw / root
    span = (np.sqrt(lean * lean + 82.0) - lean) / root
    u = _NODES * span[:, None]
    log, artanh = _log_and_artanh(u)
    exponent = (0.5 * (trials - 1.0))[:, None] * log - lean_raw[:, None] * artanh
    return np.asarray(span * _weighted(np.exp(exponent)))


def _log_and_artanh(u: Array) -> tuple[Array, Array]:
    """ln(1 - u^2) and artanh u for 0 < u < 1; where all u are small by their series,
    several times faster."""
    u2 = u * u
    largest = float(u2.max())
    if largest > 0.01:
        return np.log1p(-u2), np.arctanh(u)
    terms = _terms(largest)
    log, artanh = np.full_like(u2, 1.0 / terms), np.full_like(u2, 1.0 / (2 * terms - 1))
    for k in range(terms - 1, 0, -1):
        log *= u2
        log += 1.0 / k
        artanh *= u2
        artanh += 1.0 / (2 * k - 1)
    log *= -u2
    artanh *= u
    return log, artanh


def _terms(largest: float) -> int:
    """How many powers of a number up to this, 0.01 at most, it takes until they vanish."""
    return math.ceil(-37.0 / math.log(max(largest, 1e-37)))


def _half_tables() -> tuple[Array, Array]:
    """Prefix sums over j < J of C(c, j) / 2^c and of j C(c, j) / 2^c, for c <= 128."""
    mass = np.zeros((_SMALL + 1, _SMALL + 2))
    for c in range(_SMALL + 1):
        mass[c, 1 : c + 2] = [math.comb(c, j) / 2**c for j in range(c + 1)]
    index = np.maximum(np.arange(_SMALL + 2) - 1.0, 0.0)
    return np.cumsum(mass, axis=1), np.cumsum(mass * index, axis=1)


_HALF_ZERO, _HALF_ONE = _half_tables()


def half_excess(trials: Array, above: Array, below_top: Array) -> tuple[Array, Array, Array]:
    """E[(X - trials/2 - above)+] for X ~ Bin(trials, 1/2), above >= 0.

    ``below_top`` is trials/2 - above computed without cancellation. Returns (lower, upper, log
    scale): the truth lies between ``lower * exp(log scale)`` and ``upper * exp(log scale)``.
    """
    lower = np.zeros_like(trials)
    upper = np.zeros_like(trials)
    log_scale = np.zeros_like(trials)
    small = trials <= _SMALL
    if np.any(small):
        count = trials[small].astype(np.int64)
        room = below_top[small]
        terms = np.where(room > 0.0, np.minimum(np.ceil(room), count + 1.0), 0.0).astype(np.int64)
        first, second = np.maximum(room, 0.0) * _HALF_ZERO[count, terms], _HALF_ONE[count, terms]
        slack = roundings(16.0 + _SMALL) * (first + second)
        lower[small] = np.maximum(first - second - slack, 0.0)
        upper[small] = np.where(terms > 0, first - second + slack, 0.0)
    large = ~small
    if np.any(large):
        c, x, room = trials[large], above[large], below_top[large]
        t = np.clip(np.floor(0.5 * c + x), np.floor(0.5 * c), c - 1.0)
        log_mass_t, mass_error = log_mass_half(t, c)
        ratio = _half_ratio_integral(t, c)
        bracket = 0.5 - x * ratio
        slack = roundings(128.0) * (0.5 + x * ratio) + roundings(8.0) * c / (c - t)
        factor = c - t
        reach = room > 0.0
        lower[large] = np.where(
            reach, down(np.maximum(bracket - slack, 0.0) * factor, mass_error), 0
        )
        upper[large] = np.where(
            reach, up(np.maximum(bracket + slack, 0.0) * factor, 2 * mass_error), 0
        )
        log_scale[large] = log_mass_t
    return lower, upper, log_scale


def log_mass_half(k: Array, trials: Array) -> tuple[Array, Array]:
    """ln Pr[Bin(trials, 1/2) = k] for 1 <= k <= trials - 1, elementwise, and its absolute error."""
    x = (2.0 * k - trials) / trials
    near = np.log1p(-x * x) + 2.0 * x * np.arctanh(x)
    deviance = 0.5 * trials * near
    value = (
        _stirling_error(trials)
        - _stirling_error(k)
        - _stirling_error(trials - k)
        - deviance
        - 0.5 * np.log(0.5 * math.pi * trials * (1.0 - x * x))
    )
    return value, roundings(100.0 + 64.0 * np.abs(deviance) + 16.0 * np.log(trials))


def half_tail(t: Array, trials: Array) -> tuple[Array, Array, Array]:
    """Upper tails of X ~ Bin(trials, 1/2) for trials > 128 and (trials-1)/2 <= t < trials.

    Returns Pr[X > t], E[(X - trials/2) 1{X > t}], both divided by Pr[X = t], and ln Pr[X = t].
    """
    ratio = (trials - t) * _half_ratio_integral(t, trials)
    return ratio, 0.5 * (trials - t), log_mass_half(np.minimum(t, trials - 1.0), trials)[0]
