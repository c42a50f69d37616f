"""The frequency engine: E k(S) for a sum S of independent variables, from both sides.

A payoff k lies between two smooth functions, G <= k <= F, whose Fourier transforms decay like a
Gaussian of width 1/b. For every theta (right of the poles of F) and every window P, Poisson
summation gives, with s_j = theta + 2 pi i j / P and M(s) = E e^(sS),

    sum_k e^(-theta k P) E F(S + k P) = (1/P) sum_j M(s_j) e^(b^2 s_j^2 / 2) F^(s_j)

and the same for G (docs/proofs/engine.md, sections 1 and 2): a short sum encloses the answer, for
any law and at a cost that does not grow with the number of variables. A `Transform` knows M, a
`Payoff` knows F^ and G^; whoever has other ones writes such a class, no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.logs import log_above_zero
from shuffledp.numerics.rounding import BELOW_ONE, Array, all_orders, down, roundings, up

MAX_EXPONENT = 600.0
"""theta times the largest value is kept about this low: nothing overflows."""
LOG_FLOOR = -692.0
"""e^-692 < 5e-301: what is smaller counts as 0, or as 1e-300 (docs/proofs/engine.md, section 6)."""
_SKIP_LOG = 45.0
"""Powers of the characteristic function below e^-45 are charged, not summed."""
_MOMENTS = 1e-6
"""Share granted to the rounding of variances and fourth moments (docs/proofs/engine.md,
section 2)."""
_LARGEST_EXPONENT = 700.0
_NORMAL_AT_ZERO = 0.3989
"""At most 1 / sqrt(2 pi)."""
_BLOCK = 1 << 16
_SMALL = 1 << 18
"""Multiplications per matrix product: BLAS uses one thread for so many,
and more would only wait for each other."""
_CUTS, _FEW = 40, 50
"""How often the values of a law are cut off nearer to its median, if they are more than a few."""
_MAX_ROUNDS, _STEEPEST, _MAX_THETA = 6, 10.0, 1e60
_ROUGH = 0.7
"""Where roundings make so much of a width, less smoothing is tried once more only."""


@dataclass(frozen=True, eq=False)
class Measure:
    """Masses w (1 +- rho) at the values v; they sum to 1 - lost."""

    v: Array
    w: Array
    lost: float
    rho: float

    def log_mgf(self, theta: float) -> tuple[float, float]:
        """log E[e^(theta V)] and a bound on its error; accurate near 0, where n multiplies it."""
        (value,), (error,) = self._block(np.array([theta]), exact=True)
        return float(value), float(error)

    def log_mgfs(self, thetas: Array, exact: bool = False) -> tuple[Array, Array]:
        """The same at several places; unless ``exact`` cheaper and less accurate."""
        rows = max(_BLOCK // self.v.size, 1)
        if thetas.size <= rows:
            return self._block(thetas, exact)
        parts = [self._block(thetas[i : i + rows], exact) for i in range(0, thetas.size, rows)]
        values, errors = np.concatenate(parts, axis=1)
        return values, errors

    def _block(self, thetas: Array, exact: bool) -> tuple[Array, Array]:
        """Errors: docs/proofs/engine.md, section 3."""
        x = np.multiply.outer(thetas, self.v)
        shift = _shift(x.max(axis=1))
        moved = self.w * np.expm1(np.minimum(x, _LARGEST_EXPONENT))
        tilted = self.w * np.exp(x - shift[:, None])
        if exact:
            drift = np.array([math.fsum([*row, -self.lost]) for row in moved.tolist()])
        else:
            drift = moved.sum(axis=1) - self.lost
        near = (drift > -0.5) & (shift == 0.0)  # else the total itself is the accurate one
        rounding = self.rho + roundings(12 + np.where(near & exact, 0.0, self.v.size + 1))
        total = np.where(near, 1 + drift, tilted.sum(axis=1))
        value = np.where(near, np.log1p(np.maximum(drift, -0.5)), shift + np.log(total))
        size = np.where(near, np.abs(moved).sum(axis=1) + abs(self.lost), total)
        arguments = np.einsum("ij,ij->i", np.abs(x) + np.abs(shift)[:, None], tilted)
        slack = rounding * size + roundings(3) * arguments
        return value, all_orders(slack) / total + roundings(16) * np.abs(value)

    def tilted_mean(self, theta: float) -> float:
        """Mean of V under masses proportional to w e^(theta v), roughly."""
        x = theta * self.v
        most = float(x.max())
        q = self.w * np.exp(x - (most - min(max(most, 0.0), _LARGEST_EXPONENT)))
        return float(self.v @ q) / float(q.sum())


def _shift(most: Array) -> Array:
    """What to take off exponents up to ``most``:
    0 but where their exponentials leave the doubles."""
    return most - np.minimum(np.maximum(most, 0.0), _LARGEST_EXPONENT)


class Spectrum(NamedTuple):
    """phi = M(theta + i omega) / M(theta) at a run of frequencies."""

    log_modulus: Array
    argument: Array
    bound: Array
    """At least how far the computed phi is off."""
    size: Array
    """What the roundings of logarithm and argument are relative to."""


class Transform(Protocol):
    """A moment generating function along the line Re s = theta."""

    theta: float

    def at(self, omega: Array, step: float, start: int) -> Spectrum:
        """At omega = step * (start, start + 1, ...)."""

    def negligible(self, step: float, last: int) -> tuple[int, int]:
        """First and last of the frequencies, up to ``last``, where |phi| <= e^-45 for sure."""


class Payoff(Protocol):
    """F^ and F^ - G^, each without the factor e^(b^2 s^2 / 2), at s = theta + i omega."""

    cut: float
    """Frequencies beyond this over b are charged, not summed."""

    def centre(self, theta: float, b: float) -> tuple[float, float]:
        """Both at omega = 0."""

    def sums(
        self, theta: float, b: float, omega: Array, re: Array, im: Array
    ) -> tuple[Array, Array]:
        """Sums over omega (the last axis) of the real parts of (re + i im) F^ and of
        (re + i im) (F^ - G^)."""

    def size(self, theta: float, b: float, omega: Array) -> Array:
        """The sum of both moduli, or more."""

    def beyond(self, b: float, first: float) -> float:
        """At least the integral over omega > first of e^(-b^2 omega^2 / 2) times |F^| or |G^|."""


class _Factor(NamedTuple):
    measure: Measure
    copies: int
    log_m: float
    log_m_error: float
    p: Array
    slope: float
    """The computed characteristic function at omega is off by at most slope * omega."""
    variance: float
    """Of one V."""
    quartic: float
    """E (V - V')^4."""


class Product:
    """M(s) = e^(-s shift) times powers of the moment generating functions of measures.

    Each law is tilted: p = w e^(theta v) / M(theta).
    """

    def __init__(
        self, parts: Sequence[tuple[Measure, int]], theta: float, shift: float = 0.0
    ) -> None:
        self.theta, self.shift = theta, shift
        self.copies = sum(copies for _, copies in parts)
        self.factors = [self._factor(*part) for part in parts]
        terms = [factor.copies * factor.log_m for factor in self.factors]
        terms += [-theta * shift] if shift else []
        self.log_m = math.fsum(terms)
        self.log_m_error = math.fsum(f.copies * f.log_m_error for f in self.factors)
        self.log_m_error += roundings(2 * len(terms) - 2) * math.fsum(map(abs, terms))
        self.sd = math.sqrt(sum(factor.copies * factor.variance for factor in self.factors))

    def _factor(self, measure: Measure, copies: int) -> _Factor:
        """Errors: docs/proofs/engine.md, section 2, "phi - 1"."""
        v = measure.v
        log_m, log_m_error = measure.log_mgf(self.theta)
        log_w = np.log(measure.w)
        p = np.exp(self.theta * v + log_w - log_m)
        relative = roundings(6 * v.size + 200 + 4 * abs(log_m)) + measure.rho + log_m_error
        each = relative + roundings(12) * (np.abs(self.theta * v) + np.abs(log_w))
        slope = all_orders(float((p * each) @ np.abs(v)))
        centred = v - float(p @ v)
        variance = float(p @ centred**2)
        quartic = 2 * float(p @ centred**4) + 6 * variance**2
        return _Factor(measure, copies, log_m, log_m_error, p, slope, variance, quartic)

    def log_growth(self, thetas: Array, exact: bool = False) -> Array:
        """Upper bounds of ln of M at these places over M(theta)."""
        total = -(thetas - self.theta) * self.shift
        for measure, copies, log_m, log_m_error, *_ in self.factors:
            values, errors = measure.log_mgfs(thetas, exact)
            total = total + copies * (values + errors - log_m + log_m_error)
        return np.asarray(total)

    def at(self, omega: Array, step: float, start: int) -> Spectrum:
        """Errors: docs/proofs/engine.md, section 2, "Power"."""
        log_modulus, argument = np.zeros(omega.size), -self.shift * omega
        largest, relative, size = np.zeros(omega.size), np.zeros(omega.size), np.abs(argument)
        for measure, copies, _, _, p, slope, *_ in self.factors:
            x, y = characteristic(measure.v, p, step, start, omega.size)
            excess = 2 * x + x * x + y * y  # |phi|^2 - 1
            excess_error = roundings(4) * (2 * np.abs(x) + x * x + y * y)
            if copies > 1:
                half_log = 0.5 * log_above_zero(excess)
            else:  # a root would lose digits near 0, where no power makes up for it
                half_log = np.log(np.maximum(np.hypot(1 + x, y), roundings(1)))
            turn = np.arctan2(y, 1 + x)
            shift = slope * omega
            # |a^n - b^n| <= n |a - b| max(|a|, |b|)^(n-1), here with a power that suits n = 2 too
            ceiling = np.maximum(excess + 3 * shift + excess_error, -BELOW_ONE)
            log_modulus += copies * half_log
            argument += copies * turn
            size += copies * (np.abs(turn) + np.abs(half_log))
            largest += 0.5 * copies * np.log1p(ceiling)
            relative += copies * (shift * (1.01 + 3 * shift) + excess_error) / (1 + ceiling)
        bound = np.exp(np.minimum(largest, _LARGEST_EXPONENT)) * relative
        return Spectrum(log_modulus, argument, bound, size)

    def negligible(self, step: float, last: int) -> tuple[int, int]:
        """Of the widest band (docs/proofs/engine.md, section 2)."""
        low, high = self._band
        first = min(math.ceil(min(low / step, float(last))) + 1, last + 1)
        return first, math.floor(min(high / step, last + 1.0)) - 1

    @cached_property
    def _band(self) -> tuple[float, float]:
        """Frequencies between which |phi| <= e^-45: overlapping bands, the widest of such."""
        found = [self._common_band()]
        for factor in self.factors:
            if factor.p.size > _FEW:
                found += _inner_bands(factor)
        found.sort()
        low, high = widest = found[0]
        for start, end in found:
            low, high = (low, max(high, end)) if start <= high else (start, end)
            if high - low > widest[1] - widest[0]:
                widest = low, high
        return widest

    def _common_band(self) -> tuple[float, float]:
        """By the mean variance and fourth moment of all variables."""
        need = -math.expm1(-2 * _SKIP_LOG / self.copies)
        variance = quartic = 0.0
        for factor in self.factors:
            share = factor.copies / self.copies
            off = roundings(2 * (factor.p.size + 100)) * float(factor.p @ np.abs(factor.measure.v))
            variance += share * (down(factor.variance, _MOMENTS) - off**2)
            quartic += share * up(factor.quartic, _MOMENTS)
        return _between_roots(variance, quartic, need)


def _inner_bands(factor: _Factor) -> Iterator[tuple[float, float]]:
    """The same by one law alone, and by those of its values only that are near its median."""
    v, p = factor.measure.v, factor.p
    away = np.abs(v - v[int(np.searchsorted(np.cumsum(p), 0.5))])
    reach = float(away.max())
    for _ in range(_CUTS):
        inside = away <= reach
        x, weight = v[inside], p[inside]
        mass = float(weight.sum())
        gap = -math.expm1(-_SKIP_LOG / factor.copies) / down(mass, _MOMENTS)
        if not (gap < 1.0 and x.size > 1):
            return
        mean = float(weight @ x) / mass
        off = roundings(2 * (x.size + 100)) * float(weight @ np.abs(x)) / mass
        square = (x - mean) ** 2
        variance = float(weight @ square) / mass
        quartic = 2 * float(weight @ square**2) / mass + 6 * variance**2
        yield _between_roots(
            down(variance, _MOMENTS) - off**2, up(quartic, _MOMENTS), gap * (2 - gap)
        )
        reach *= 0.5


def _between_roots(variance: float, quartic: float, need: float) -> tuple[float, float]:
    """Frequencies between which omega^2 variance - omega^4 quartic / 24 is at least that."""
    root = variance**2 - quartic * need / 6
    if not (variance > 0 and root > 0):
        return math.inf, 0.0
    top = variance + math.sqrt(root)
    return math.sqrt(2 * need / top), math.sqrt(12 * top / quartic)


def characteristic(
    values: Array, weights: Array, step: float, start: int, count: int
) -> tuple[Array, Array]:
    """Re and Im of E e^(i omega V) - 1 at omega = step * (start, ..., start + count - 1).

    With omega = coarse + fine: e^(i omega v) - 1 = A B + A + B, A and B the same at coarse and
    fine, so a matrix product does most of the work and small arguments stay accurate.
    """
    fine = math.isqrt(count - 1) + 1
    coarse = -(-count // fine)
    far, near = (start + fine * np.arange(coarse)) * step, np.arange(fine) * step
    re, im = np.zeros((coarse, fine)), np.zeros((coarse, fine))
    alone, beside = np.zeros((2, coarse)), np.zeros((2, fine))  # the terms A, and B
    block = max(_SMALL // (coarse * fine), 32)
    for i in range(0, values.size, block):
        v, w = values[i : i + block], weights[i : i + block]
        xa, xb = np.multiply.outer(far, v), np.multiply.outer(v, near)
        a_re, a_im = -2.0 * np.sin(0.5 * xa) ** 2 * w, np.sin(xa) * w
        b_re, b_im = -2.0 * np.sin(0.5 * xb) ** 2, np.sin(xb)
        re += product(a_re, b_re)
        re -= product(a_im, b_im)
        im += product(a_re, b_im)
        im += product(a_im, b_re)
        alone += a_re.sum(1), a_im.sum(1)
        beside += w @ b_re, w @ b_im
    re += np.add.outer(alone[0], beside[0])
    im += np.add.outer(alone[1], beside[1])
    return re.ravel()[:count], im.ravel()[:count]


def product(a: Array, b: Array) -> Array:
    """a @ b for two matrices, a few rows at a time, in this thread.

    A linear-algebra library spreads a large product over threads that wait for each other: beside
    other work, or in several processes at once, that takes hundreds of times longer than it saves.
    """
    rows = max(_SMALL // max(b.size, 1), 1)
    if len(a) <= rows:
        return np.asarray(a @ b)
    found = np.empty((len(a), b.shape[1]))
    for i in range(0, len(a), rows):
        np.matmul(a[i : i + rows], b, out=found[i : i + rows])
    return found


def inner(a: Array, b: Array) -> float:
    """The sum of a b, in this thread: so does ``@``, but not of more than 10,000 terms."""
    return float(np.einsum("i,i->", a, b))


def frequency_sums(
    transform: Transform, payoff: Payoff, step: float, b: float, shifts: Array
) -> tuple[Array, Array, Array]:
    """Sums over all k of e^(-theta k P) E F(S - c + kP) above and of the same for G below, over
    M(theta) e^(-theta c), for each c of ``shifts``: all from one evaluation of the transform; and
    how much of their distance is not smoothing."""
    theta = transform.theta
    last = math.ceil(payoff.cut / (b * step))
    skip_from, skip_to = transform.negligible(step, last)
    sums = np.zeros((4, shifts.size))
    for start, stop in ((1, skip_from), (max(skip_to + 1, skip_from), last + 1)):
        for block in range(start, stop, _BLOCK):
            count = min(_BLOCK, stop - block)
            sums += _terms(transform, payoff, step, b, shifts, block, count)
    smooth, kernel, absolute, error = sums
    centre, kernel_centre = payoff.centre(theta, b)
    error = error + roundings(last + 100) * (
        absolute + float(payoff.size(theta, b, np.zeros(1))[0])
    )
    error += payoff.beyond(b, last * step) / step
    if skip_from <= skip_to:
        error += math.exp(-_SKIP_LOG) * payoff.beyond(b, (skip_from - 1) * step) / step
    factor = math.exp((b * theta) ** 2 / 2) * step / (2 * math.pi)
    return (
        factor * (centre - kernel_centre + 2 * (smooth - kernel - error)),
        factor * (centre + 2 * (smooth + error)),
        4 * factor * error,
    )


def _terms(
    transform: Transform,
    payoff: Payoff,
    step: float,
    b: float,
    shifts: Array,
    start: int,
    count: int,
) -> Array:
    """Sums over one block of frequencies: for F, for F - G, of moduli, of error bounds."""
    theta = transform.theta
    omega = np.arange(start, start + count, dtype=np.float64) * step
    phi = transform.at(omega, step, start)
    gauss = np.exp(-0.5 * (b * omega) ** 2)
    modulus = np.exp(phi.log_modulus) * gauss
    phase = phi.argument + b * b * theta * omega - np.multiply.outer(shifts, omega)
    size = payoff.size(theta, b, omega)
    sums = payoff.sums(theta, b, omega, modulus * np.cos(phase), modulus * np.sin(phase))
    relative = roundings(64) * (1 + phi.size + b * b * (theta + omega) * omega)
    weights = modulus * size
    error = inner(phi.bound * gauss + relative * modulus, size)
    moved = roundings(64) * inner(omega, weights) * np.abs(shifts)
    absolute = np.full(shifts.size, float(weights.sum()))
    return np.stack([*sums, absolute, all_orders(error + moved)])


def narrowed(
    transform: Transform,
    payoff: Payoff,
    window: Callable[[float], tuple[float, float]],
    best: Enclosure,
    estimate: float,
    offset: float,
    width: float,
    limit: int,
    atom: float = 0.0,
) -> Enclosure:
    """E k(S) / M(theta): ``best`` made as narrow as asked, by at most ``limit`` frequencies.

    ``window`` gives a step and what the terms k != 0 add to the lower end, about its argument;
    ``estimate`` and ``offset`` are about the answer and what it will be added to. ``atom`` is at
    most Pr[S = 0] / M(theta): there F is too large by b / sqrt(2 pi) for sure.
    """
    theta = transform.theta
    b, rough = math.sqrt(0.7 * width) / theta, 0
    for _ in range(_MAX_ROUNDS if theta < _MAX_THETA else 0):  # beyond, omega^4 may overflow
        step, alias = window(0.02 * width * (estimate + offset))
        exhausted = b * step * limit < payoff.cut
        if exhausted:
            b = payoff.cut / (step * limit)
        if b * theta > _STEEPEST:
            break
        (low,), (high,), (error,) = frequency_sums(transform, payoff, step, b, np.zeros(1))
        found = Enclosure(float(low), float(high))
        upper = found.upper - atom * b * _NORMAL_AT_ZERO
        best = Enclosure(max(best.lower, found.lower - alias), min(best.upper, upper))
        got = (best.upper - best.lower) / (best.upper + offset)
        blur = (found.upper - found.lower) / (best.upper + offset)  # the rest is the window's
        rough += blur > width and error > _ROUGH * (found.upper - found.lower)
        if got <= width or exhausted or rough > 1:
            break
        estimate = max(best.lower, 1e-3 * best.upper)
        if blur > 0.5 * width:
            b *= min(max(0.7 * width / blur, 0.01), 0.5)
    return best


def shortest(gaps: Array, log_bounds: Array, log_target: float) -> tuple[float, float, float]:
    """Period P at which some e^(log bound - gap P) is about the target; that gap and bound."""
    lengths = np.maximum(log_bounds - log_target + 1, 1.0) / gaps
    best = int(np.argmin(lengths))
    return float(lengths[best]), float(gaps[best]), float(log_bounds[best])


def scaled(x: float, log_factor: float, sign: int) -> float:
    """x e^log_factor rounded in the direction of ``sign``; 0 if x <= 0 or the result < 1e-300."""
    if x <= 0:
        return 0.0
    y = math.log(x) + log_factor
    if y < LOG_FLOOR:
        return 0.0
    return math.exp(y + sign * roundings(8) * (1 + abs(y) + abs(log_factor)))
