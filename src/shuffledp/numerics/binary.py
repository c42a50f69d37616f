"""Certified sums over one binomial: what a data set of two-valued reports leaks.

With N ~ Bin(n, p) reports of the symbol that favours the first hypothesis,

    delta = (exp(log_scale) / n) E[ (N - threshold)+ ].
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.numerics.binomial import TAIL_ERROR, log_mass, tail_ratio
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.logs import log, log1p_exp, log_convex_gap
from shuffledp.numerics.rounding import Array, down, roundings
from shuffledp.numerics.window import chernoff, first_groups, group_masses, quantile

_SUMMED = 8192
_GROUPS = 4096
_CUT = 1e-14
"""Granted to the terms left out: below 1e-15 of the sum (``_depth``)."""
_SUMS = 1e-11
"""Granted to logarithms of sums of groups, whose tails have TAIL_ERROR (numerics.md,
"Rounding by name")."""


def binary_delta(
    n: int, p: float, q: float, log_scale: float, excess: float, room: float
) -> Enclosure:
    """Enclosure of delta.

    ``excess`` = threshold - n p >= 0 and ``room`` = n - threshold, both without cancellation.
    """
    if room <= 0.0:
        return Enclosure(0.0, 0.0)
    trials = float(n)
    if math.sqrt(trials * p * q) < 150.0:
        value, error, rest, log_unit = _summed_excess(trials, p, q, excess, room)
    else:
        rest = 0.0
        t = min(math.floor(trials * p + excess), n - 1)
        at = np.array([float(t)])
        log_at, log_error = log_mass(at, trials, p, q)
        log_unit = float(log_at[0])
        ratio = float(tail_ratio(at, at - (trials - 1.0) * p, trials, p, q)[0])
        value = (trials - t) * p - excess * ratio
        error = (2.0 * TAIL_ERROR + roundings(128.0 * max(excess, 1.0))) * (trials - t) * p
        error += roundings(8.0) * trials * p
        error += max(value, 0.0) * float(log_error[0])
    factor = math.exp(min(log_unit + log_scale, 700.0)) / n
    return Enclosure(
        min(max(value - error, 0.0) * factor, 1.0),
        min(max(value + error + rest, 0.0) * factor + 1e-300, 1.0),
    )


def _summed_excess(
    trials: float, p: float, q: float, excess: float, room: float
) -> tuple[float, float, float, float]:
    """E[(N - threshold)+] term by term: value, error, what is left out, ln of their unit."""
    threshold = trials * p + excess
    high = 2.0 * room < threshold
    if high:  # counted from n: a threshold a hair below n keeps its digits
        first = trials - math.floor(room)
        size = 2.0 * room
    else:
        first = float(min(math.floor(threshold), trials - 1.0))
        size = threshold
    last = quantile(_depth(max(first, 1.0), trials, p, q), 1, trials, p, q)
    last = min(max(last, first + 1.0), first + float(_SUMMED), trials)
    k = np.arange(first, last + 1.0)
    gain = room - (trials - k) if high else k - trials * p - excess
    log_values, errors = log_mass(k, trials, p, q)
    counted = gain > -roundings(8.0) * size
    unit = float(log_values[counted].max())
    mass = np.where(counted, np.exp(np.minimum(log_values - unit, 700.0)), 0.0)
    value = float(np.sum(mass * np.maximum(gain, 0.0)))
    rest = 0.0
    if last < trials:  # beyond the last term masses fall at least geometrically
        ratio = (trials - last) * p / ((last + 1.0) * q)
        beyond = float(gain[-1]) + 1.0
        rest = math.inf if ratio >= 1.0 else float(mass[-1]) * beyond * ratio / (1.0 - ratio) ** 2
    relative = float(errors[counted].max()) + roundings(4.0 * (len(k) + 64.0 + abs(unit))) + _CUT
    error = relative * value + roundings(8.0) * size * float(mass.sum())
    return value, error, rest, unit


def _depth(k: float, trials: float, p: float, q: float) -> float:
    """A Chernoff exponent that leaves out less than 1e-15 of the tail beyond k.

    Pr[k] >= exp(-chernoff(k)) / sqrt(2 trials): Stirling.
    """
    return 41.0 + 1.5 * math.log(2.0 * trials) + chernoff(k, trials, p, q)


def binary_renyi_lower(n: int, p: float, q: float, eps0: float, order: float) -> float:
    """Lower bound of the Rényi divergence, the larger of both directions.

    The first hypothesis' likelihood over the second's is exp(eps0) for the symbol of probability p
    under the second, and exp(-eps0) for the other.
    """
    trials = float(n)
    reach = min(60.0 + (order - 1.0) * eps0, 650.0)
    first, last = (quantile(reach, side, trials, p, q) for side in (-1, 1))
    if last - first < _SUMMED:
        starts = ends = np.arange(first, last + 1.0)
    else:
        starts, ends = first_groups(first, last, _GROUPS)
    log_mass_low = log(group_masses(starts, ends, trials, p, q)[0])
    straddles = (starts < trials * p) & (ends > trials * p)
    moments = []
    for forward in (True, False):
        log_gap = np.minimum(*(_log_gap(k / n, eps0, order, forward) for k in (starts, ends)))
        log_gap[straddles] = -math.inf
        moments.append(float(np.logaddexp.reduce(log_mass_low + log_gap)))
    margin = _SUMS + roundings(256.0 * order) / (order - 1.0)
    return max(down(log1p_exp(max(moments)) / (order - 1.0), margin), 0.0)


def _log_gap(share: Array, eps0: float, order: float, forward: bool) -> Array:
    """ln of s^order t^(1-order) - order s - (1-order) t, {s, t} = {mean ratio, 1}."""
    if eps0 < 1.0:
        log_ratio = np.log1p(math.expm1(eps0) * share + math.expm1(-eps0) * (1.0 - share))
    else:
        log_ratio = np.log(math.exp(eps0) * share + math.exp(-eps0) * (1.0 - share))
    if forward:
        return log_convex_gap(log_ratio, order)
    return log_ratio + log_convex_gap(-log_ratio, order)
