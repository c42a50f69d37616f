"""From a privacy profile delta(eps) to the trade-off function and to Rényi divergences."""

from __future__ import annotations

import math
from collections.abc import Callable

from shuffledp.numerics.enclosure import FINE, QUICK, Enclosure

Profile = Callable[[float, float], Enclosure]
"""(epsilon, width wanted) -> enclosure of delta, falling and convex in exp(epsilon)."""

_STEEPEST = 690.0
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


def tradeoff_from_profile(second: Profile, first: Profile, alpha: float, top: float) -> Enclosure:
    """Enclose T(P, Q)(alpha) from second = H(Q||P) and first = H(P||Q), functions of eps.

    T(P, Q)(alpha) is the maximum over all t > 0 of g(t) = 1 - H_t(Q||P) - t alpha, which is concave,
    and H_t(Q||P) = 1 - t + t H_{1/t}(P||Q) reaches t < 1. The lower end is attained at an evaluated
    t; the upper end follows by extending chords. Both profiles vanish at eps >= ``top``, so the
    maximum lies in exp(-top) <= t <= exp(top).
    """
    if alpha >= 1.0:
        return Enclosure(0.0, 0.0)
    beyond = top > _STEEPEST and alpha < 1e-290  # slopes that overflow are not tried
    top = min(top, _STEEPEST)

    def g(x: float, width: float) -> Enclosure:
        delta = second(x, width) if x >= 0.0 else first(-x, width)
        t = math.exp(x)
        keep, lose = (1.0, t * alpha) if x >= 0.0 else (t, t * alpha)
        return Enclosure(keep * (1.0 - delta.upper) - lose, keep * (1.0 - delta.lower) - lose)

    best = _peak(lambda x: g(x, QUICK), -top, top)
    result = _ceiling(lambda x: g(x, FINE), best, top)
    slack = 1e-15
    return Enclosure(
        min(max(result.lower - slack, 0.0), 1.0 - alpha),
        1.0 - alpha if beyond else min(max(result.upper + slack, 0.0), 1.0 - alpha),
    )


def _peak(f: Callable[[float], Enclosure], low: float, high: float) -> float:
    """Golden-section search for the maximum of a unimodal function."""

    def middle(x: float) -> float:
        value = f(x)
        return 0.5 * (value.lower + value.upper)

    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    fa, fb = middle(a), middle(b)
    while high - low > 1e-4 * max(abs(low), abs(high)):
        if fa >= fb:
            high, b, fb = b, a, fa
            a = high - _GOLDEN * (high - low)
            fa = middle(a)
        else:
            low, a, fa = a, b, fb
            b = low + _GOLDEN * (high - low)
            fb = middle(b)
    return 0.5 * (low + high)


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
    second: Profile, first: Profile, order: float, top: float, lower: bool = False
) -> float:
    """Upper (or lower) bound of D_order(P||Q) from profiles that vanish at eps >= ``top``.

    exp((L-1) D) = 1 + L(L-1) * integral over t >= 1 of t^(L-2) H_t(P||Q) + t^(-L-1) H_t(Q||P):
    the profiles are convex in t, so the chord between two evaluations lies above them; they fall,
    so the value at the right end of a step lies below.
    """
    nodes = _nodes(first, top)
    points = [math.expm1(x) for x in nodes]
    total = -math.inf
    for profile, exponent in ((first, order - 2.0), (second, -order - 1.0)):
        values = [profile(x, FINE) for x in nodes]
        for i in range(len(nodes) - 1):
            ends = (values[i].upper, values[i + 1].upper)
            if lower:
                ends = (values[i + 1].lower, values[i + 1].lower)
            piece = _log_chord(points[i], points[i + 1], *ends, exponent, lower)
            top_of, low_of = max(total, piece), min(total, piece)
            if top_of > -math.inf:
                total = top_of + math.log1p(math.exp(low_of - top_of))
    log_moment = total + math.log(order * (order - 1.0)) + (-1e-9 if lower else 1e-9)
    excess = max(log_moment, 0.0) + math.log1p(math.exp(-abs(log_moment)))
    return min(excess / (order - 1.0), top)


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
    if b <= a or max(high, low) <= 0.0:
        return -math.inf
    total = 0.0
    reference = exponent * math.log1p(b if exponent > 0.0 else a)
    steps = 1 + int(abs(exponent) * (math.log1p(b) - math.log1p(a)) / 0.02)
    for j in range(steps):  # t^exponent at its larger (smaller) value on each short piece
        x, y = a + (b - a) * j / steps, a + (b - a) * (j + 1) / steps
        at = exponent * math.log1p(y if (exponent > 0.0) != lower else x) - reference
        hx = high + (low - high) * (x - a) / (b - a)
        hy = high + (low - high) * (y - a) / (b - a)
        total += math.exp(at) * 0.5 * (hx + hy) * (y - x)
    return reference + math.log(total) if total > 0.0 else -math.inf
