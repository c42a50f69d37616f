"""Certified value of (1/n) E[(V_1 + ... + V_n)+] for iid V_i with a discrete law.

One formula does the work (docs/proofs/engine.md). For b > 0 put F(x) = E(x + bZ)+, Z normal, and
G(x) = F(x) - b phi(x/b); then G(x) <= x+ <= F(x), both have Gaussian Fourier decay, and for every
theta > 0 and window P Poisson summation gives, with s_j = theta + 2 pi i j / P,

    sum_k e^(-theta k P) E F(S + k P) = (1/P) sum_j M(s_j)^n e^(b^2 s_j^2 / 2) / s_j^2

(for G: 1/s^2 - b^2 in place of 1/s^2), where M(s) = E e^(sV). So a short sum of powers of the
moment generating function encloses the answer, for any law and at a cost that does not grow
with n. Rare large values are peeled off exactly first, and few-valued laws are enumerated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.frequencies import (
    LOG_FLOOR,
    MAX_EXPONENT,
    Measure,
    Product,
    inner,
    narrowed,
    scaled,
    shortest,
)
from shuffledp.numerics.one_gain import one_gain
from shuffledp.numerics.rounding import Array, all_orders, down, roundings, up
from shuffledp.numerics.search import bisect, bisect_whole

__all__ = ["Law", "mean_positive_part"]

_WEIGHT_ERROR = roundings(4)  # relative error granted to each weight
_MAX_VALUE = 1e300
_SUM_TOLERANCE = 1e-9  # how far the weights may sum from 1 (the defect is charged)
_MAX_ENUMERATION = 600_000  # atoms of V times atoms of the sum
_QUICK_ENUMERATION = 20_000  # the same where a coarse answer will do
_COARSE = 1e-3
_MAX_FREQUENCIES = 1 << 20
_MAX_WORK = 600_000_000  # frequencies times atoms
_BOX_DEPTHS = (70.0, 700.0)  # count ranges tried: outside, probability e^-depth is charged
_NEGLIGIBLE = 1e-18  # share of the result: a deeper box would not change a digit
_MARGIN = 1e-6  # granted to exponentials of rounded exponents (docs/proofs/engine.md, 4 and 5)
_MANY, _ALIKE = 1000, 0.4  # values taken together, and how near they must be for a width of 1
_SHARED = 2.0  # a group may spread as much farther
_SMALLEST = 1e-6  # in units of E|V|: smaller values count as that where a typical one is sought
_FEW = 32  # sums of so few rarely blur: there a shallow box, often of rare values, is tried too
_SHALLOW = 36.0
_TABULATED = 1 << 14  # factorials kept
_SHARE, _FAR = 1e-2, 4.0  # rare low values: what share of the width they may cost; how far below
_USELESS = 1e4  # so far above what one large value may bring, no tilt suits all scales
_STEEP = 20.0  # theta times the largest value: below, a tilt suits the sum
_WIDE = 0.2  # an interval of one large value against all: where it is wider, a tilt is tried too
_APART = 4  # of the tilts for rare large values, those looked at first
_FLOOR = 1e-300  # absolute resolution, in units of max |V|


@dataclass(frozen=True, eq=False, init=False)
class Law:
    """A discrete law: sorted distinct values, positive weights that sum to 1 up to rounding.

    The values are taken as exact. `error` bounds the relative error of *each* weight, so none may
    be what is left of 1 unless that is most of it: a law whose weights do not sum to 1 is refused
    rather than completed. `weight_error` adds 4 units of roundoff and what merging equal values
    costs, and covers the defect of the sum where that is larger.
    """

    values: Array
    weights: Array
    weight_error: float

    def __init__(self, values: ArrayLike, weights: ArrayLike, error: float = 0.0) -> None:
        v = np.asarray(values, dtype=np.float64)
        w = np.asarray(weights, dtype=np.float64)
        if v.ndim != 1 or v.shape != w.shape or v.size == 0:
            raise ValueError(
                "The 'values' and 'weights' of a Law must be one-dimensional, non-empty and of "
                f"equal length. Got shapes {v.shape} and {w.shape} instead."
            )
        if not ((np.abs(v) <= _MAX_VALUE).all() and np.isfinite(w).all()):
            raise ValueError(
                f"The 'values' of a Law must be within +-{_MAX_VALUE}, weights finite."
            )
        if (w < 0).any():
            raise ValueError(f"The 'weights' of a Law must be >= 0. Got {w.min()!r} instead.")
        defect = abs(math.fsum([*w.tolist(), -1.0]))
        if defect > _SUM_TOLERANCE:
            raise ValueError(
                f"The 'weights' of a Law must sum to 1. Got a sum off by {defect!r} instead."
            )
        distinct, index, copies = np.unique(v[w > 0], return_inverse=True, return_counts=True)
        merged = np.bincount(index, weights=w[w > 0])
        distinct.flags.writeable = merged.flags.writeable = False
        object.__setattr__(self, "values", distinct)
        object.__setattr__(self, "weights", merged)
        error = max(error, all_orders(defect)) + _WEIGHT_ERROR + roundings(float(copies.max()) - 1)
        object.__setattr__(self, "weight_error", error)

    def simpler(self, width: float, *, above: bool) -> Law:
        """Neighbouring values together if there are many, as far as hardly shows at this width.

        Each group at its mean is less in convex order, at its two ends with the mean kept more: the
        mean positive part is at most (``above``: at least) that of this law.
        """
        v, w = self.values, self.weights
        if v.size <= _MANY:
            return self
        size = np.abs(v)
        mean = float(w @ size)  # the scale: typical, not made large by a few huge values
        typical = np.clip(size, _SMALLEST * mean, mean) / mean
        log_scale = math.log(mean) + float(w @ np.log(typical))
        with np.errstate(divide="ignore"):
            place = np.sign(v) * np.logaddexp(0.0, np.log(size) - log_scale)
        place = np.floor(place / (_ALIKE * math.sqrt(width)))
        starts = np.flatnonzero(np.append(True, np.diff(place) > 0.0))
        ends = np.append(starts[1:], v.size) - 1
        weight, low, high = np.add.reduceat(w, starts), v[starts], v[ends]
        copies = float((ends - starts).max()) + 1.0
        means = np.add.reduceat(w * v, starts) / weight
        off = roundings(copies + 8.0) * np.add.reduceat(w * size, starts) / weight
        off += 4.0 * self.weight_error * (high - low)
        error = self.weight_error + roundings(copies)
        if not above:
            return Law(np.clip(means - off, low, high), weight, error)
        following = np.append(low[1:], high[-1])  # if near, one value for both groups
        high = np.where(following - low <= _SHARED * (high - low), following, high)
        gap = high - low
        share = np.divide(means + off - low, gap, out=np.ones_like(gap), where=gap > 0.0)
        share = np.clip(up(share, roundings(8)), 0.0, 1.0)
        return Law(
            np.concatenate([low, high]),
            np.concatenate([weight * (1.0 - share), weight * share]),
            error,
        )


def mean_positive_part(law: Law, n: int, *, width: float = 2e-3) -> Enclosure:
    """Enclose (1/n) E[(V_1 + ... + V_n)+] for iid V_i ~ law.

    `width` is the relative width aimed at; the interval is valid whether or not it is reached.
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise ValueError(f"The 'n' parameter must be an integer >= 1. Got {n!r} instead.")
    if not 0 < width < 1:
        raise ValueError(f"The 'width' parameter must be in (0, 1). Got {width!r} instead.")
    if law.values[-1] <= 0:
        return Enclosure(0.0, 0.0)
    if law.values.size == 1:
        return Enclosure(float(law.values[0]), float(law.values[0]))
    # A power-of-two unit is exact; what it pushes below the normal range is far below _FLOOR.
    exponent = math.frexp(float(np.abs(law.values).max()))[1]
    with np.errstate(under="ignore"):
        unit_law = Measure(np.ldexp(law.values, -exponent), law.weights, 0.0, law.weight_error)
        found = None
        if n * law.weights[0] <= _SHARE * width:
            found = _without_falls(unit_law, int(n), width)
        found = found or _enclose(unit_law, int(n), width)
    return Enclosure(_ldexp(found.lower, exponent, 0.0), _ldexp(found.upper, exponent, math.inf))


def _ldexp(x: float, exponent: int, towards: float) -> float:
    """x * 2^exponent, rounded in one direction where the result is subnormal."""
    y = math.ldexp(x, exponent)
    return y if math.ldexp(y, -exponent) == x else math.nextafter(y, towards)


def _without_falls(part: Measure, n: int, width: float) -> Enclosure | None:
    """Without the rarest low values, where they are far below all others: beside one hardly any
    sum is positive (docs/proofs/engine.md, section 4).

    With q = Pr[V <= cut], cut < 0, X the mean positive part of the law above the cut and x = nq:
    (1 - q)^n X <= E S+ / n <= (1 - q)^n X / (1 - x) <= (1 + x^2) X.
    """
    v, w = part.v, part.w
    error = part.rho + roundings(v.size + 16)
    below = n * (up(np.cumsum(w), error) + _FLOOR)
    first = int(np.count_nonzero((below <= _SHARE * width) & (v < 0.0)))
    if first == 0 or v[0] > _FAR * min(v[first], -_FLOOR):
        return None
    x, total = up(float(below[first - 1]), roundings(4)), math.fsum(w[first:].tolist())
    exponent = math.frexp(float(np.abs(v[first:]).max()))[1]
    inside = _enclose(
        Measure(np.ldexp(v[first:], -exponent), w[first:] / total, 0.0, 4.0 * error), n, width
    )
    lower = down(math.ldexp(inside.lower, exponent) * (1.0 - x), roundings(4)) - _FLOOR
    upper = up(math.ldexp(inside.upper, exponent) * (1.0 + x * x), roundings(4)) + _FLOOR
    return Enclosure(max(lower, 0.0), upper)


def _enclose(part: Measure, n: int, width: float) -> Enclosure:
    """The enclosure for a whole law with max |V| in [1/2, 1] and max V > 0."""
    terms = part.w * part.v
    slack = (part.rho + roundings(4)) * math.fsum(np.abs(terms).tolist()) + _FLOOR
    below, jump = _peel_jumps(part, n, width)
    if below.v.size == 0 or below.v[-1] <= _FLOOR:  # the mean is at most max V
        rest = Enclosure(0.0, 0.0)
    else:
        rest = _remainder(_Sums(below, n), width, jump.lower)
    lower = down(jump.lower + rest.lower, roundings(4)) - _FLOOR
    upper = up(jump.upper + rest.upper, roundings(4)) + _FLOOR
    jensen = math.fsum(terms.tolist()) - slack
    subadditive = up(math.fsum(np.maximum(terms, 0.0).tolist()), part.rho + roundings(4)) + _FLOOR
    return Enclosure(max(lower, jensen, 0.0), min(upper, subadditive))


def _peel_jumps(part: Measure, n: int, width: float) -> tuple[Measure, Enclosure]:
    """Split off the values so large that one of them makes the whole sum positive.

    With J = {some V_i >= cut}: E[S+; J] = E[S; J] + E[S-; J]; the first is explicit and the
    second at most n Pr[V >= cut] E(cut + S_(n-1))-, a Chernoff bound.
    Returns the law below the cut and an enclosure of (1/n) E[S+; J].
    """
    v, w = part.v, part.w
    mean = float(v @ w)
    if v[-1] < -(n - 1) * mean:
        return part, Enclosure(0.0, 0.0)
    alone = max(up((n - 1) * -float(v[0]), roundings(4)), 0.0)
    first = int(np.searchsorted(v, alone, "right"))
    log_deficit = -math.inf
    if v[0] < 0 and n > 1:
        grid = np.geomspace(1 / n, MAX_EXPONENT / max(-float(v[0]), 1e-100), 49)
        candidates = v[:first][v[:first] > 0]
        enough = np.log(candidates) + math.log(1e-3 * width)
        deficits, tilts = np.full(candidates.size, math.inf), grid[::_APART]
        for _ in range(2 if candidates.size else 0):  # then around the best of these
            values, errors = part.log_mgfs(-tilts)
            offsets = (n - 1) * (values + errors) - np.log(tilts) - 1
            offsets += roundings(16) * np.abs(offsets)
            found = offsets[:, None] - np.multiply.outer(down(tilts, roundings(16)), candidates)
            deficits = np.minimum(deficits, found.min(axis=0))
            around = _APART * int(np.argmin(found[:, int(np.argmax(deficits <= enough))]))
            tilts = grid[max(around - _APART + 1, 0) : around + _APART]
        good = np.flatnonzero(deficits <= enough)
        if good.size:
            log_deficit = float(deficits[good[0]])
            first += int(good[0]) - candidates.size
    if first == v.size:
        return part, Enclosure(0.0, 0.0)
    lost = min(math.fsum(w[first:].tolist()), 1.0)
    others = 0.0
    if n > 1:
        others = 1.0 if lost == 1.0 else -math.expm1((n - 1) * math.log1p(-lost))
    kept = math.fsum((w[:first] * v[:first]).tolist())
    jumps = math.fsum((w[first:] * v[first:]).tolist())
    spread = jumps + others * float(np.abs(v[:first]) @ w[:first])
    error = (4 * part.rho + roundings(64)) * spread
    value = jumps + others * kept
    deficit = up(lost * math.exp(log_deficit), _MARGIN)
    rest = Measure(v[:first], w[:first], lost, part.rho)
    return rest, Enclosure(max(value - error, 0.0), value + error + deficit)


def _remainder(sums: _Sums, width: float, known: float) -> Enclosure:
    """(1/n) E[S+] for what is left after the peeling, whose share `known` it will be added to."""
    n, part = sums.n, sums.part
    log_bound = n * (sums.log_m + sums.log_m_error) - math.log(n * sums.theta)
    if log_bound < LOG_FLOOR:  # E S+ <= M(theta)^n / (e theta)
        return Enclosure(0.0, 0.0)
    found = Enclosure(0.0, math.inf)
    most = _MAX_ENUMERATION if width < _COARSE or n <= _FEW else _QUICK_ENUMERATION
    if part.v.size <= 100 and n < 2**31:
        multisets = math.comb(n + part.v.size - 1, n) if min(n, part.v.size) <= 20 else math.inf
        for depth in (_SHALLOW, *_BOX_DEPTHS) if n <= _FEW else _BOX_DEPTHS:
            if min(sums.least_box(depth), multisets) * part.v.size > most:
                break
            box = sums.count_ranges(depth)
            size = math.prod(sorted(high - low + 1 for low, high in box)[:-1])
            if min(size, multisets) * part.v.size > most:
                break
            found, missed = _enumerate(sums, box, depth)
            if missed <= _NEGLIGIBLE * found.lower:
                break
    if found.upper - found.lower <= width * (found.lower + known):
        return found
    if sums.theta * part.v[-1] > _STEEP:
        bound = math.exp(min(log_bound, MAX_EXPONENT)) / _USELESS
        one = one_gain(part, n, width, known, bound, _excess)
        if one is not None:
            found, width = found.narrowed(one), max(width, _WIDE)
            if found.upper - found.lower <= width * (found.lower + known):
                return found
    other = _by_frequencies(sums, width, known)
    return Enclosure(max(found.lower, other.lower), min(found.upper, other.upper))


def _excess(part: Measure, n: int, width: float) -> Enclosure:
    return _remainder(_Sums(part, n), width, 0.0)


def _enumerate(sums: _Sums, box: list[tuple[int, int]], depth: float) -> tuple[Enclosure, float]:
    """(1/n) E[S+] over the multisets of n values with counts in the box, and what others add."""
    n, part = sums.n, sums.part
    order = np.argsort(sums.p)  # the likeliest value comes last and takes what is left
    v, log_w = part.v[order], np.log(part.w[order])
    # s = head + tail: the heads are multiples of 2^-20, so their sums are exact.
    head = np.rint(v * 2.0**20) * 2.0**-20
    tail = v - head
    left = np.array([n])
    log_p = np.array([math.lgamma(n + 1.0)])
    s_head, s_tail, blur = np.zeros((3, 1))
    for i in range(v.size):
        count = left
        if i < v.size - 1:
            low, high = box[order[i]]
            repeats = np.maximum(np.minimum(left, high) - low + 1, 0).astype(np.intp)
            starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
            count = np.arange(starts.size) - starts + low
            left, log_p, s_head, s_tail, blur = (
                np.repeat(a, repeats) for a in (left, log_p, s_head, s_tail, blur)
            )
        left = left - count
        log_p = log_p + _log_term(count, float(log_w[i]))
        s_head, s_tail = s_head + count * head[i], s_tail + count * tail[i]
        blur = blur + count * (roundings(v.size + 3) * abs(tail[i]))
    s = s_head + s_tail
    keep = s + blur > 0
    s, log_p, blur = s[keep], log_p[keep], blur[keep]
    top = float(log_p.max(initial=LOG_FLOOR))
    p = np.exp(log_p - top)
    size = 2 * math.lgamma(n + 1.0) - n * float(log_w.min())
    error = all_orders(n) * part.rho + roundings(16 * (v.size + 4) * (size + 8) + 2 * s.size)
    low_sum = inner(p, np.maximum(s - blur, 0.0)) * math.exp(-error) / n
    high_sum = inner(p, np.maximum(s + blur, 0.0)) * math.exp(error) / n + 1e-300
    # Outside the box: tilted probability < 2 v.size e^-depth, and S+ e^(-theta S) <= 1/theta.
    log_m = sums.log_m + sums.log_m_error
    missed = scaled(2 * v.size / (sums.theta * n), n * log_m - depth, 1)
    return Enclosure(scaled(low_sum, top, -1), scaled(high_sum, top, 1) + missed), missed


def _log_term(k: NDArray[np.int64], log_w: float) -> Array:
    """log(w^k / k!), from a table over the range of k."""
    if k.size == 0:
        return np.zeros(0)
    first, last = int(k.min()), int(k.max())
    table = np.arange(first, last + 1) * log_w - _log_factorials(first, last)
    return np.asarray(table[k - first])


def _log_factorials(first: int, last: int) -> Array:
    """log k! for all k of a range."""
    if last < _TABULATED:
        return _small_log_factorials()[first : last + 1]
    return np.array([math.lgamma(k + 1.0) for k in range(first, last + 1)])


@cache
def _small_log_factorials() -> Array:
    return np.array([math.lgamma(k + 1.0) for k in range(_TABULATED)])


def _by_frequencies(sums: _Sums, width: float, known: float) -> Enclosure:
    """(1/n) E[S+] by the module's formula, next to ``known``."""
    n, theta, transform = sums.n, sums.theta, sums.transform
    # Everything is in units of M(theta)^n from here; the saddle point gives a first estimate.
    estimate = 1 / (theta * math.sqrt(2 * math.pi * (2 + (theta * transform.sd) ** 2)))
    offset = known * n * math.exp(min(-n * sums.log_m, 600.0))
    limit = min(_MAX_FREQUENCIES, _MAX_WORK // sums.p.size)
    most = Enclosure(0.0, up(1 / (math.e * theta), roundings(4)))  # x+ <= e^(theta x) / (e theta)
    best = narrowed(
        transform, PLUS, sums.window, most, estimate, offset, width, limit, sums.mass_at_zero()
    )
    slack = n * sums.log_m_error
    return Enclosure(
        scaled(best.lower / n, n * sums.log_m - slack, -1),
        scaled(best.upper / n, n * sums.log_m + slack, 1),
    )


class _Plus:
    """The payoff x+: F^ = 1/s^2, F^ - G^ = b^2 (docs/proofs/engine.md, sections 1 and 2)."""

    cut = 6.0

    def centre(self, theta: float, b: float) -> tuple[float, float]:
        return 1 / theta**2, b * b

    def sums(
        self, theta: float, b: float, omega: Array, re: Array, im: Array
    ) -> tuple[Array, Array]:
        norm = theta * theta + omega * omega
        smooth = (re * (theta - omega) * (theta + omega) + im * (2 * theta * omega)) / norm**2
        return smooth.sum(axis=-1), b * b * re.sum(axis=-1)

    def size(self, theta: float, b: float, omega: Array) -> Array:
        return 1 / (theta * theta + omega * omega) + b * b

    def beyond(self, b: float, first: float) -> float:
        steep = math.exp(-((b * first) ** 2) / 2) * (1 / (b * b * first**3) + 1 / first)
        return min(steep, 1 / first + 1.26 * b)  # sqrt(pi / 2) < 1.26


PLUS = _Plus()


class _Sums:
    """The n-fold sum S of a law, tilted by theta."""

    def __init__(self, part: Measure, n: int) -> None:
        self.part, self.n = part, n
        v = part.v
        # Roughly the theta that minimises M(theta)^n / theta^2; any theta > 0 is valid.
        self.theta = math.exp(
            bisect(
                lambda x: n * math.exp(x) * part.tilted_mean(math.exp(x)) <= 2,
                math.log(0.5 / n),
                math.log(MAX_EXPONENT / float(v[-1])),
                within=0.02,
            ).good
        )
        self.transform = Product([(part, n)], self.theta)
        (factor,) = self.transform.factors
        self.log_m, self.log_m_error, self.p = factor.log_m, factor.log_m_error, factor.p

    def least_box(self, depth: float) -> float:
        """About the least that the product of the ranges below, without the longest, can be."""
        mean = self.n * self.p
        below = np.log1p(np.minimum(mean, np.sqrt(2 * depth * mean)))
        return down(math.exp(min(float(below.sum() - below.max()), 700.0)), 1e-3)

    def count_ranges(self, depth: float) -> list[tuple[int, int]]:
        """For each value, a range its count leaves with probability < 2 e^-depth."""
        means = up(self.n * self.p, _MARGIN).tolist()
        return [(self._fewest(mean, depth), self._most(mean, depth)) for mean in means]

    def _fewest(self, mean: float, depth: float) -> int:
        return max(0, math.floor(down(mean, 2 * _MARGIN) - math.sqrt(2 * depth * mean)))

    def _most(self, mean: float, depth: float) -> int:
        """Poisson bound: Pr[count >= c] <= exp(-c log(c / mean) + c - mean) for c > mean."""

        def rare(c: int) -> bool:
            return mean == 0 or c * math.log(c / mean) - c + mean > depth

        above = bisect_whole(rare, math.ceil(2 * mean + 2 * depth), math.floor(mean)).good
        return min(above - 1, self.n)

    def window(self, target: float) -> tuple[float, float]:
        """Frequency step 2 pi / P, and a bound (about `target`) on the share of kP, k != 0."""
        theta, top = self.theta, float(self.part.v[-1])
        log_target = math.log(target)
        log_mass = float(self.transform.log_growth(np.zeros(1), exact=True)[0])
        left = 1 / theta  # k >= 1: e^(-theta k P) E(S + kP)+
        for _ in range(4):
            left = max(log_mass + math.log(4 * left) - log_target, 4.0) / theta
        # k <= -1: e^(theta |k| P) E(S - |k|P)+, none beyond the range of S, else Chernoff.
        right, gap, log_bound = up(self.n, 0.01) * top, math.inf, 0.0
        gaps = np.geomspace(0.1, 100, 16) / max(self.transform.sd, 1e-3 / theta)
        gaps = gaps[(theta + gaps) * top <= 1.1 * MAX_EXPONENT]
        if gaps.size:
            log_bounds = self.transform.log_growth(theta + gaps) - (np.log(theta + gaps) + 1)
            found = shortest(gaps, log_bounds, log_target)
            right, gap, log_bound = min((right, gap, log_bound), found)
        period = max(left, right)
        q, r = math.exp(-theta * period), math.exp(-gap * period)
        alias = q / (1 - q) / (math.e * theta)
        alias += math.exp(log_mass - theta * period) * period / (1 - q) ** 2
        alias += math.exp(log_bound - gap * period) / (1 - r)
        return 2 * math.pi / period, all_orders(alias)

    def mass_at_zero(self) -> float:
        """At most Pr[all V_i = 0] / M(theta)^n: there F is too large by F(0) for sure."""
        zero = self.part.w[self.part.v == 0]
        if zero.size == 0:
            return 0.0
        log_w = math.log(float(zero[0]))
        slack = self.part.rho + roundings(4) * (1 + abs(log_w)) + self.log_m_error
        return math.exp(self.n * (min(log_w, 0.0) - self.log_m - slack))
