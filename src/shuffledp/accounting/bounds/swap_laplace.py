"""The swap bound for Laplace noise on numbers in an interval (docs/proofs/swap.md, section 6).

With rho the Laplace law around the middle of the victim's two values, E e^(theta W - lam g) is a
convex functional of the four laws, so it can only fall when all values move together: its largest
value lies on a few lines of triples (victim's values, another user's value). Normal noise makes
every triple spread like that one, and only moments are left of the rest.

Symbols as in ``swap``; rate: noise per length, distances in lengths of the interval. Discrete noise
is more telling than Laplace noise between the same values, by what its ``step`` allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from shuffledp.accounting.bounds.laplace_lines import moment
from shuffledp.accounting.bounds.laplace_triples import FORMULA, Triples, triples
from shuffledp.accounting.bounds.scopes import WIDEST_STEP, is_laplace, one_round
from shuffledp.accounting.bounds.swap import (
    before,
    deviation,
    expected_charge,
    exponentials,
    falling_curve,
)
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.randomizers import (
    CheckIn,
    DiscreteLaplace,
    OneCoordinate,
    Randomizer,
)
from shuffledp.accounting.randomizers.swaps import OtherLaw
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.rounding import Array, down, roundings, up

_LEAST_BUDGET, _MOST_BUDGET, _LEAST_RATE, _LEAST_USERS = 0.01, 12.0, 1e-3, 100
"""The users, times their check-in, must also be so many that others are likely to report where the
victim does."""
_CLASSES = (1.0, 0.96, 0.9, 0.8, 0.6, 0.3, 0.0)
"""Distances of the victim's two values: a bound for each class, the worst counts."""
_MIXED = (1.0, 0.0)
"""The same where coordinates of a vector have distances of their own: one class for all."""
_CHARGED, _LEAST_CHARGE, _MOST_CHARGE, _ATTEMPTS, _EASED = 1e-4, 1e-305, -5.0, 6, 0.7
_NEARLY = 1.5
"""Where pairs leak so much more than the farthest ones, nothing eased shows that they leak less."""
_SLACK, _SUMMED = 1e-10, 1e-9
"""Relative: more than the roundings of whole answers, of sums of positive numbers."""
_STEEPEST = 3.0
"""theta |W| is kept below: moments bound nothing beyond; ``skewness`` is convex up to 4 only."""
_POWER = 1.7
_SETTLED = 1e-6
"""theta is then near enough to the best: its bound, at its least, hardly changes."""
_SHARES, _ALIKE = 8, 1e-7
"""Cells of the share of others left of the victim's middle; what one for all may lose."""
_STEP, _REACH = 0.01, 12.0
"""Cells of t, and how far, in deviations of the sum."""


@lru_cache(maxsize=64)
def _swap_law(rate: float, distance: float, step: float) -> OtherLaw:
    """rho / r where the two are so far apart, spread within cells and steps: as wide as it gets."""
    count = max(64, math.ceil(2.0 * rate * distance / 0.02))
    edges = np.linspace(0.0, distance, count + 1)
    ends = np.exp(rate * (2.0 * edges - distance))  # rho at the right end, r at the left
    near, far = np.exp(-rate * edges), np.exp(-rate * (distance - edges))
    mass = 0.5 * near[:-1] * -np.expm1(-rate * np.diff(edges))
    mean = 0.5 * far[1:] * -np.expm1(-rate * np.diff(edges)) / mass
    share = np.clip((mean - ends[:-1]) / (ends[1:] - ends[:-1]), 0.0, 1.0)
    mass = np.concatenate([[0.5], mass * (1.0 - share), mass * share, [0.5 * near[-1]]])
    swap = np.concatenate([ends[:1], ends[:-1], ends[1:], ends[-1:]])
    if step > 0.0:
        factor = math.exp(2.0 * rate * step)
        upper = 1.0 / (1.0 + factor)
        mass = np.concatenate([mass * upper, mass * (1.0 - upper)])
        swap = np.concatenate([swap * factor, swap / factor])
    return OtherLaw(mass, np.ones_like(mass), np.ones_like(mass), swap)


@dataclass(frozen=True, eq=False)
class _Moved:
    """W at the two ends of every cell, with their weights, for one epsilon and one window of T."""

    values: list[Array]
    """Of each block: at the low ends, at the high ends;"""
    weights: list[Array]
    excess: float
    """At least |W / V - 1|, and how fast log W moves with log g."""
    still: float
    """W of silence."""
    window: float
    """The least T."""


def _moved(cells: Triples, rate: float, e: float, window: float, step: float = 0.0) -> _Moved:
    least, most = _swap_range(cells, rate, step)
    values, weights = [], []
    for rows in cells.blocks:
        (a, a_low, a_high), (b, b_low, b_high), (_, low, high) = (
            [x[rows] for x in each] for each in (cells.first, cells.second, cells.swap)
        )
        value = a - e * b + _SLACK * 1e-3 * (a + e * b)
        ends = np.stack([a_low - e * b_high, a_high - e * b_low])
        bottom, top = np.minimum(ends[0], value), np.maximum(ends[1], value)
        share = np.clip((value - bottom) / np.maximum(top - bottom, 1e-300), 0.0, 1.0)
        weights.append(cells.mass[rows] * np.stack([1.0 - share, share]))
        raised = 1.0 / (1.0 + (least - high) / window)
        lowered = 1.0 / (1.0 + (most - low) / window)
        ends = np.stack([bottom, top])
        values.append(ends * np.where(ends > 0.0, raised, lowered))
    span = (most - least) / window
    return _Moved(
        values,
        weights,
        up(most / window / (1.0 - span), _SUMMED),
        down((1.0 - e) / (1.0 + (most - 1.0) / window), FORMULA),
        window,
    )


def _swap_range(cells: Triples, rate: float, step: float) -> tuple[float, float]:
    """Of rho / r; on a grid rho is around a place at most half a step from the middle."""
    reach = rate * (cells.limit + 0.5 * step)
    return down(math.exp(-reach), FORMULA), up(math.exp(reach), FORMULA)


def many_enough(eps0: float, check_in: float, n: int) -> bool:
    """Whether others are likely to report where the victim does."""
    return n * check_in >= _LEAST_USERS * max(math.exp(1.5 * eps0) / 12.5, 1.0)


@lru_cache(maxsize=2048)
def laplace_delta(
    rate: float,
    check_in: float,
    n: int,
    epsilon: float,
    step: float = 0.0,
    classes: tuple[float, ...] = _CLASSES,
) -> float:
    """Upper bound on delta(epsilon), whatever all users hold in the interval."""
    first, *others = zip(classes[1:], classes[:-1], strict=True)

    def of_class(ends: tuple[float, float], log_charge: float, at: float) -> float:
        value = _class_delta(rate, check_in, n, at, ends, log_charge, step)
        return value if 0.0 <= value < 1.0 else 1.0

    log_charge = suited = expected_charge(_power(rate, first, check_in) / n, epsilon)
    worst = 1.0
    for _ in range(_ATTEMPTS):  # until the charge for T outside its window suits the farthest pairs
        value = of_class(first, log_charge, epsilon)
        if value < worst:
            worst, suited = value, log_charge
        aim = math.log(max(_CHARGED * value, _LEAST_CHARGE))
        if aim - 10.0 <= log_charge <= aim + 3.0 or log_charge > _MOST_CHARGE:
            break
        log_charge = aim if value < 1.0 else _EASED * log_charge
    for ends in others:
        least = alone(rate, ends[1], epsilon, step)
        mu = math.sqrt(_power(rate, ends, check_in) / n)
        for at in before(epsilon, mu, worst):
            least = min(least, _class_before(rate, check_in, n, at, ends, step))
        log_charge, at = suited, epsilon
        for _ in range(_ATTEMPTS):
            if least <= worst:
                break
            value = of_class(ends, log_charge, at)
            if least <= value < 1.0 and at < epsilon:
                break
            least = min(least, value)
            if value <= _NEARLY * worst:
                break
            # such pairs leak less: a larger charge, or the bound of a smaller epsilon, will do
            log_charge, at = max(math.log(worst) - 1.0, log_charge), _EASED * at
        worst = max(worst, least)
    return worst


def alone(rate: float, distance: float, epsilon: float, step: float = 0.0) -> float:
    """What one report tells of values at most so far apart; on a grid it tells a little more."""
    found = -math.expm1(min(0.5 * (epsilon - rate * distance), 0.0))
    return up(found * (1.0 + math.tanh(0.5 * rate * step)), FORMULA)


@lru_cache(maxsize=512)
def _class_before(
    rate: float, q: float, n: int, epsilon: float, ends: tuple[float, float], step: float
) -> float:
    """At an epsilon where others ask, too."""
    value = _class_delta(
        rate, q, n, epsilon, ends, expected_charge(_power(rate, ends, q) / n, epsilon), step
    )
    return value if 0.0 <= value < 1.0 else 1.0


def _class_delta(
    rate: float,
    q: float,
    n: int,
    epsilon: float,
    ends: tuple[float, float],
    log_charge: float,
    step: float = 0.0,
) -> float:
    """For pairs at a distance between the two ends; q: chance that a user reports."""
    cells = triples(rate, *ends)
    m, e = n - 1, math.exp(epsilon)
    low, high, spread = _window(cells, rate, q, n, log_charge, step)
    convex = 0.5 / (low - spread) if low > 2.0 * spread else math.inf  # no rate may be below
    factors, rates = exponentials(low, high, convex)
    if rates[0] < convex:
        return 1.0
    moved = _moved(cells, rate, e, low, step)
    value = math.exp(log_charge)
    for factor, lam in zip(factors.tolist(), rates.tolist(), strict=True):
        log = _Tilted(cells, moved, rate, q, e, lam, step).log_excess(m)
        value += math.exp(min(log - lam + math.log(factor), 600.0))
    return value * (1.0 + _SLACK)


def _window(
    cells: Triples, rate: float, q: float, n: int, log_charge: float, step: float
) -> tuple[float, float, float]:
    """Where T lies but for this chance, whatever the others hold, and how far a swap moves it."""
    law = _thinned(_swap_law(rate, cells.limit + 0.5 * step, step), q)
    least, most = _swap_range(cells, rate, step)
    spread = up(most - least, _SUMMED)
    below, above = (
        deviation([(n - 1, (law,))], log_charge - math.log(2.0), sign) for sign in (-1.0, 1.0)
    )
    low = down(max(n - below - spread, 1.0 + (n - 1) * least), FORMULA)
    return low, up(n + above + spread, FORMULA), spread


def _thinned(law: OtherLaw, rate: float) -> OtherLaw:
    if rate == 1.0:
        return law
    one = [1.0]
    return OtherLaw(
        np.append(rate * law.mass, 1.0 - rate),
        np.append(law.first, one),
        np.append(law.second, one),
        np.append(law.swap, one),
    )


@lru_cache(maxsize=32)
def _power(rate: float, ends: tuple[float, float], check_in: float) -> float:
    """mu^2 of the limit of many users, times n."""
    cells = triples(rate, *ends)
    (a, *_), (b, *_) = cells.first, cells.second
    return check_in * float((cells.mass * (a - b) ** 2).sum(axis=1).max())


class _Tilted:
    """Bounds over all triples of a class; silence (chance 1 - q) has V = 1 - e and g = 1."""

    def __init__(
        self,
        cells: Triples,
        moved: _Moved,
        rate: float,
        q: float,
        e: float,
        lam: float,
        step: float = 0.0,
    ) -> None:
        self.cells, self.rate, self.q, self.e, self.lam, self.step = cells, rate, q, e, lam, step
        self.excess, self.still, self.window = moved.excess, moved.still, moved.window
        self.weights, self.values = moved.weights, moved.values
        self.most = _swap_range(cells, rate, step)[1]
        self.swap, blurs = [], []
        for rows, values in zip(cells.blocks, self.values, strict=True):
            mean, low, high = (x[rows] for x in cells.swap)
            wide = high - low
            self.swap.append(down(mean, _SUMMED) - 0.125 * lam * wide**2)
            blurs.append((cells.mass[rows] * wide * (values[1] - values[0])).sum(axis=1))
        self.blur = 0.25 * lam * up(np.concatenate(blurs), _SUMMED)
        # |V| and |W| are at most this times the other: moments of V, convex in V alone, bound
        # those of W
        self.other = (1.0 + moved.excess) / (1.0 - moved.excess)
        largest = np.concatenate([np.abs(x).max(axis=(0, 2)) for x in self.values])
        shift = e * (1.0 + moved.excess) * math.exp(rate) * np.expm1(0.5 * rate * cells.gap_victim)
        gaps = rate * (cells.gap_other + cells.gap_victim)
        self.widest = float((self.other * largest * np.exp(gaps) + shift).max())
        self.mean = (1.0 + e) * (1.0 + moved.excess)  # at least E |W|

    def log_excess(self, m: int) -> float:
        """log of a bound on E[(sum of W)+ e^(-lam (T - 1))]."""
        theta = min(self._best_theta(m), _STEEPEST / self.widest)
        left, right = (np.array(ends) for ends in self._ends(theta))
        if not np.isfinite([left, right]).all():
            return math.inf
        shares = np.linspace(0.0, 1.0, _SHARES + 1)
        # of those left of the middle; what holds for them and for the others adds up
        sums = m * (np.multiply.outer(shares, left) + np.multiply.outer(1.0 - shares, right))
        worst = _worst_share(theta, *sums.T)
        top = max(left[0], right[0]) + self.lam  # the victim's own: g = 1 at the middle
        size = m * max(abs(left[0]), abs(right[0]))
        return float(worst + top + _SUMMED + roundings(64.0) * size)

    def _ends(self, theta: float) -> list[tuple[float, float, float]]:
        """For values left of the middle and right of it: the largest K = log M(theta), the least
        variance of W once normal noise has lifted each law to it, and the largest
        E (W - W')^4 / 24, all tilted by theta W - lam g.
        """
        q, lam = self.q, self.lam
        steep = theta * self.widest + lam * self.most
        blocks = zip(self.weights, self.values, strict=True)
        *moments, below = np.concatenate([self._moments(theta, *each) for each in blocks], axis=1)
        roots = [self._nearby(x, k, steep, theta) for x, k in zip(moments, (2, 3, 4), strict=True)]
        moves = self._moves(theta, roots[0], steep) + self._steps(theta, roots[0], steep)
        tops = np.log1p(self._rises(theta, steep) + q * moves)
        roots.append(self._nearby(below, 3, 0.0, 0.0))
        return [
            self._kind_ends(theta, tops[kind], [x[kind] for x in roots])
            for kind in self.cells.kinds
        ]

    def _moments(self, theta: float, weights: Array, values: Array) -> Array:
        """Of |W|, the second to the fourth, tilted; the third of what is negative, by skewness."""
        sizes = self.other * values
        tilted = weights * np.exp(theta * np.maximum(sizes, 0.0))
        falls = weights * skewness(-theta * sizes)
        squares = sizes * sizes
        moments = [tilted * squares, tilted * np.abs(sizes) * squares, tilted * squares**2]
        found = [x.sum(axis=(0, 2)) for x in (*moments, falls * (3.0 / theta**3))]
        return np.array(found)

    def _kind_ends(
        self, theta: float, tops: Array, roots: list[Array]
    ) -> tuple[float, float, float]:
        q, lam, e, top = self.q, self.lam, self.e, float(tops.max())
        second, third, fourth, cubic = (
            q * self._on_grid(float(root.max()), k, tilt) ** k + (1.0 - q) * (e - 1.0) ** k
            for root, k, tilt in zip(roots, (2, 3, 4, 3), (theta, theta, theta, 0.0), strict=True)
        )
        least = math.exp(-theta * (e - 1.0 + self.excess * self.mean) - 2.0 * lam)  # M is more
        low, high = self.drift
        mean = max(-low, high + theta * second) / least  # of W, either way
        lifted = top + lam - 0.5 * lam**2 * self.most  # E g^2 is no more
        lifted -= theta * high + theta**3 * cubic / 3.0
        spread = 2.0 / theta**2 * lifted - mean**2 - max(top, 0.0) * second
        quartic = (2.0 * fourth + 8.0 * mean * third) / least + 6.0 * (second / least) ** 2
        return top, spread, up(quartic / 24.0, _SUMMED)

    @cached_property
    def drift(self) -> tuple[float, float]:
        """E W e^(-lam g) lies between: V has a weight f e^(-lam g), and E V = 1 - e."""
        lam, low, e = self.lam, self.window, self.e
        least, most = _swap_range(self.cells, self.rate, self.step)

        def weights(arriving: float) -> tuple[float, float]:
            """The least and the largest for any g; the logarithm is convex in g."""
            flat = min(max(low + arriving - 1.0 / lam, least), most)
            found = [math.exp(-lam * g) / (1.0 + (arriving - g) / low) for g in (flat, least, most)]
            return down(found[0], FORMULA), up(max(found), FORMULA)

        (least_raised, raised), (lowered, most_lowered) = weights(least), weights(most)
        told = self.q * alone(self.rate, self.cells.far, math.log(e), self.step)  # E V+, at most
        below = (e - 1.0) * most_lowered + max(most_lowered - least_raised, 0.0) * told
        above = (1.0 - e) * lowered + max(raised - lowered, 0.0) * told
        return -up(below, FORMULA), above + FORMULA * (e - 1.0 + told)

    def _rises(self, theta: float, steep: float) -> Array:
        """M(theta) - 1 of the triples computed."""
        moved = [
            (weights * np.expm1(theta * values - self.lam * swap)).sum(axis=(0, 2))
            for weights, values, swap in zip(self.weights, self.values, self.swap, strict=True)
        ]
        silent = (1.0 - self.q) * math.expm1(theta * self.still - self.lam)
        found: Array = self.q * np.concatenate(moved) + silent
        found += self.q * theta * math.exp(steep) * self.blur
        return found + 1e-12 * theta * (1.0 + self.e) + roundings(4.0)

    def _nearby(self, moments: Array, k: int, steep: float, theta: float) -> Array:
        """Roots of k-th moments of W, of each triple and of those nearer to it than to another."""
        near, far = 0.5 * self.rate * self.cells.gap_other, 0.5 * self.rate * self.cells.gap_victim
        norm = self.e * math.pow(moment(self.rate, k), 1.0 / k)  # of e b / r, at most
        shift = (1.0 + self.excess) * norm * math.exp(steep) * np.expm1(far)
        roots: Array = up(moments, _SUMMED) ** (1.0 / k)
        tilt = steep + theta * self.e * math.exp(self.rate) * (1.0 + self.excess)
        return (roots + shift) * np.exp((1.0 + self.excess + tilt) * (near + far))

    def _moves(self, theta: float, root: Array, steep: float) -> Array:
        """How much M may change halfway to the next triple (docs/proofs/swap.md, section 6)."""
        near, far = 0.5 * self.rate * self.cells.gap_other, 0.5 * self.rate * self.cells.gap_victim
        pull = theta * root + self.lam * self.most  # at least sqrt(E S^2)
        other = 0.5 * pull**2 + theta * self.excess * self.mean
        ratio = self.e * math.sqrt(moment(self.rate, 2))
        victim = (
            theta * (ratio * pull + 2.0 * self.excess * self.mean) + self.lam * self.most * pull
        )
        moves: Array = math.exp(steep) * (near * other + far * victim)
        return moves

    def _steps(self, theta: float, root: Array, steep: float) -> Array | float:
        """How much more M may be on a grid (docs/proofs/swap.md, section 11)."""
        if self.step == 0.0:
            return 0.0
        along, kappa, e = math.expm1(2.0 * self.rate * self.step), self.excess, self.e
        pull = theta * root + self.lam * self.most
        aside = theta * kappa * self.mean + self.lam * self.most * pull
        bent = 4.0 * (theta * (1.0 + kappa) ** 2) ** 2 * (1.0 + e * e) * moment(self.rate, 2)
        bent += 2.0 * self.lam**2 * self.most + 2.0 * theta * kappa * (1.0 + kappa) * self.mean
        kink = 0.5 * theta * kappa * (1.0 + e)
        grown = along * (1.0 + along) * (kink + along * (1.0 + along) * bent / 8.0)
        found: Array = math.exp(steep) * (0.5 * self.rate * self.step * aside + grown)
        return up(found, _SUMMED)

    def _on_grid(self, root: float, k: int, theta: float) -> float:
        """The root of a k-th moment of W under discrete noise, from that under Laplace noise."""
        if self.step == 0.0:
            return root
        along = math.expm1(2.0 * self.rate * self.step)
        factor = (1.0 + self.excess) / (1.0 - self.excess) * (1.0 + self.e)
        tilt = math.exp(theta * self.widest / k)
        added = along * factor * tilt * math.pow(moment(self.rate, k), 1.0 / k)
        return (root + added) * math.exp(theta * along * factor * math.exp(self.rate) / k)

    def _best_theta(self, m: int) -> float:
        """Near the best theta for the kind that needs the least (of largest M); any is valid."""
        blocks = zip(self.weights, self.values, strict=True)
        spreads = np.concatenate([(w * v * v).sum(axis=(0, 2)) for w, v in blocks])
        rows = [int(np.argmax(np.where(kind, spreads, -1.0))) for kind in self.cells.kinds]
        return min(self._theta_of(at, m) for at in rows)

    def _theta_of(self, at: int, m: int) -> float:
        block, at = divmod(at, self.cells.blocks[0].stop)
        w, v, g = self.weights[block][:, at], self.values[block][:, at], self.swap[block][at]
        still = self.still
        u = math.log(4.0 / math.sqrt(m * self.q * float((w * v * v).sum()) + 1e-300))
        for _ in range(12):
            theta = min(math.exp(u), _STEEPEST / self.widest)
            grow = self.q * w * np.exp(theta * v - self.lam * g)
            quiet = (1.0 - self.q) * math.exp(theta * still - self.lam)
            total = float(grow.sum()) + quiet
            mean = (float((grow * v).sum()) + quiet * still) / total
            square = (float((grow * v * v).sum()) + quiet * still**2) / total
            slope = theta * m * mean - _POWER
            move = slope / (theta**2 * m * square + abs(slope + _POWER) + 1.0)
            u -= min(max(move, -1.0), 1.0)
            if abs(move) < _SETTLED:
                break
        return math.exp(u)


def _worst_share(theta: float, tops: Array, spreads: Array, quartics: Array) -> float:
    """The largest over all shares, cell by cell, unless one cell for all loses nothing."""

    def cell(part: slice) -> float:
        bound = log_integral(theta, float(spreads[part].min()), float(quartics[part].max()))
        return bound + float(tops[part].max())

    top = min(int(np.argmax(tops)), _SHARES - 1)
    whole, least = cell(slice(None)), cell(slice(top, top + 2))
    if whole <= least + _ALIKE:
        return whole
    return max(least, *(cell(slice(i, i + 2)) for i in range(_SHARES) if i != top))


def log_integral(theta: float, spread: float, quartic: float) -> float:
    """log of (1 / pi) int |N(theta + it) / N(theta)| / (theta^2 + t^2) dt over t > 0, at most,
    once further normal noise is added to the sum, which can only raise the expectation.

    |N(theta + it) / N(theta)|^2 <= exp(-spread t^2 + quartic t^4) up to the reach, 1 beyond. Not a
    bound on the integral without that noise.
    """
    if not spread > 0.0:
        return -math.log(2.0 * theta)
    reach = math.sqrt(spread / (2.0 * quartic))
    damping = max(math.log(5.0 * reach / theta), 0.5)  # by further noise, at the reach
    smooth = 2.0 * damping / reach**2
    sd = math.sqrt(spread)
    stop = min(reach, _REACH / sd)
    t = np.linspace(0.0, stop, 1 + math.ceil(stop * sd / _STEP))
    exponent = -0.5 * (spread * t**2 - quartic * t**4) - 0.5 * smooth * t**2
    arcs = np.arctan2(np.diff(t) * theta, theta * theta + t[1:] * t[:-1]) / theta
    total = float(np.exp(exponent[:-1]) @ arcs)
    if stop < reach:  # the exponent falls up to the reach
        total += math.exp(float(exponent[-1])) * (math.pi / 2.0) / theta
    total += math.exp(-damping) / reach
    return math.log(total / math.pi) + 0.5 * smooth * theta**2


def skewness(u: Array) -> Array:
    """At least u - 1 + e^-u (1 - u^2 / 2) and at most u^3 / 3, for u > 0; 0 below."""
    u = np.maximum(u, 0.0)
    found: Array = u * u * u / 3.0
    large = u > 0.05
    if large.any():
        x = u[large]
        found[large] = np.minimum(x - 1.0 + np.exp(-x) * (1.0 - 0.5 * x * x) + 1e-15, found[large])
    return found


@dataclass(frozen=True)
class _Noise:
    """eps0, the chance that a user reports, and the step of the grid, 0 if there is none."""

    eps0: float
    rate: float
    step: float
    classes: tuple[float, ...]


def _laplace(randomizer: Randomizer) -> _Noise:
    inner, rate = one_round(randomizer), 1.0
    if isinstance(randomizer, CheckIn):
        inner, rate = randomizer.randomizer, randomizer.rate
    if not (is_laplace(inner) and _LEAST_BUDGET <= inner.eps0 <= _MOST_BUDGET):
        condition = (
            f"Laplace noise on an interval, or of eps0 / levels <= {WIDEST_STEP:g} on a grid,"
            f" eps0 from {_LEAST_BUDGET:g} to {_MOST_BUDGET:g}"
        )
        raise RegimeError(condition, str(randomizer))
    if not rate >= _LEAST_RATE:
        raise RegimeError(f"check-in of at least {_LEAST_RATE:g}", str(randomizer))
    classes: tuple[float, ...] = _CLASSES
    if isinstance(inner, OneCoordinate):
        inner, classes = inner.randomizer, _MIXED
    step = 1.0 / inner.levels if isinstance(inner, DiscreteLaplace) else 0.0
    return _Noise(inner.eps0, rate, step, classes)


@bound(
    Theorem(
        id="swap-laplace",
        citation="our own",
        statement="the swap bound over all numbers that the victim and the others may hold",
        validity="Laplace noise on an interval, or discrete Laplace noise with"
        " eps0 / levels <= 0.05, of numbers or of one coordinate of vectors; 0.01 <= eps0 <= 12,"
        " check-in of at least 1e-3, n times that at least 100 and 8 e^(1.5 eps0); what a user"
        " reports depends on that user's value alone, not on other reports",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/swap.md",
    ),
    _laplace,
    dear=True,
)
def swap_laplace(noise: _Noise, n: int) -> Curve:
    """Clamping reports is post-processing."""
    if not many_enough(noise.eps0, noise.rate, n):
        condition = f"n times the check-in >= {_LEAST_USERS} and 8 exp(1.5 eps0)"
        raise RegimeError(condition, f"{n} users, eps0 = {noise.eps0:g}")

    def delta(epsilon: float) -> float:
        return laplace_delta(noise.eps0, noise.rate, n, epsilon, noise.step, noise.classes)

    power = _power(noise.eps0, (noise.classes[1], noise.classes[0]), noise.rate)
    return falling_curve(lambda epsilon, _: delta(epsilon), power / n, noise.eps0)
