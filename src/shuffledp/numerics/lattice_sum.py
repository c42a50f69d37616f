"""Certified law of a sum of independent, not identically distributed, small whole numbers.

User i contributes j in {0, ..., J} with probability masses[i, j]; J = 1 is the Poisson binomial.
Short sums are convolved term by term (all terms positive: a relative error). Long ones come from
their characteristic function on a window outside of which a Bernstein bound leaves e^-46; an
exponential tilt centres the window where accuracy is wanted. Every error made is inside the result
(docs/proofs/personalized.md, section 4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.numerics.frequencies import inner, product
from shuffledp.numerics.logs import log_above_zero
from shuffledp.numerics.rounding import SUMS, Array, all_orders, down, roundings, up

_DEPTH = 46.0
_CONVOLVED = 4096
"""Sums with a shorter support are convolved."""
_BLOCK = 4_000_000
_SERIES_FROM = 20_000
_TERMS = 14
_SMALL = 0.12
_MASS_ERROR = roundings(16)


@dataclass(frozen=True, eq=False)
class SumLaw:
    """Pr[T = start + k] lies within exp(log_scale - theta (start + k)) (values[k] +- error[k])."""

    start: int
    values: Array
    error: Array
    theta: float
    log_scale: float
    outside: float
    """Bound on the tilted mass at all other places."""

    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bound of the plain masses."""
        places = self.start + np.arange(self.values.size)
        exponent = self.log_scale - self.theta * places
        slack = roundings(96) * (1.0 + np.abs(exponent) + abs(self.log_scale))
        with np.errstate(under="ignore", over="ignore"):
            weight = np.exp(np.minimum(exponent, 700.0))
            low = down(np.maximum(self.values - self.error, 0.0) * weight, slack)
            high = up((np.maximum(self.values, 0.0) + self.error) * weight, slack)
        return low, high


def sum_law(masses: Array, counts: NDArray[np.int64], theta: float = 0.0) -> SumLaw:
    """Law of the sum over all users; counts[i] of them have the row masses[i]."""
    levels = np.arange(masses.shape[1], dtype=np.float64)
    top = levels.size - 1
    weights = counts.astype(np.float64)
    tilted = masses * np.exp(theta * levels)
    norms = tilted.sum(axis=1)
    tilted = tilted / norms[:, None]
    log_scale = float(np.sum(weights * np.log(norms))) if theta else 0.0
    support = int(counts.sum()) * top
    if support <= _CONVOLVED:
        values, growth = _convolve(tilted, counts)
        # products below the normal range lose their relative accuracy
        small = growth * values + 1e-290
        return SumLaw(0, values, small, theta, log_scale, 0.0)
    means = tilted @ levels
    mean = float(np.sum(weights * means))
    variance = float(np.sum(weights * (tilted @ levels**2 - means**2)))
    reach = top * _DEPTH / 3.0
    reach += math.sqrt(reach**2 + up(2.0 * _DEPTH * max(variance, 0.0), SUMS)) + 1.0
    outside = 2.1 * math.exp(-_DEPTH)
    size = 2 * math.ceil(reach) + 2
    size += size % 2
    centre = round(mean)
    start = centre - size // 2
    neighbours = float(np.sum(weights * (tilted[:, :-1] * tilted[:, 1:]).sum(axis=1)))
    last, cut = _last_frequency(neighbours, size)
    omega: Array = 2.0 * math.pi / size * np.arange(1, last + 1, dtype=np.float64)
    log_phi, relative = _log_characteristic(tilted, weights, omega)
    # centred at `start`; the modulus is at most 1
    phase = log_phi.imag - omega * float(start)
    relative = relative + roundings(16) * (np.abs(log_phi.imag) + omega * abs(float(start)) + 1.0)
    modulus = np.exp(np.minimum(log_phi.real, 0.0))
    spectrum = np.zeros(size // 2 + 1, dtype=np.complex128)
    spectrum[0] = 1.0
    spectrum[1 : last + 1] = modulus * np.exp(1j * phase).conj()
    values = np.fft.irfft(spectrum, size)
    total = 1.0 + 2.0 * float(modulus.sum())
    bound = 2.0 * inner(modulus, np.expm1(np.minimum(relative, 700.0)))
    bound += roundings(12.0 * math.log2(size) + 40.0) * total
    error = all_orders(bound) / size + cut + outside
    lowest, highest = max(0, -start), min(size, support - start + 1)
    inside = values[lowest:highest]
    return SumLaw(
        start + lowest, inside, np.full(inside.size, error), theta, log_scale, all_orders(outside)
    )


def _convolve(rows: Array, counts: NDArray[np.int64]) -> tuple[Array, float]:
    """All terms positive: the relative error grows by the length of each product."""
    law, error = np.ones(1), 0.0
    for row, count in zip(rows, counts.tolist(), strict=True):
        power, power_error, left = row, _MASS_ERROR, count
        while left:
            if left & 1:
                error += power_error + roundings(2.0 * (min(law.size, power.size) + 2))
                law = np.convolve(law, power)
            left >>= 1
            if left:
                power_error = 2.0 * power_error + roundings(2.0 * (power.size + 2))
                power = np.convolve(power, power)
    return law, all_orders(error)


def _last_frequency(neighbours: float, size: int) -> tuple[int, float]:
    """Beyond it |phi| <= exp(-neighbours (1 - cos omega)) < e^-46 (or nothing is left out)."""
    least = down(neighbours, SUMS)
    if least * 2.0 <= _DEPTH + 1.0:
        return size // 2, 0.0
    cut = math.acos(1.0 - (_DEPTH + 1.0) / least)
    last = math.ceil(cut * size / (2.0 * math.pi)) + 1
    return (size // 2, 0.0) if last >= size // 2 else (last, math.exp(-_DEPTH))


def _log_characteristic(
    rows: Array, weights: Array, omega: Array
) -> tuple[NDArray[np.complex128], Array]:
    """Sum of log phi_i(omega), and a bound on its error (absolute: relative for the product)."""
    if rows.shape[1] == 2 and rows.shape[0] > _SERIES_FROM:
        found = _by_power_sums(rows[:, 1], weights, omega)
        if found is not None:
            return found
    levels = np.arange(1.0, rows.shape[1])
    angles = np.multiply.outer(omega, levels)
    real, imaginary = -2.0 * np.sin(0.5 * angles) ** 2, np.sin(angles)
    size = np.abs(2.0 * np.sin(0.5 * angles))
    total = np.zeros(omega.size, dtype=np.complex128)
    error = np.zeros(omega.size)
    step = max(1, _BLOCK // omega.size)
    unit = roundings(levels.size + 24.0)
    chunks = -(-rows.shape[0] // step)
    summing = roundings(math.log2(step + 2.0) + 40.0 + chunks)  # pairwise inside a chunk
    for first in range(0, rows.shape[0], step):
        chunk = np.ascontiguousarray(rows[first : first + step, 1:].T)
        weight = weights[first : first + step]
        x, y = product(real, chunk), product(imaginary, chunk)
        off = product(size, chunk)  # at least |phi - 1|, and what its error is relative to
        excess = 2.0 * x + x * x + y * y
        log_modulus = 0.5 * log_above_zero(excess)
        argument = np.arctan2(y, 1.0 + x)
        total += (log_modulus * weight).sum(axis=1) + 1j * (argument * weight).sum(axis=1)
        shift = 2.0 * unit * off * (1.0 + off) / np.sqrt(np.maximum(1.0 + excess, 1e-300))
        spread = (roundings(8) + summing) * (np.abs(log_modulus) + np.abs(argument))
        error += ((shift + spread) * weight).sum(axis=1)
    return total, all_orders(error)


def _by_power_sums(
    p: Array, weights: Array, omega: Array
) -> tuple[NDArray[np.complex128], Array] | None:
    """sum_i log(1 + p_i y) = sum_k -(-y)^k / k sum_i p_i^k, y = e^(i omega) - 1 small."""
    y = -2.0 * np.sin(0.5 * omega) ** 2 + 1j * np.sin(omega)
    size = np.abs(2.0 * np.sin(0.5 * omega))
    if float(size.max()) > _SMALL:
        return None
    total = np.zeros(omega.size, dtype=np.complex128)
    error = np.zeros(omega.size)
    power, term, scale = weights.copy(), -np.ones_like(y), np.ones_like(size)
    for k in range(1, _TERMS + 1):
        power = power * p
        moment = float(np.sum(power))  # pairwise
        term, scale = -term * y, scale * size
        total += term * (moment / k)
        error += roundings(12.0 * k + 120.0) * scale * (moment / k)
    last = float(np.sum(power * p))
    error += all_orders(scale) * size * last / ((_TERMS + 1) * (1.0 - size))
    return total, all_orders(error)
