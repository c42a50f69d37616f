"""From a privacy profile delta(eps) to the trade-off function and to Rényi divergences."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shuffledp.accounting.curves.ends import End, PureEnd
from shuffledp.numerics.enclosure import FINE, QUICK, SEARCH, Enclosure
from shuffledp.numerics.logs import complement_above, log1p_exp
from shuffledp.numerics.rounding import roundings
from shuffledp.numerics.search import peak

Profile = Callable[[float, float], Enclosure]
"""(epsilon, width wanted) -> enclosure of delta, falling and convex in exp(epsilon)."""

_STEEPEST = 690.0
_FLAT = 0.05
"""So near its place, in deviations of a loss, the largest value is missed by next to nothing."""


def tradeoff_from_profile(
    second: Profile, first: Profile, alpha: float, end: End, certain: float = 0.0
) -> Enclosure:
    """Enclose T(P, Q)(alpha) from second = H(Q||P) and first = H(P||Q), functions of eps.

    T(P, Q)(alpha) is the maximum over all t > 0 of g(t) = 1 - H_t(Q||P) - t alpha, which is
    concave, and H_t(Q||P) = 1 - t + t H_{1/t}(P||Q) reaches t < 1. The lower end is attained at an
    evaluated t; the upper end follows by extending chords. If both profiles vanish at a pure end
    the maximum lies in exp(-end) <= t <= exp(end); otherwise steeper slopes count with 1 -
    ``certain`` - t alpha, ``certain`` being what is left of H(Q||P) at every slope, and flatter
    ones with t.
    """
    if alpha >= 1.0:
        return Enclosure(0.0, 0.0)
    top = min(end.epsilon, _STEEPEST)  # slopes that overflow are not tried
    beyond = 0.0
    if not isinstance(end, PureEnd) or end.epsilon > _STEEPEST:
        beyond = max(1.0 - certain - math.exp(top) * alpha, math.exp(-top))

    def g(x: float, width: float) -> Enclosure:
        delta = second(x, width) if x >= 0.0 else first(-x, width)
        t = math.exp(x)
        keep, lose = (1.0, t * alpha) if x >= 0.0 else (t, t * alpha)
        blur = roundings(8) * (keep + lose)
        return Enclosure(
            keep * (1.0 - delta.upper) - lose - blur, keep * (1.0 - delta.lower) - lose + blur
        )

    deviation = 2.5 * second(0.0, QUICK).upper  # about that of a loss
    best = peak(
        lambda x: g(x, QUICK).middle, *_around(lambda x: g(x, QUICK).middle, deviation, top)
    )
    result = _ceiling(lambda x: g(x, FINE), best, top)
    slack = 1e-15
    return Enclosure(
        min(max(result.lower - slack, 0.0), 1.0 - alpha),
        min(max(result.upper + slack, beyond), float(complement_above(max(certain, alpha)))),
    )


def tradeoff_below(profile: Profile, alpha: float, end: PureEnd) -> float:
    """At most T(alpha), by few evaluations of a profile that is above both directions.

    As in ``tradeoff_from_profile``, 1 - H_t - t alpha at any t will do: the largest found.
    """
    if alpha >= 1.0:
        return 0.0

    def g(x: float, width: float) -> float:
        keep = min(math.exp(x), 1.0)
        value = keep * (1.0 - profile(abs(x), width).upper) - math.exp(x) * alpha
        return value - roundings(8) * (keep + math.exp(x) * alpha)

    top = min(end.epsilon, _STEEPEST)
    deviation = 2.5 * profile(0.0, QUICK).upper
    ends = _around(lambda x: g(x, QUICK), deviation, top)
    best = peak(lambda x: g(x, QUICK), *ends, apart=_FLAT * deviation)
    return min(max(g(best, FINE), 0.0), 1.0 - alpha)


def _around(f: Callable[[float], float], step: float, top: float) -> tuple[float, float]:
    """A bracket of the maximum of f, rising then falling: steps from 0, doubled each time."""
    step = min(max(step, 1e-12 * top), top)
    if top <= 0.0:
        return 0.0, 0.0
    middle, left, right = f(0.0), f(-step), f(step)
    if middle >= max(left, right):
        return -step, step
    sign, value = (1.0, right) if right > left else (-1.0, left)
    before, at = 0.0, step
    while at < top:
        following = min(2.0 * at, top)
        if (value_there := f(sign * following)) <= value:
            return min(sign * before, sign * following), max(sign * before, sign * following)
        before, at, value = at, following, value_there
    return min(sign * before, sign * top), max(sign * before, sign * top)


def _ceiling(f: Callable[[float], Enclosure], best: float, top: float) -> Enclosure:
    """Enclose the maximum of f, concave in t = exp(x), from three evaluations around ``best``."""
    step = max(2e-3 * abs(best), 1e-9)
    centre = f(best)
    while True:
        left, right = max(best - step, -top), min(best + step, top)
        low, high = f(left), f(right)
        bracketed = low.upper <= centre.lower and high.upper <= centre.lower
        if bracketed or (left == -top and right == top):
            break
        step *= 4.0
    before = math.exp(best) - math.exp(left)
    after = math.exp(right) - math.exp(best)
    lower = max(centre.lower, low.lower, high.lower)
    if before <= 0.0 or after <= 0.0:  # the maximum sits at an end, where f is known to turn
        return Enclosure(lower, max(centre.upper, low.upper, high.upper))
    rise = max(centre.upper - low.lower, 0.0) / before
    fall = max(centre.upper - high.lower, 0.0) / after
    return Enclosure(
        lower, max(centre.upper + max(rise * after, fall * before), low.upper, high.upper)
    )


def renyi_from_profile(
    second: Profile, first: Profile, order: float, end: PureEnd, lower: bool = False
) -> float:
    """Upper (or lower) bound of D_order(P||Q) from profiles that vanish from ``end`` on.

    exp((L-1) D) = 1 + L(L-1) * integral over t >= 1 of t^(L-2) H_t(P||Q) + t^(-L-1) H_t(Q||P):
    the profiles are convex in t, so the chord between two evaluations lies above them; they fall,
    so the value at the right end of a step lies below.
    """
    top = end.epsilon
    if top > _STEEPEST and not lower:
        return top
    nodes = _nodes(first, min(top, _STEEPEST))
    total = -math.inf
    for profile, exponent in ((first, order - 2.0), (second, -order - 1.0)):
        total = float(np.logaddexp(total, _log_integral(profile, nodes, exponent, lower)))
    log_moment = total + math.log(order * (order - 1.0)) + (-1e-9 if lower else 1e-9)
    value = log1p_exp(log_moment) / (order - 1.0)
    return min(value if lower else math.nextafter(value, math.inf), top)


def _log_integral(profile: Profile, nodes: list[float], exponent: float, lower: bool) -> float:
    """ln of the integral of t^exponent times the profile, from one side.

    Once the profile is so small that all the rest is at most 1e-9 of the integral, its last value
    (or 0) stands for the rest: evaluations deep in the tail are the dear ones.
    """
    end = nodes[-1]
    total = -math.inf
    value = profile(nodes[0], SEARCH)
    for i in range(len(nodes) - 1):
        a, b = math.expm1(nodes[i]), math.expm1(nodes[i + 1])
        rest = math.log(max(value.upper, 1e-300)) + max(exponent, 0.0) * end + end
        if rest < total - 21.0:
            held = 0.0 if lower else value.upper
            return float(
                np.logaddexp(total, _log_chord(a, math.expm1(end), held, held, exponent, lower))
            )
        following = profile(nodes[i + 1], SEARCH)
        ends = (following.lower,) * 2 if lower else (value.upper, following.upper)
        total = float(np.logaddexp(total, _log_chord(a, b, *ends, exponent, lower)))
        value = following
    return total


def _nodes(profile: Profile, top: float) -> list[float]:
    """Evaluation points: dense while delta is of its own size, then up to where it vanishes."""
    start = profile(0.0, QUICK).upper
    scale = top
    while scale > 1e-14 * top and profile(scale / 2.0, QUICK).upper < 1e-3 * start:
        scale /= 2.0
    inner = [scale * k / 160.0 for k in range(160)]
    outer = [scale * (top / scale) ** (k / 60.0) for k in range(61)] if scale < top else [top]
    return sorted(set(inner + outer))


def _log_chord(a: float, b: float, high: float, low: float, exponent: float, lower: bool) -> float:
    """ln of the integral over 1+a <= t <= 1+b of t^exponent times the chord from high to low."""
    size = max(high, low)
    if b <= a or size <= 0.0:
        return -math.inf
    reference = exponent * math.log1p(b if exponent > 0.0 else a)
    steps = 1 + min(int(abs(exponent) * (math.log1p(b) - math.log1p(a)) / 0.02), 10_000)
    share = np.arange(steps + 1.0) / steps
    logs, chord = np.log1p(a + (b - a) * share), high / size + (low - high) / size * share
    # t^exponent at its larger (smaller) value on each short piece
    at = exponent * (logs[1:] if (exponent > 0.0) != lower else logs[:-1]) - reference
    total = float(np.sum(np.exp(at) * (chord[1:] + chord[:-1]))) * 0.5 * (b - a) / steps
    return reference + math.log(size) + math.log(total) if total > 0.0 else -math.inf
