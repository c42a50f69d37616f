"""Certified hockey-stick divergence of many independent rounds.

A round is a pair of measures with finitely many privacy losses l: second mass q, first mass q e^l, and
``revealing`` first mass where the second has none. With S the sum of all losses under the second law
and x = S - epsilon,

    delta(epsilon) = e^epsilon E[(e^x - 1)+] + 1 - product of (1 - revealing).

As in `positive_part` one formula does the work (docs/proofs/composition.md): for b > 0 the functions
F(x) = E(e^(x+bZ) - 1)+ and G(x) = (e^x - 1) Phi(x/b) enclose (e^x - 1)+ and have Gaussian Fourier
decay, so Poisson summation turns both expectations into short sums of products of moment generating
functions, whatever the number of rounds. Losses need no lattice, masses no transform.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.numerics.binomial import Array, U
from shuffledp.numerics.characteristic import characteristic
from shuffledp.numerics.enclosure import Enclosure

_GAUSS_CUT = 7.0
_SKIP_LOG = 45.0
_MAX_EXPONENT = 600.0
_MAX_FREQUENCIES = 1 << 17
_MAX_ENUMERATED = 100_000
_BLOCK = 1 << 14
_TRIES = 5


@dataclass(frozen=True, eq=False)
class Losses:
    """One round, taken as exact: increasing losses, their second masses, the revealing first mass."""

    values: Array
    masses: Array
    revealing: float

    @cached_property
    def log_first_mass(self) -> float:
        """ln of the whole first mass, 0 but for rounding and what was left out."""
        return math.log(math.fsum((self.masses * np.exp(self.values)).tolist()) + self.revealing)

    def log_mgf(self, theta: float) -> tuple[float, float]:
        """ln E[e^(theta L)] under the second law and a bound on its error."""
        x = theta * self.values
        moved = self.masses * np.expm1(x)
        drift = math.fsum([*moved.tolist(), *self.masses.tolist(), -1.0])
        if drift > -0.5:
            value = math.log1p(drift)
            bend = 3.0 * U * float(np.abs(x) @ (self.masses * np.exp(x)))
            slack = (12.0 * U * float(np.abs(moved).sum()) + bend + U) / (1.0 + drift)
        else:
            top = float(x.max())
            shifted = self.masses * np.exp(x - top)
            total = math.fsum(shifted.tolist())
            value = top + math.log(total)
            slack = 12.0 * U + 3.0 * U * float((np.abs(x) + abs(top)) @ shifted) / total
        return value, 1.01 * slack + 16.0 * U * abs(value)

    def without_tail(self, spare: float, upper: bool) -> Losses:
        """The largest losses, together of at most ``spare`` first mass, revealing or left out.

        The first can only raise delta, the second only lower it; what is left has a short tail.
        """
        first = np.cumsum((self.masses * np.exp(self.values))[::-1])[::-1] * (1.0 + 1e-12)
        keep = first > spare
        if keep.all():
            return self
        lost = float(first[~keep][0])
        known = min(self.revealing + lost, 1.0) if upper else self.revealing
        return Losses(self.values[keep], self.masses[keep], known)

    def tilted(self, theta: float) -> Array:
        """Masses proportional to q e^(theta l), summing to 1 up to rounding."""
        x = theta * self.values
        weights = self.masses * np.exp(x - float(x.max()))
        return np.asarray(weights / weights.sum())


Rounds = Sequence[tuple[Losses, int]]
"""Rounds and how often each is repeated."""


def revealing(rounds: Rounds) -> float:
    """1 - product of (1 - revealing mass), to a few units of roundoff."""
    return -math.expm1(
        math.fsum(count * math.log1p(-min(part.revealing, 1.0 - U)) for part, count in rounds)
    )


def composed_delta(rounds: Rounds, epsilon: float, width: float = 1e-3) -> Enclosure:
    """Enclose delta(epsilon) of all rounds together; ``width`` is the relative width aimed at."""
    certain = revealing(rounds)
    finite = _finite_part([(part, count) for part, count in rounds], epsilon, width, certain)
    return Enclosure(
        max(certain * (1.0 - 16.0 * U) + finite.lower, 0.0),
        certain * (1.0 + 16.0 * U) + finite.upper,
    )


def _finite_part(
    rounds: list[tuple[Losses, int]], epsilon: float, width: float, known: float
) -> Enclosure:
    """e^epsilon E[(e^(S - epsilon) - 1)+]."""
    rounds = [(part, count) for part, count in rounds if part.values.size]
    top = math.fsum(count * float(part.values[-1]) for part, count in rounds)
    if top <= epsilon:
        return Enclosure(0.0, 0.0)
    with np.errstate(under="ignore"):
        if enumerable(rounds):
            return _enumerated(rounds, epsilon)
        return _Tilted(rounds, epsilon).enclose(width, known)


def enumerable(rounds: Rounds) -> bool:
    """Whether every combination of losses can be listed."""
    return (
        math.prod(math.comb(count + part.values.size - 1, count) for part, count in rounds)
        <= _MAX_ENUMERATED
    )


def _enumerated(rounds: list[tuple[Losses, int]], epsilon: float) -> Enclosure:
    """Every combination of losses."""
    sums, mass, blur, error = _combinations(tuple(rounds))
    error += 64.0 * U * (8.0 + float(np.abs(sums).max(initial=0.0)) + epsilon)
    excess = sums - epsilon

    def total(shift: float) -> float:
        return math.fsum((mass * -np.expm1(-np.maximum(excess + shift, 0.0))).tolist())

    return Enclosure(
        total(-blur) * math.exp(-error - blur), total(blur) * math.exp(error + blur) + 1e-299
    )


@lru_cache(maxsize=16)
def _combinations(rounds: tuple[tuple[Losses, int], ...]) -> tuple[Array, Array, float, float]:
    """Sums of losses, their first masses, and the errors of the sums and of ln of the masses."""
    sums, log_masses, blur, error = np.zeros(1), np.zeros(1), 0.0, 0.0
    for part, count in rounds:
        weights = np.log(part.masses)
        choices, each, log_mass = _draws(part.values, weights, count)
        sums = np.add.outer(sums, each).ravel()
        log_masses = np.add.outer(log_masses, log_mass).ravel()
        terms = choices + 8.0
        blur += terms * 2.0 * U * count * float(np.abs(part.values).max())
        size = 8.0 + 2.0 * math.lgamma(count + 1.0) + count * float(np.abs(weights).max())
        error += 16.0 * terms * U * size
    return sums, np.exp(log_masses + sums), blur, error


def _draws(values: Array, weights: Array, count: int) -> tuple[int, Array, Array]:
    """How many terms a sum has; sums of ``count`` values in any order, and ln of their masses."""
    kinds = values.size
    factorials = np.array([math.lgamma(j + 1.0) for j in range(count + 1)])
    if count > kinds:
        counts = _multisets(kinds, count)
        log_mass = factorials[count] - factorials[counts].sum(axis=1) + counts @ weights
        return kinds, counts @ values, log_mass
    last, run = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    sums, log_mass = np.zeros(1), np.full(1, factorials[count])
    for _ in range(count):  # one value more, not before the last
        repeats = kinds - last
        starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
        taken = np.arange(starts.size) - starts
        last = np.repeat(last, repeats) + taken
        run = np.where(taken == 0, np.repeat(run, repeats), 0) + 1
        sums = np.repeat(sums, repeats) + values[last]
        log_mass = np.repeat(log_mass, repeats) + weights[last] - np.log(run)
    return count, sums, log_mass


def _multisets(kinds: int, count: int) -> NDArray[np.int64]:
    """All ways to draw ``count`` of ``kinds``, one row of counts each."""
    rows = np.zeros((1, 0), dtype=np.int64)
    left = np.array([count])
    for _ in range(kinds - 1):
        repeats = left + 1
        starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
        taken = np.arange(starts.size) - starts
        rows = np.column_stack([np.repeat(rows, repeats, axis=0), taken])
        left = np.repeat(left, repeats) - taken
    return np.column_stack([rows, left])


class _Tilted:
    """The rounds under q e^(theta l) / M(theta), and the sums over frequencies."""

    def __init__(self, rounds: list[tuple[Losses, int]], epsilon: float) -> None:
        self.rounds, self.epsilon = rounds, epsilon
        self.count = sum(count for _, count in rounds)
        self.theta = self._saddle()
        self.log_scale, self.log_error = self._log_scale(self.theta)
        self.parts = [(part, count, part.tilted(self.theta)) for part, count in rounds]
        variance = fourth = 0.0
        self.slopes = []
        for part, count, p in self.parts:
            v = part.values
            centred = v - float(p @ v)
            spread = float(p @ centred**2)
            variance += count * (
                2.0 * spread * (1.0 - 1e-6) - (2.0 * (p.size + 100) * U * float(p @ np.abs(v))) ** 2
            )
            fourth += count * (2.0 * float(p @ centred**4) + 6.0 * spread**2) * (1.0 + 1e-6) / 24.0
            log_p = np.log(np.maximum(p, 1e-300))
            each = (6.0 * v.size + 200.0) * U + 12.0 * U * (np.abs(self.theta * v) - log_p)
            self.slopes.append(1.01 * float((p * each) @ np.abs(v)) + 1e-300)
        # |phi_total|^2 <= exp(-(variance w^2 - fourth w^4)), from |phi|^2 = E cos(w (L - L'))
        self.variance, self.fourth = variance, fourth
        self.sd = math.sqrt(max(0.5 * variance, 0.0))

    def _log_scale(self, theta: float) -> tuple[float, float]:
        """ln of M(theta) e^(-theta epsilon), and its error."""
        total, error = -theta * self.epsilon, 4.0 * U * abs(theta * self.epsilon)
        for part, count in self.rounds:
            value, slack = part.log_mgf(theta)
            total, error = total + count * value, error + count * (slack + 2.0 * U * abs(value))
        return total, error + 4.0 * U * abs(total)

    def _saddle(self) -> float:
        """Roughly the theta > 1 that minimises the integrand at the real axis; any is valid."""
        reach = max(float(part.values[-1]) for part, _ in self.rounds)
        span = max(float(np.abs(part.values).max()) for part, _ in self.rounds)
        highest = min(_MAX_EXPONENT / max(reach, 1e-12), _MAX_EXPONENT / max(0.25 * span, 1e-12))
        low, high = math.log(1e-9), math.log(max(highest, 1.5))
        for _ in range(20):
            middle = 0.5 * (low + high)
            gap = math.exp(middle)
            theta = 1.0 + gap
            mean = math.fsum(
                count * float(part.tilted(theta) @ part.values) for part, count in self.rounds
            )
            if mean - self.epsilon > 1.0 / theta + 1.0 / gap:
                high = middle
            else:
                low = middle
        return 1.0 + math.exp(low)

    def enclose(self, width: float, known: float) -> Enclosure:
        theta, gap = self.theta, self.theta - 1.0
        # units of e^epsilon M(theta) e^(-theta epsilon) from here
        log_unit = self.log_scale + self.epsilon
        bound = math.exp(gap * math.log(gap) - theta * math.log(theta)) * (1.0 + 64.0 * U * theta)
        if log_unit + math.log(bound) < -690.0:
            return Enclosure(0.0, 1e-299)
        offset = known * math.exp(min(-log_unit, 600.0))
        estimate = 1.0 / (theta * gap * math.sqrt(2.0 * math.pi * (2.0 + (gap * self.sd) ** 2)))
        estimate = max(min(estimate * gap, bound), 1e-6 * bound)
        b = math.sqrt(0.7 * width) / theta
        best = Enclosure(0.0, bound)
        for _ in range(_TRIES):
            step, alias = self._window(0.02 * width * (estimate + offset))
            exhausted = b * step * _MAX_FREQUENCIES < _GAUSS_CUT
            if exhausted:
                b = _GAUSS_CUT / (step * _MAX_FREQUENCIES)
            if b * theta > 5.0:
                break
            found = self._frequency_sum(step, b)
            best = best.narrowed(Enclosure(max(found.lower - alias, 0.0), found.upper))
            got = (best.upper - best.lower) / (best.upper + offset)
            if got <= width or exhausted:
                break
            estimate = max(best.lower, 1e-3 * best.upper)
            b *= min(max(0.7 * width / got, 0.05), 0.5)
        error = self.log_error + 16.0 * U * (1.0 + abs(log_unit) + abs(self.epsilon))
        return Enclosure(
            best.lower * math.exp(max(log_unit - error, -745.0)) * (1.0 - 4.0 * U),
            best.upper * math.exp(min(log_unit + error, 700.0)) * (1.0 + 4.0 * U) + 1e-299,
        )

    def _window(self, target: float) -> tuple[float, float]:
        """Frequency step 2 pi / P, and a bound (about ``target``) on the share of k P, k != 0."""
        theta, gap = self.theta, self.theta - 1.0
        log_target = math.log(target)
        one, one_error = self._log_scale(1.0)
        log_mass = one + one_error - self.log_scale + self.log_error
        left = max(log_mass - log_target + 1.0, 1.0) / gap
        right, best_gap, best_log = math.inf, 1.0, 0.0
        top = math.fsum(count * float(part.values[-1]) for part, count in self.rounds)
        whole = 1.01 * (top - self.epsilon) + 1e-9  # beyond it nothing is left on the right
        limit = 1.1 * _MAX_EXPONENT / max(float(part.values[-1]) for part, _ in self.rounds)
        for more in (np.geomspace(0.3, 40.0, 9) / max(self.sd, 1e-3 / theta)).tolist():
            if theta + more > limit > 0.0:
                break
            value, error = self._log_scale(theta + more)
            log_bound = value + error - self.log_scale + self.log_error
            length = max(log_bound - log_target + 1.0, 1.0) / more
            if length < right:
                right, best_gap, best_log = length, more, log_bound
        period = max(left, min(right, whole))
        alias = _beyond(log_mass, gap * period)
        if period < whole:
            alias += _beyond(best_log, best_gap * period)
        return 2.0 * math.pi / period, 1.01 * alias

    def _frequency_sum(self, step: float, b: float) -> Enclosure:
        """Sums over all k P of the smooth functions above (F) and below (G)."""
        theta, gap = self.theta, self.theta - 1.0
        last = math.ceil(_GAUSS_CUT / (b * step))
        skip_from, skip_to = last + 1, last
        root = self.variance**2 - 8.0 * self.fourth * _SKIP_LOG
        if self.variance > 0.0 and root > 0.0:
            top = self.variance + math.sqrt(root)
            skip_from = min(math.ceil(math.sqrt(4.0 * _SKIP_LOG / top) / step) + 1, last + 1)
            skip_to = min(math.floor(math.sqrt(top / (2.0 * self.fourth)) / step) - 1, last)
        sums = np.zeros(4)
        for start, stop in ((1, skip_from), (max(skip_to + 1, skip_from), last + 1)):
            for block in range(start, stop, _BLOCK):
                sums += self._terms(step, b, block, min(_BLOCK, stop - block))
        upper, lower, absolute, error = sums.tolist()
        # F: 1/(s(s-1)); G: e^(b^2(1-2s)/2)/(s-1) - 1/s, both times e^(b^2 s^2/2)
        centre = 1.0 / (theta * gap)
        shrink = 0.5 * b * b * (1.0 - 2.0 * theta)
        centre_low = centre + math.expm1(shrink) / gap
        error += (last + 200) * U * (absolute + 2.0 / gap)
        cut = last * step
        error += math.exp(-0.5 * (b * cut) ** 2) * 2.0 / (b * cut) ** 2 / step * 1.01
        if skip_from <= skip_to:
            first = (skip_from - 1) * step
            error += math.exp(-_SKIP_LOG) * 2.0 * (1.0 + (skip_to - skip_from + 1)) / first
        factor = math.exp(0.5 * (b * theta) ** 2) * step / (2.0 * math.pi)
        return Enclosure(
            min(factor * (centre_low + 2.0 * (lower - error)), factor * (centre + 2.0 * upper)),
            factor * (centre + 2.0 * (upper + error)),
        )

    def _terms(self, step: float, b: float, start: int, count: int) -> Array:
        """Sums over one block of frequencies: for F, for G, of moduli, of error bounds."""
        theta = self.theta
        omega = np.arange(start, start + count) * step
        log_modulus = np.zeros(count)
        phase = -self.epsilon * omega
        largest, relative = np.zeros(count), np.zeros(count)
        angles = np.abs(phase)
        for (part, copies, p), slope in zip(self.parts, self.slopes, strict=True):
            x, y = characteristic(part.values, p, step, start, count)
            excess = 2.0 * x + x * x + y * y
            excess_error = 4.0 * U * (2.0 * np.abs(x) + x * x + y * y)
            half_log = 0.5 * np.log1p(np.maximum(excess, U - 1.0))
            argument = np.arctan2(y, 1.0 + x)
            shift = slope * omega
            ceiling = np.maximum(excess + 3.0 * shift + excess_error, U - 1.0)
            log_modulus += copies * half_log
            phase += copies * argument
            angles += copies * (np.abs(argument) + np.abs(half_log))
            largest += 0.5 * copies * np.log1p(ceiling)
            relative += copies * (shift * (1.01 + 3.0 * shift) + excess_error) / (1.0 + ceiling)
        gauss = np.exp(-0.5 * (b * omega) ** 2)
        turn = b * b * theta * omega
        modulus = np.exp(log_modulus) * gauss
        value = modulus * np.exp(1j * (phase + turn))
        s = theta + 1j * omega
        above = 1.0 / (s * (s - 1.0))
        shrink = 0.5 * b * b * (1.0 - 2.0 * s)
        below = above + np.expm1(shrink) / (s - 1.0)
        size = np.abs(above) + np.abs(below)
        rounding = 64.0 * U * (1.0 + angles + turn + (b * omega) ** 2)
        bound = np.exp(np.minimum(largest, 700.0)) * gauss * relative
        error = 1.01 * float((bound + rounding * modulus) @ size)
        return np.array(
            [float((value * above).real.sum()), float((value * below).real.sum()),
             float(modulus @ size), error]
        )  # fmt: skip


def _beyond(log_first: float, decay: float) -> float:
    """e^log_first times the sum over k >= 1 of e^(-k decay)."""
    return math.exp(min(log_first - decay, 700.0)) / -math.expm1(-decay)
