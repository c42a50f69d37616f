"""Certified searches: bisection, and inversion of decreasing functions known through enclosures."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.rounding import Array

Function = Callable[[float], Enclosure]


class Start(NamedTuple):
    """Where a root is likely, and about the slope of ln f there, if that is known."""

    x: float
    slope: float | None
    sure: bool = False
    """Known from a like function, not from a limit: also where f nearly ends."""


Guess = Callable[[float], Start | None]
"""target -> where to begin."""

_FLOOR, _HUGE, _FURTHEST = -745.0, 1e300, 745.0
_QUICK_TOLERANCE, _STEPS, _SLOW, _HALVINGS = 1e-3, 60, 3, 40
SETTLED, _MARGIN, _TRIES = 1e-6, 1e-3, 6
"""How close to the target is always close enough, how far beyond it to aim, how often."""
_NEAR, _DOUBLINGS = 2.0, 3
_LEAST_EXCESS, _NEARLY_ONE = 1e-16, -0.1
_FORESIGHT = 1e-3
_FAR_BELOW = -30.0
_WIDE = 1e-4
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


Place = TypeVar("Place", int, float)


class Bracket(NamedTuple, Generic[Place]):
    """A place where a condition was seen to hold, and one where it was not."""

    good: Place
    bad: Place


def grown(
    holds: Callable[[Place], bool],
    first: Place,
    before: Place,
    factor: float = 2,
    most: float = math.inf,
) -> Bracket[Place]:
    """The first of ``first``, ``factor`` times it, ... that holds, or is ``most`` or more;
    the one before."""
    bad, good = before, first
    while good < most and not holds(good):
        bad, good = good, type(first)(factor * good)
    return Bracket(good, bad)


def bisect(
    holds: Callable[[float], bool],
    good: float,
    bad: float,
    halvings: int = 200,
    share: float = 0.0,
    within: float = 0.0,
) -> Bracket[float]:
    """Halve what lies between ``good``, where the condition holds, and ``bad``, where it does not.

    ``good`` moves only to places where the condition was evaluated and held, so a certified
    condition gives a certified end, monotone or not. Ends after so many halvings, or when the two
    are neighbouring doubles, differ by ``within`` at most, or by this share of the larger.
    """
    for _ in range(halvings):
        middle = 0.5 * (good + bad)
        close = max(within, share * max(abs(good), abs(bad)))
        if abs(bad - good) <= close or middle in (good, bad):
            break
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return Bracket(good, bad)


def steered(
    excess: Callable[[Place], float],
    good: Place,
    bad: Place,
    *,
    share: float = 0.0,
    near: float = 0.0,
    begin: tuple[float, float] | None = None,
) -> Bracket[Place]:
    """As ``bisect``, for a condition excess(x) <= 0: where that is smooth, few evaluations will do.

    Aims where a straight line crosses 0, and halves where that does not help. Ends when both ends
    differ by this share of the larger (whole numbers: by 1 at least), or the excess at ``good`` is
    within ``near`` of 0. ``begin``: the excess at both ends, if known.
    """
    whole = isinstance(good, int)
    at_good, at_bad = begin if begin is not None else (excess(good), excess(bad))
    pull_good, pull_bad, slow, length = 1.0, 1.0, 0, abs(bad - good)
    while not -near < at_good:
        close = max(share * max(abs(good), abs(bad)), 1.0 if whole else 0.0)
        if abs(bad - good) <= close:
            break
        aim = 0.5 * min(near, -at_good)  # a little inside, where it is near enough
        left, right = (-at_good - aim) * pull_good, (at_bad + aim) * pull_bad
        margin = min(0.4 * close / abs(bad - good), 0.5)  # the next place may then end it
        part = 0.5
        if slow < _SLOW and left + right > 0.0:
            part = min(max(left / (left + right), margin), 1.0 - margin)
        middle = type(good)(good + part * (bad - good))
        if whole and middle in (good, bad):  # the whole number next to that end
            middle += 1 if (middle == good) == (good < bad) else -1
        if middle in (good, bad):
            middle = type(good)(0.5 * (good + bad))
        if middle in (good, bad):
            break
        found = excess(middle)
        if found <= 0.0:  # the end that stays pulls less and less
            pull_good, pull_bad = 1.0, 0.5 * pull_bad if pull_good == 1.0 else 1.0
            good, at_good = middle, found
        else:
            pull_good, pull_bad = 0.5 * pull_good if pull_bad == 1.0 else 1.0, 1.0
            bad, at_bad = middle, found
        slow = slow + 1
        if abs(bad - good) <= 0.5 * length:
            slow, length = 0, abs(bad - good)
    return Bracket(good, bad)


def foreseen(
    excess: Callable[[float], float],
    likely: Callable[[float], float],
    least: float,
    most: float,
    *,
    share: float,
    near: float = 0.0,
    start: float = 0.0,
) -> Bracket[float]:
    """Where a dear excess changes its sign, from ``least``, where it is negative, to ``most``,
    taken for positive unless asked.

    ``likely`` is about the excess, and cheaper: it says where to ask, from ``start`` on, and how
    far to go from there.
    The rest is as in ``steered``; an excess is near enough to 0 where its slope so far says that
    the root is within this ``share``.
    """
    likely = cache(likely)
    over = _around(lambda x: likely(x) > 0.0, start, least, most)
    ends = likely(over.bad), likely(min(over.good, most))
    x = most if ends[1] <= 0.0 else over.bad
    if ends[0] < 0.0 < ends[1]:
        x = steered(likely, over.bad, min(over.good, most), share=_FORESIGHT, begin=ends).good
    further = min((1.0 + 10.0 * _FORESIGHT) * x, most)
    rise = (likely(further) - likely(x)) / (further - x) if further > x else 0.0
    low, high, below, above = least, most, -1.0, 1.0
    last: tuple[float, float] | None = None
    for _ in range(_TRIES):
        found = excess(x)
        if found <= 0.0:
            low, below = x, found
        else:
            high, above = x, found
        if last is not None and (found - last[1]) * (x - last[0]) > 0.0:
            rise = (found - last[1]) / (x - last[0])
        last = x, found
        near = max(near, share * x * rise)
        if -near < found <= 0.0:
            return Bracket(x, high)
        aim = found + 0.5 * near  # a little inside, where it is near enough
        x -= aim / rise if rise > 0.0 else math.copysign(2.0 * share * x, found)
        if not low < x < high:
            break
    return steered(excess, low, high, share=share, near=near, begin=(below, above))


def _around(
    holds: Callable[[float], bool], start: float, least: float, most: float
) -> Bracket[float]:
    """As ``grown`` from ``least`` by twos, but begun at ``start``: back from there if it holds."""
    first = min(max(start, 2.0 * least), most)
    if not holds(first):
        return grown(holds, 2.0 * first, first, most=most)
    while 0.5 * first > least and holds(0.5 * first):
        first *= 0.5
    return Bracket(first, max(0.5 * first, least))


def fewest(
    excess: Callable[[int], float], guess: int, most: int, *, share: float = 0.0
) -> Bracket[int] | None:
    """The least whole number, but for this ``share``, from which on a falling excess is not
    positive; none if it is up to ``most``.

    ``guess`` is about where; there the excess, seen over the logarithm of the number, has a slope
    of about -1. Where straight lines do not find the number soon, the rest is as in ``steered``.
    """
    x, slope, last, seen = min(max(guess, 1), most), 1.0, None, dict[int, float]()
    good, bad = most + 1, 0
    while good - bad > 1:
        found = seen[x] = excess(x)
        good, bad = (x, bad) if found <= 0.0 else (good, x)
        if bad == most:
            return None
        if -share < found <= 0.0:
            break
        if last is not None and (found - last[1]) * (x - last[0]) < 0.0:
            slope = (last[1] - found) / math.log(x / last[0])
        last = x, found
        both = bad > 0 and good <= most
        farther = 1.0 if both else 2.0 ** max(len(seen) - 2, 0)  # a line led nowhere yet
        step = farther * (found + 0.5 * share) / slope
        aim = min(x * math.exp(min(max(step, -50.0), 50.0)), 2.0 * most)
        x = max(math.ceil(aim), x + 1) if found > 0.0 else min(math.ceil(aim), x - 1)
        if both and (len(seen) > _TRIES or not bad < x < good):
            return steered(excess, good, bad, share=share, begin=(seen[good], seen[bad]))
        x = min(max(x, 1), most)
    return Bracket(good, bad)


def log_log_excess(value: float, target: float) -> float:
    """ln(ln target / ln value), about linear in a budget; positive if and only if value > target.

    Of two deltas: what is nearly 0, or far above the target, counts as less extreme.
    """
    goal = math.log(target)
    log = math.log(value) if value > 0.0 else min(_FLOOR, 1.5 * goal)
    found = math.log(goal / min(max(log, 4.0 * goal), max(0.5 * goal, _NEARLY_ONE)))
    return max(found, _LEAST_EXCESS) if value > target else min(found, -_LEAST_EXCESS)


def bisect_whole(
    holds: Callable[[int], bool], good: int, bad: int, parts: int | None = None
) -> Bracket[int]:
    """The same for whole numbers, until they are neighbours,
    or differ by the larger over ``parts``."""
    while abs(bad - good) > (1 if parts is None else max(1, max(good, bad) // parts)):
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return Bracket(good, bad)


def bisect_each(
    below: Callable[[Array], NDArray[np.bool_]], low: Array, high: Array, halvings: int
) -> tuple[Array, Array]:
    """The same for many roots at once: ``low`` moves to places that are ``below``,
    ``high`` to others."""
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        under = below(middle)
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return low, high


def invert_decreasing(
    exact: Function,
    quick: Function,
    target: float,
    top: float,
    start: Start | None = None,
    lower_only: bool = False,
    upper_only: bool = False,
    settled: float = SETTLED,
) -> Enclosure:
    """Enclose the smallest x in [0, top] with f(x) <= target, f decreasing and f(top) <= target.

    ``quick`` steers the search and may be wide; only ``exact`` certifies: at the returned upper end
    f <= target, at the lower end f >= target (or the end is 0). ``lower_only`` leaves the upper end
    at ``top``, ``upper_only`` the lower end at 0. A share of ``settled`` of the target, or of the
    root if that says more, is close enough.
    """
    goal = math.log(target)
    quick, exact = cache(quick), cache(exact)
    near = start if start is not None and start.x < (1.0 if start.sure else 0.5) * top else None
    miss = 0.0 if near is None else _offset(quick(near.x), goal)[0]
    if near is not None and near.x >= 0.5 * top and abs(miss) > _NEAR:
        near, miss = None, 0.0
    half, slope = -1.0, None
    if near is not None and (abs(miss) <= _NEAR or _soon_below(quick, goal, near.x, miss, top)):
        x, slope, _ = near
    else:
        if miss <= 0.0 and quick(0.0).upper <= target:
            return Enclosure(0.0, top if lower_only else 0.0)
        if miss >= 0.0:
            half = _offset(quick(0.5 * top), goal)[0]
        if half <= 0.0:
            x = near.x if near is not None else _halved(quick, goal, 0.5 * top)
    low, high, end, begin, turned = 0.0, top, top, 0.0, half > 0.0
    if turned:  # the root is near the top: search over v = -ln(top - x), where ln f is straight
        low, high, end = -math.log(top), _FURTHEST, math.inf
        slope = min((half - _offset(quick(0.0), goal)[0]) / math.log(2.0), -1.0)
        begin = low + math.log(2.0)
        x = begin - half / slope
        quick, exact = _from_top(quick, top), _from_top(exact, top)
    elif near is not None and near.x >= 0.5 * top:  # the same, from where the root is
        low, high, end, turned = -math.log(top), _FURTHEST, math.inf, True
        slope = None if slope is None else slope * (top - near.x)
        begin, x = low, -math.log(top - near.x)
        quick, exact = _from_top(quick, top), _from_top(exact, top)
    near_enough = max(_QUICK_TOLERANCE, settled)
    v, slope = _secant(quick, goal, begin, high, x, slope, near_enough)
    if not turned:
        settled = max(settled * min(abs(slope * v), 1.0), SETTLED)
    lower = 0.0
    if not upper_only:
        v = _certified(exact, target, v, slope, -1.0, high, low, settled)
        if v > low:
            lower = max(top - math.exp(-v) if turned else v, 0.0)
    if lower_only:
        return Enclosure(lower, top)
    v = _certified(exact, target, v, slope, 1.0, low, end, settled)
    return Enclosure(lower, top - math.exp(-v) if turned else v)


def _soon_below(f: Function, goal: float, x: float, miss: float, top: float) -> bool:
    """Whether f, above the target at x, is below it a few times further on, still far from the
    top: a certified bound may fail there."""
    tries = [x * 2.0**k for k in range(1, _DOUBLINGS + 1)] if miss > 0.0 else []
    return any(_offset(f(at), goal)[0] <= 0.0 for at in tries if at < 0.5 * top)


def _from_top(f: Function, top: float) -> Function:
    return lambda v: f(top - math.exp(-v))


def _log_ratio(value: float, target: float) -> float:
    """ln(value / target); its sign is exact."""
    ratio = float(value) / target
    return math.log(min(ratio, _HUGE)) if ratio > 0.0 else _FLOOR


def _certified(
    f: Function,
    target: float,
    x: float,
    slope: float,
    side: float,
    begin: float,
    end: float,
    settled: float,
) -> float:
    """A point from ``begin`` to ``end`` where f is hardly beyond the target, on that side for sure.

    ``slope`` is that of ln f near x: each step aims a little beyond the root. ``end`` is known to
    be fine.
    """

    def beyond(x: float) -> float:
        return -side * _log_ratio(f(x).upper if side > 0.0 else f(x).lower, target)

    steep, last = abs(slope), None
    good, rest, bad = end, math.inf, None
    for _ in range(_TRIES):
        y = beyond(x)
        if y >= 0.0 and side * (good - x) > 0.0:
            good, rest = x, y
        elif y < 0.0 and (bad is None or side * (x - bad) > 0.0):
            bad = x
        if 0.0 <= y <= settled:
            break
        if last is not None and abs(y - last[1]) > 10.0 * settled:
            rise = side * (y - last[1]) / (x - last[0])
            steep = rise if rise > 0.0 else steep
        last = x, y
        x += side * (0.5 * settled + _MARGIN * abs(y) - y) / steep
        if side * (x - begin) <= 0.0:
            x = 0.5 * (last[0] + begin)
        if side * (end - x) <= 0.0 or x == last[0]:
            break
    if rest <= max(settled, _QUICK_TOLERANCE):
        return good
    return _between(lambda x: beyond(x) >= 0.0, begin if bad is None else bad, good)


def _between(ok: Callable[[float], bool], bad: float, good: float) -> float:
    """A point where ``ok`` holds, near one where it does not: there f drops,
    or nothing steered well."""
    step = 1.0
    while math.isinf(good) and bad + step < _FURTHEST:
        if ok(bad + step):
            good = bad + step
        else:
            bad, step = bad + step, 2.0 * step
    return good if math.isinf(good) else bisect(ok, good, bad, _HALVINGS, _WIDE).good


def peak(
    f: Callable[[float], float], low: float, high: float, within: float = 1e-4, apart: float = 0.0
) -> float:
    """Near where f, rising then falling, is largest: golden sections, to this share of the ends.

    Ends so far ``apart`` are near enough, too.
    """
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = f(left), f(right)
    while high - low > max(within * max(abs(low), abs(high)), apart):
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
    near_enough: float,
) -> tuple[float, float]:
    """Approximate root of ln f = goal, one step beyond the last evaluation,
    and the slope of ln f."""
    previous: tuple[float, float] | None = None
    left = right = False
    length, slow = math.inf, 0
    for _ in range(_STEPS):
        y, spread = _offset(f(x), goal)
        if y > 0.0:
            low, left = max(low, x), True
        else:
            high, right = min(high, x), True
        if left and right:
            slow = slow + 1 if high - low > 0.5 * length else 0
            length = high - low
        if previous is not None and previous[0] != x:
            rise = (y - previous[1]) / (x - previous[0])
            slope = rise if rise < 0.0 else slope
        if slope is not None and abs(y) <= max(spread, near_enough):
            return min(max(x - y / slope, low), high), slope
        previous = x, y
        if slow < _SLOW:
            x = _next_point(x, y, slope, low, high)
        else:
            x, slow = 0.5 * (low + high), 0
        if x == previous[0]:
            break
    return x, slope or -1.0


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
