"""A binomial that stands in, on the safe side, for a sum of different coin flips.

For M = sum of Bern(p_i) and every non-increasing h with 0 <= h <= 1,

    E h(M) <= factor * E h(Bin(trials, p)) + extra,

because E h(M) = sum_m (h(m) - h(m+1)) Pr[M <= m]: it is enough that Pr[M <= m] is at most
factor * Pr[Bin <= m] + extra for all m, and that is checked place by place on certified
distribution functions. So the engine for equal users serves unequal ones at no more cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.numerics.binomial import log_mass
from shuffledp.numerics.lattice_sum import sum_law
from shuffledp.numerics.rounding import FORMULA, SUMS, Array, down, roundings, up

_CENTRES = (-3.5, -7.0, -10.5, -14.0)
"""Standard deviations below the mean at which the law is computed again, for relative accuracy."""
_ACCURATE = 3e-4
_SHIFTS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)
_SPREADS = (1.0, 1.001, 1.003, 1.01, 1.03, 1.1)
_SLOPE = 0.3
"""How much ln h may fall over one standard deviation of M: steers the choice, no more."""
_MOST_TRIALS = 10**11


@dataclass(frozen=True)
class DominatingBinomial:
    """E h(M) <= factor E h(Bin(trials, p)) + extra for non-increasing h in [0, 1]."""

    trials: int
    p: float
    factor: float
    extra: float


def dominating_binomial(p: Array, counts: NDArray[np.int64]) -> DominatingBinomial:
    """The closest binomial stand-in for the sum of counts[i] coins of bias p[i], all i."""
    keep = (p > 0.0) & (counts > 0)
    p, counts = p[keep], counts[keep]
    if p.size == 0:
        return DominatingBinomial(0, 0.5, 1.0, 0.0)
    if float(p.min()) == float(p.max()):
        return DominatingBinomial(int(counts.sum()), min(float(p[0]), 1.0), 1.0, 0.0)
    first, upper, below = distribution_upper(p, counts)
    weights = counts.astype(np.float64)
    mean = math.fsum((weights * p).tolist())
    variance = math.fsum((weights * p * (1.0 - p)).tolist())
    sd = math.sqrt(max(variance, 1e-30))
    best: DominatingBinomial | None = None
    best_score = math.inf
    for spread in _SPREADS:
        for shift in _SHIFTS:
            target = mean - shift * sd
            if target <= 0.0 or _SLOPE * shift >= best_score:
                continue
            found = _compare(first, upper, below, target, variance * spread)
            score = math.log(found.factor) + _SLOPE * shift + found.extra
            if score < best_score:
                best, best_score = found, score
    smallest = DominatingBinomial(int(counts.sum()), float(p.min()), 1.0, 0.0)
    return smallest if best is None else best


def distribution_upper(p: Array, counts: NDArray[np.int64]) -> tuple[int, Array, float]:
    """First place, upper bounds of Pr[M <= place] from there on, and of Pr[M < first place]."""
    masses = np.stack([1.0 - p, p], axis=1)
    weights = counts.astype(np.float64)
    variance = math.fsum((weights * p * (1.0 - p)).tolist())
    law = sum_law(masses, counts)
    below, first = 0.0, law.start
    low, high = law.bounds()
    if law.outside:
        laws = [law]
        for centre in _CENTRES:
            theta = centre / math.sqrt(max(variance, 1.0))
            if theta > -1.0:
                laws.append(sum_law(masses, counts, theta))
        first = min(each.start for each in laws)
        size = law.start + high.size - first
        low, high = np.zeros(size), np.ones(size)
        for each in laws:
            least, most = each.bounds()
            here = slice(each.start - first, min(each.start - first + most.size, size))
            low[here] = np.maximum(low[here], least[: here.stop - here.start])
            high[here] = np.minimum(high[here], most[: here.stop - here.start])
        # below the last place of poor accuracy left of the mode only the total is kept
        left = slice(int(np.argmax(high)))
        poor = np.flatnonzero(high[left] > up(low[left], _ACCURATE))
        if poor.size:
            cut = int(poor[-1]) + 1
            first, high = first + cut, high[cut:]
        below = _left_tail(p, weights, first)
    total = np.minimum(up(below + np.cumsum(high), SUMS), 1.0)
    return first, total, up(below, SUMS)


def _left_tail(p: Array, weights: Array, first: int) -> float:
    """Chernoff bound of Pr[M < first]."""
    if first <= 0:
        return 0.0
    best = 0.0
    mean = math.fsum((weights * p).tolist())
    variance = math.fsum((weights * p * (1.0 - p)).tolist())
    guess = (mean - first + 1.0) / max(variance, 1.0)
    for scale in (0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.8, 2.5):
        theta = -guess * scale
        terms = weights * np.log1p(p * math.expm1(theta))
        exponent = math.fsum(terms.tolist()) - theta * (first - 1.0)
        exponent += roundings(32) * (float(np.abs(terms).sum()) + abs(theta) * first)
        best = min(best, exponent)
    return math.exp(best)


def _compare(
    first: int, upper: Array, below: float, mean: float, variance: float
) -> DominatingBinomial:
    """The binomial of about this mean and variance, and what it lacks."""
    p = min(max(1.0 - variance / mean, 1e-9), 1.0)
    trials = min(max(math.ceil(mean / p), 1), _MOST_TRIALS)
    p = min(mean / trials, down(1.0, FORMULA))
    start = max(0, first - math.ceil(8.0 * math.sqrt(variance)) - 8)
    places = np.arange(start, first + upper.size, dtype=np.float64)
    inside = places <= trials
    values, error = log_mass(np.minimum(places, trials), float(trials), p, 1.0 - p)
    with np.errstate(under="ignore"):
        mass = np.where(inside, down(np.exp(values - error), roundings(90)), 0.0)
    lower = down(np.cumsum(mass)[first - start :], roundings(2 * places.size))
    lower = np.where(places[first - start :] >= trials, 1.0, np.minimum(lower, 1.0))
    # where the bound on M has run into its own accuracy nothing but a constant can be said
    usable = lower > 1e-280
    # Pr[M < first] stands for all smaller places
    extra = below
    if not usable.all():
        extra = max(extra, float(upper[~usable].max()))
    ratios = upper[usable] / lower[usable]
    beyond = 1.0 / float(lower[-1]) if lower[-1] > 0.0 else math.inf
    factor = up(max(1.0, float(ratios.max(initial=1.0)), beyond), SUMS)
    return DominatingBinomial(trials, p, factor, up(extra, SUMS))
