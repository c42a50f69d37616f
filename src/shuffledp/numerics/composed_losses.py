"""Certified hockey-stick divergence of many independent rounds.

A round is a pair of measures with finitely many privacy losses l: second mass q, first mass q e^l,
and ``revealing`` first mass where the second has none. With S the sum of all losses under the
second law and x = S - epsilon,

    delta(epsilon) = e^epsilon E[(e^x - 1)+] + 1 - product of (1 - revealing).

As in `positive_part` one formula does the work (docs/proofs/composition.md): for b > 0 the
functions F(x) = E(e^(x+bZ) - 1)+ and G(x) = (e^x - 1) Phi(x/b) enclose (e^x - 1)+ and have Gaussian
Fourier decay, so Poisson summation turns both expectations into short sums of products of moment
generating functions, whatever the number of rounds. Losses need no lattice, masses no transform.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.frequencies import (
    LOG_FLOOR,
    MAX_EXPONENT,
    Measure,
    Product,
    narrowed,
    scaled,
    shortest,
)
from shuffledp.numerics.rounding import BELOW_ONE, FORMULA, Array, all_orders, down, roundings, up
from shuffledp.numerics.search import bisect

_MAX_FREQUENCIES = 1 << 17
_MAX_ENUMERATED = 100_000


@dataclass(frozen=True, eq=False)
class Losses:
    """One round, taken as exact: increasing losses, their second masses,
    the revealing first mass."""

    values: Array
    masses: Array
    revealing: float

    @cached_property
    def log_first_mass(self) -> float:
        """ln of the whole first mass, 0 but for rounding and what was left out."""
        return math.log(math.fsum((self.masses * np.exp(self.values)).tolist()) + self.revealing)

    @cached_property
    def second(self) -> Measure:
        """The losses under the second law."""
        lost = -math.fsum([*self.masses.tolist(), -1.0])
        there = self.masses > 0.0
        return Measure(self.values[there], self.masses[there], lost, 0.0)

    def without_tail(self, spare: float, upper: bool) -> Losses:
        """The largest losses, together of at most ``spare`` first mass, revealing or left out.

        The first can only raise delta, the second only lower it; what is left has a short tail.
        """
        first = up(np.cumsum((self.masses * np.exp(self.values))[::-1])[::-1], FORMULA)
        keep = first > spare
        if keep.all():
            return self
        lost = float(first[~keep][0])
        known = min(self.revealing + lost, 1.0) if upper else self.revealing
        return Losses(self.values[keep], self.masses[keep], known)


Rounds = Sequence[tuple[Losses, int]]
"""Rounds and how often each is repeated."""


def revealing(rounds: Rounds) -> float:
    """1 - product of (1 - revealing mass), to a few units of roundoff."""
    return -math.expm1(
        math.fsum(count * math.log1p(-min(part.revealing, BELOW_ONE)) for part, count in rounds)
    )


def composed_delta(rounds: Rounds, epsilon: float, width: float = 1e-3) -> Enclosure:
    """Enclose delta(epsilon) of all rounds together; ``width`` is the relative width aimed at."""
    certain = revealing(rounds)
    finite = _finite_part([(part, count) for part, count in rounds], epsilon, width, certain)
    return Enclosure(
        max(down(certain, roundings(16)) + finite.lower, 0.0),
        up(certain, roundings(16)) + finite.upper,
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
        return _Total(rounds, epsilon).enclose(width, known)


def enumerable(rounds: Rounds) -> bool:
    """Whether every combination of losses can be listed."""
    return (
        math.prod(math.comb(count + part.values.size - 1, count) for part, count in rounds)
        <= _MAX_ENUMERATED
    )


def _enumerated(rounds: list[tuple[Losses, int]], epsilon: float) -> Enclosure:
    """Every combination of losses."""
    sums, mass, blur, error = _combinations(tuple(rounds))
    error += roundings(64) * (8.0 + float(np.abs(sums).max(initial=0.0)) + epsilon)
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
        blur += roundings(2.0 * terms) * count * float(np.abs(part.values).max())
        size = 8.0 + 2.0 * math.lgamma(count + 1.0) + count * float(np.abs(weights).max())
        error += roundings(16.0 * terms) * size
    return sums, np.exp(log_masses + sums), blur, error


def _draws(values: Array, weights: Array, count: int) -> tuple[int, Array, Array]:
    """How many terms a sum has; sums of ``count`` values in any order, and ln of their masses."""
    kinds = values.size
    factorials = np.array([math.lgamma(j + 1.0) for j in range(count + 1)])
    if count > kinds:
        counts = _multisets(kinds, count)
        log_mass = factorials[count] - factorials[counts].sum(axis=1) + counts @ weights
        return kinds, counts @ values, log_mass
    last, run = np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp)
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


def _multisets(kinds: int, count: int) -> NDArray[np.intp]:
    """All ways to draw ``count`` of ``kinds``, one row of counts each."""
    rows = np.zeros((1, 0), dtype=np.intp)
    left = np.array([count])
    for _ in range(kinds - 1):
        repeats = left + 1
        starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
        taken = np.arange(starts.size) - starts
        rows = np.column_stack([np.repeat(rows, repeats, axis=0), taken])
        left = np.repeat(left, repeats) - taken
    return np.column_stack([rows, left])


class _Excess:
    """The payoff (e^x - 1)+: F^ = 1/(s(s-1)), G^ = e^(b^2 (1-2s)/2)/(s-1) - 1/s (composition.md,
    section 4)."""

    cut = 7.0

    def centre(self, theta: float, b: float) -> tuple[float, float]:
        gap = theta - 1.0
        return 1.0 / (theta * gap), -math.expm1(0.5 * b * b * (1.0 - 2.0 * theta)) / gap

    def sums(
        self, theta: float, b: float, omega: Array, re: Array, im: Array
    ) -> tuple[Array, Array]:
        above, kernel = self._transforms(theta, b, omega)
        phi = re + 1j * im
        return (phi * above).real.sum(axis=-1), (phi * kernel).real.sum(axis=-1)

    def size(self, theta: float, b: float, omega: Array) -> Array:
        above, kernel = self._transforms(theta, b, omega)
        return np.abs(above) + np.abs(kernel)

    def _transforms(
        self, theta: float, b: float, omega: Array
    ) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        s = np.asarray(theta + 1j * omega, dtype=np.complex128)
        return 1.0 / (s * (s - 1.0)), -np.expm1(0.5 * b * b * (1.0 - 2.0 * s)) / (s - 1.0)

    def beyond(self, b: float, first: float) -> float:
        """|F^| and |G^| are at most 2 / omega."""
        steep = all_orders(math.exp(-0.5 * (b * first) ** 2) * 2.0 / (b * first) ** 2)
        return min(steep, 2.52 / (b * first))  # sqrt(pi / 2) < 1.26


_EXCESS = _Excess()


class _Total:
    """The sum S of all losses, less epsilon, tilted by theta > 1."""

    def __init__(self, rounds: list[tuple[Losses, int]], epsilon: float) -> None:
        self.parts = [(part.second, count) for part, count in rounds]
        self.epsilon = epsilon
        self.theta = self._saddle()
        self.transform = Product(self.parts, self.theta, epsilon)

    def _saddle(self) -> float:
        """Roughly the theta > 1 that minimises the integrand at the real axis; any is valid."""
        reach = max(float(part.v[-1]) for part, _ in self.parts)
        span = max(float(np.abs(part.v).max()) for part, _ in self.parts)
        highest = min(MAX_EXPONENT / max(reach, 1e-12), MAX_EXPONENT / max(0.25 * span, 1e-12))

        def left(log_gap: float) -> bool:
            gap = math.exp(log_gap)
            theta = 1.0 + gap
            mean = math.fsum(count * part.tilted_mean(theta) for part, count in self.parts)
            return mean - self.epsilon <= 1.0 / theta + 1.0 / gap

        found = bisect(left, math.log(1e-9), math.log(max(highest, 1.5)), halvings=20)
        return 1.0 + math.exp(found.good)

    def enclose(self, width: float, known: float) -> Enclosure:
        """e^epsilon E[(e^(S - epsilon) - 1)+], next to ``known``."""
        theta, gap, transform = self.theta, self.theta - 1.0, self.transform
        # units of e^epsilon M(theta) e^(-theta epsilon) from here
        log_unit = transform.log_m + self.epsilon
        bound = math.exp(gap * math.log(gap) - theta * math.log(theta))
        bound = up(bound, roundings(64.0 * theta))
        if log_unit + math.log(bound) < LOG_FLOOR:
            return Enclosure(0.0, 1e-299)
        offset = known * math.exp(min(-log_unit, 600.0))
        estimate = 1.0 / (theta * math.sqrt(2.0 * math.pi * (2.0 + (gap * transform.sd) ** 2)))
        estimate = max(min(estimate, bound), 1e-6 * bound)
        most = Enclosure(0.0, bound)
        best = narrowed(
            transform, _EXCESS, self._window, most, estimate, offset, width, _MAX_FREQUENCIES
        )
        error = transform.log_m_error + roundings(2) * abs(log_unit)
        return Enclosure(
            scaled(best.lower, log_unit - error, -1),
            scaled(best.upper, log_unit + error, 1) + 1e-299,
        )

    def _window(self, target: float) -> tuple[float, float]:
        """Frequency step 2 pi / P, and a bound (about ``target``) on the share of k P, k != 0."""
        theta, gap = self.theta, self.theta - 1.0
        log_target = math.log(target)
        log_mass = float(self.transform.log_growth(np.ones(1), exact=True)[0])
        left = max(log_mass - log_target + 1.0, 1.0) / gap  # k >= 1: (e^x - 1)+ <= e^x
        # k <= -1: none beyond the range of S, else Chernoff: (e^x - 1)+ <= e^((theta + more) x)
        top = math.fsum(count * float(part.v[-1]) for part, count in self.parts)
        period, more, log_bound = up(top - self.epsilon, 0.01) + 1e-9, math.inf, 0.0
        mores = np.geomspace(0.3, 40.0, 9) / max(self.transform.sd, 1e-3 / theta)
        limit = 1.1 * MAX_EXPONENT / max(float(part.v[-1]) for part, _ in self.parts)
        if (mores := mores[theta + mores <= limit]).size:
            found = shortest(mores, self.transform.log_growth(theta + mores), log_target)
            period, more, log_bound = min((period, more, log_bound), found)
        period = max(left, period)
        alias = _beyond(log_mass, gap * period) + _beyond(log_bound, more * period)
        return 2.0 * math.pi / period, all_orders(alias)


def _beyond(log_first: float, decay: float) -> float:
    """e^log_first times the sum over k >= 1 of e^(-k decay)."""
    return math.exp(min(log_first - decay, 700.0)) / -math.expm1(-decay)
