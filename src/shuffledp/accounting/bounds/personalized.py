"""Unequal budgets, soundly: a common blanket above, tests on concrete data sets below.

delta(eps) <= E_M[(1/(M+1)) E(L_1 + ... + L_(M+1))+], L = (a - e b) / omega, M = sum of
Bern(gamma_i) over the others, where every other report law is at least gamma_i omega.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.bounds.blanket import blanket_curve, dataset
from shuffledp.accounting.bounds.identity import delta_upper
from shuffledp.accounting.bounds.scopes import known_law
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import Curve, ProfileCurve, PureEnd, SearchLimit
from shuffledp.accounting.randomizers import Randomizer, VictimPair
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.enclosure import QUICK, Enclosure
from shuffledp.numerics.frequencies import product
from shuffledp.numerics.lattice_sum import SumLaw, sum_law
from shuffledp.numerics.rounding import FORMULA, SUMS, Array, down, roundings, up
from shuffledp.numerics.search import bisect
from shuffledp.numerics.stochastic import DominatingBinomial

_WIDTH, _QUICK_WIDTH = 1e-3, 1e-2
_LEVELS = 24
_HEAVY = 8.0
_LIMIT = SearchLimit(600.0)
"""As far as exponentials are formed."""


@dataclass(frozen=True)
class PersonalCurve(ProfileCurve):
    """Where epsilon is known to be ``near`` something it is searched from there, in few steps."""

    near: float = 0.0

    def epsilon(self, delta: float) -> float:
        """What the search leaves over is at most 3e-3 in delta;
        where it fails the slow one answers."""
        goal = math.log(delta)
        x, slope = min(self.near, 0.9 * self.searched.epsilon), -16.0  # d ln delta / d ln epsilon
        previous: tuple[float, float] | None = None
        for _ in range(10 if self.near > 0.0 else 0):
            y = math.log(max(self.delta(x), 1e-300)) - goal
            if -3e-3 <= y <= 0.0:
                return x
            if previous is not None and previous[0] != x:
                found = (y - previous[1]) / math.log(x / previous[0])
                slope = min(max(found, -200.0), -2.0)
            previous = (x, y)
            x = x * math.exp(min(max(-(y + 1.5e-3) / slope, -0.7), 0.7))
            if not 0.0 < x < self.searched.epsilon:
                break
        return self.searched_epsilon(delta)

    def searched_epsilon(self, delta: float) -> float:
        """As of any profile."""
        return super().epsilon(delta)


def personal_curve(
    pairs: list[VictimPair], crowd: DominatingBinomial, end: PureEnd, near: float = 0.0
) -> PersonalCurve:
    """The upper bound for a victim with these pairs among a crowd that this binomial dominates."""
    share = crowd.p if crowd.trials else 1.0
    shrunk = [replace(pair, outcomes=pair.outcomes.shrunk(share)) for pair in pairs]
    cases = [outcomes for pair in shrunk for outcomes in pair.ways]

    @lru_cache(maxsize=256)
    def profile(epsilon: float, width: float) -> Enclosure:
        engine = _QUICK_WIDTH if width >= QUICK else _WIDTH
        value = max(delta_upper(case, crowd.trials + 1, epsilon, engine) for case in cases)
        value = min(up(value * crowd.factor, FORMULA) + crowd.extra, 1.0)
        return Enclosure(value, value)

    return PersonalCurve(profile, end, limit=_LIMIT, near=near)


def spread(outcomes: Outcomes) -> float:
    """E[L^2] at epsilon = 0: what a reference costs; the number of clones is what it brings."""
    return float(((outcomes.first - outcomes.second) ** 2 / outcomes.base).sum())


def score_test(
    first: Array, second: Array, others: Array, counts: NDArray[np.int64], epsilon: float
) -> float:
    """Lower bound of delta(epsilon) for one data set, by its most telling sum of scores.

    ``first`` and ``second`` are the victim's masses of common outcomes, ``others`` one row per
    class of the others. Each outcome gets a whole score near V = (first - e second) / mean row;
    the sum of all scores is a function of the shuffled reports, its law is known, and the
    divergence of that law is at most delta.
    """
    if epsilon > _LIMIT.epsilon:
        return 0.0
    e = math.exp(epsilon)
    n = int(counts.sum())
    if n == 0:
        total = float(np.maximum(first - e * second, 0.0).sum())
        return max(down(total, FORMULA) - 1e-15, 0.0)
    pooled = (counts @ others) / n
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = np.where(pooled > 0.0, (first - e * second) / pooled, 0.0)
    value = np.clip(value, -1e100, 1e100)
    most = _HEAVY * (1.0 + e) * math.sqrt(n)  # a report beyond decides nearly alone
    found = _scored(value, pooled, first, second, others, counts, epsilon)
    if float(np.abs(value).max()) <= most:
        return found
    cut = np.clip(value, -most, most)
    return max(found, _scored(cut, pooled, first, second, others, counts, epsilon))


def _scored(
    value: Array,
    pooled: Array,
    first: Array,
    second: Array,
    others: Array,
    counts: NDArray[np.int64],
    epsilon: float,
) -> float:
    """The test whose scores are these values, rounded to a few levels."""
    n = int(counts.sum())
    mean = float(value @ pooled)
    sd = math.sqrt(max(float((value - mean) ** 2 @ pooled), 1e-300))
    low, high = max(float(value.min()), mean - 8.0 * sd), min(float(value.max()), mean + 8.0 * sd)
    if not high > low:
        return 0.0
    step = (high - low) / _LEVELS
    # the commonest outcome gets a whole score: its rounding would be repeated most often
    common = min(max(float(value[int(np.argmax(pooled))]), low), high)
    score = np.rint((np.clip(value, low, high) - common) / step).astype(np.int64)
    zero = common - step * float(-score.min())
    score -= score.min()
    merge = np.zeros((score.size, int(score.max()) + 1))
    merge[np.arange(score.size), score] = 1.0
    rows, a, b = product(others, merge), first @ merge, second @ merge
    theta = _tilt(pooled @ merge, -zero / step * (n + 1) / n)
    return statistic_delta(sum_law(rows, counts, theta), a, b, epsilon)


def _tilt(row: Array, target: float) -> float:
    """theta such that the tilted mean score is the target, within reason."""
    levels = np.arange(row.size, dtype=np.float64)

    def below(theta: float) -> bool:
        weight = row * np.exp(theta * (levels - levels.size))
        return float(levels @ weight) < target * float(weight.sum())

    return bisect(below, -4.0, 4.0, halvings=50).good


def statistic_delta(law: SumLaw, a: Array, b: Array, epsilon: float) -> float:
    """sum_t (P_t - e Q_t)+ for the others' sum plus the victim's score, rounded down."""
    if epsilon > _LIMIT.epsilon:
        return 0.0
    e = math.exp(epsilon)
    exponent = law.log_scale - law.theta * (law.start + np.arange(law.values.size))
    peak = float(np.max(exponent + np.log(np.maximum(law.values, 1e-300))))
    with np.errstate(under="ignore", over="ignore"):
        weight = np.exp(np.minimum(exponent - peak, 600.0))
        value = np.maximum(law.values, 0.0) * weight
        error = (
            law.error * weight
            + roundings(128) * (1.0 + np.abs(exponent) + abs(law.log_scale)) * value
        )
        gain = np.convolve(value, a - e * b)
        loss = np.convolve(error + roundings(64.0 * a.size) * value, a + e * b)
    # the last places of each end lack terms from outside the window
    edge = a.size
    inside = slice(0, None) if law.outside == 0.0 else slice(edge, gain.size - edge)
    total = float(np.maximum(gain[inside] - up(loss[inside], SUMS), 0.0).sum())
    return min(down(total * math.exp(min(peak, 0.0)), SUMS), 1.0) if total > 0.0 else 0.0


@bound(
    Theorem(
        id="personal-blanket",
        citation="ours, after Balle, Bell, Gascón, Nissim 2019",
        statement="delta(eps) <= E_M[(1/(M+1)) E(L_1+...+L_(M+1))+], L = (a - e b)/omega,"
        " M = sum Bern(gamma_i), R_i >= gamma_i omega",
        validity="randomizers of a known law, a budget per user,"
        " budgets not visible beside the reports",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/personalized.md",
    ),
    known_law,
    asked_of=False,
)
def personal_blanket(randomizer: Randomizer, n: int) -> Curve:
    """Equal budgets: the blanket bound."""
    return blanket_curve(randomizer, n)


@bound(
    Theorem(
        id="personal-dataset",
        citation="exact computation",
        statement="what a data set leaks through the best sum of scores: all others at one value,"
        " each with an own budget",
        validity="randomizers of a known law, a budget per user",
        status=Status.FIXED_PAIR,
        direction=Direction.LOWER,
        proof="proofs/personalized.md",
    ),
    known_law,
    asked_of=False,
)
def personal_dataset(randomizer: Randomizer, n: int) -> Curve:
    """Equal budgets: the usual data sets, exactly."""
    return dataset.curve(randomizer, n)
