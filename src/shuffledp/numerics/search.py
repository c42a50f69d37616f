"""Certified inversion of decreasing functions known through enclosures."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from shuffledp.numerics.enclosure import Enclosure

Function = Callable[[float], Enclosure]

_FLOOR = -745.0
_QUICK_TOLERANCE = 1e-3
_FAR_BELOW = -30.0
_SETTLED = 1e-7
_WIDE = 1e-4
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


def invert_decreasing(
    exact: Function,
    quick: Function,
    target: float,
    top: float,
    guess: float | None = None,
    lower_only: bool = False,
    upper_only: bool = False,
) -> Enclosure:
    """Enclose the smallest x in [0, top] with f(x) <= target, f decreasing and f(top) <= target.

    ``quick`` steers the search and may be wide; only ``exact`` certifies: at the returned upper
    end f <= target, at the lower end f >= target (or the end is 0). ``lower_only`` leaves the
    upper end at ``top``, ``upper_only`` the lower end at 0.
    """
    goal = math.log(target)
    quick = cache(quick)
    near = guess if guess is not None and 0.0 < guess < 0.5 * top else None
    there = None if near is None else quick(near)
    if (there is None or there.lower <= target) and quick(0.0).upper <= target:
        return Enclosure(0.0, top if lower_only else 0.0)
    low_enough = there is not None and there.upper < target
    half = -1.0 if low_enough else _offset(quick(0.5 * top), goal)[0]
    if half > 0.0:  # the root is near the top: search over v = -ln(top - x), where ln f is straight

        def at(v: float) -> float:
            return top - math.exp(-v)

        low, high, end = -math.log(top), 745.0, math.inf
        start = low + math.log(2.0) + half
    else:

        def at(v: float) -> float:
            return v

        low, high, end = 0.0, top, top
        start = (
            guess if guess is not None and 0.0 < guess < top else _halved(quick, goal, 0.5 * top)
        )
    v, slope, _ = _secant(
        lambda v: quick(at(v)), goal, low, high, start, None, _QUICK_TOLERANCE, 60
    )
    v, slope, miss = _secant(lambda v: exact(at(v)), goal, low, high, v, slope, _SETTLED, 4)
    step = miss / -slope
    lower = 0.0
    if not upper_only:
        bottom = _push(lambda v: exact(at(v)).lower >= target, v, -step, low)
        lower = max(at(bottom), 0.0) if bottom > low else 0.0
    if lower_only:
        return Enclosure(lower, top)
    peak = _push(lambda v: exact(at(v)).upper <= target, v, step, end)
    upper = at(peak) if math.isfinite(peak) else top
    return _bisected(exact, target, lower, upper) if half > 0.0 else Enclosure(lower, upper)


def _bisected(f: Function, target: float, lower: float, upper: float) -> Enclosure:
    """Halved while f tells on which side the root lies: a plateau before the top misleads secants."""
    if f((1.0 - _WIDE) * upper).upper > target:
        return Enclosure(lower, upper)
    while upper - lower > _WIDE * upper:
        middle = 0.5 * (lower + upper)
        value = f(middle)
        if value.upper <= target:
            upper = middle
        elif value.lower >= target:
            lower = middle
        else:
            break
    return Enclosure(lower, upper)


def peak(f: Callable[[float], float], low: float, high: float) -> float:
    """Near where f, rising then falling, is largest: golden sections."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = f(left), f(right)
    for _ in range(1000):
        if high - low <= 1e-4 * max(abs(low), abs(high)):
            break
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = f(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = f(right)
    return 0.5 * (low + high)


def _halved(f: Function, goal: float, high: float) -> float:
    """A point within a factor 2 of the root, from above."""
    x = high
    while x > high * 1e-300 and _offset(f(0.5 * x), goal)[0] < 0.0:
        x *= 0.5
    return 0.75 * x


def _offset(value: Enclosure, goal: float) -> tuple[float, float]:
    """ln(f / target) at the middle of the enclosure, and how far its ends are from there."""
    middle = value.middle
    if middle <= 0.0 or math.log(middle) < _FLOOR:
        return _FLOOR - goal, 0.0
    spread = math.log(value.upper / value.lower) if value.lower > 0.0 else 1.0
    return math.log(middle) - goal, spread


def _secant(
    f: Function,
    goal: float,
    low: float,
    high: float,
    x: float,
    slope: float | None,
    tolerance: float,
    steps: int,
) -> tuple[float, float, float]:
    """Approximate root of ln f = goal, the slope of ln f there, and the miss in ln f expected.

    Ends one secant step beyond its last evaluation.
    """
    previous: tuple[float, float] | None = None
    miss = 1.0
    for _ in range(steps):
        y, spread = _offset(f(x), goal)
        if y > 0.0:
            low = max(low, x)
        else:
            high = min(high, x)
        if previous is not None and previous[0] != x:
            rise = (y - previous[1]) / (x - previous[0])
            slope = rise if rise < 0.0 else slope
        miss = 0.6 * spread + 1e-3 * abs(y) + _SETTLED
        if slope is not None and abs(y) <= max(spread, _SETTLED):
            miss += abs(y)
            break
        previous, last = (x, y), x
        x = _next_point(x, y, slope, low, high)
        if x == last or (abs(y) <= tolerance and slope is not None):
            break
    return x, slope or -1.0, miss


def _next_point(x: float, y: float, slope: float | None, low: float, high: float) -> float:
    if slope is None:  # no slope yet: far away half of what is left, else a short step
        if y < _FAR_BELOW:
            return 0.5 * (low + x)
        step = 0.02 * abs(x) or 1e-3
        return max(x - step, 0.5 * (low + x)) if y < 0.0 else min(x + step, 0.5 * (x + high))
    new = x - y / slope
    if low < new < high:
        return new
    return math.sqrt(low * high) if low > 0.0 and high > 8.0 * low else 0.5 * (low + high)


def _push(ok: Callable[[float], bool], x: float, step: float, end: float) -> float:
    """Walk from x by growing steps until ``ok`` holds; ``end`` is known to be fine."""
    for _ in range(60):
        y = x + step
        if (step < 0.0 and y <= end) or (step > 0.0 and y >= end):
            return end
        if ok(y):
            return y
        step *= 2.0
    return end
