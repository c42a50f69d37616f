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

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.numerics.binomial import Array
from shuffledp.numerics.binomial import U as _U
from shuffledp.numerics.characteristic import characteristic
from shuffledp.numerics.enclosure import Enclosure

__all__ = ["Law", "mean_positive_part"]

_WEIGHT_ERROR = 4 * _U  # relative error granted to each weight
_MAX_VALUE = 1e300
_SUM_TOLERANCE = 1e-9  # how far the weights may sum from 1 (the defect is charged)
_MAX_EXPONENT = 600.0  # theta * max V is kept below this, so that nothing overflows
_GAUSS_CUT = 6.0  # frequencies beyond _GAUSS_CUT / b are charged, not summed
_SKIP_LOG = 45.0  # powers of the characteristic function below e^-45 are charged, not summed
_MAX_ENUMERATION = 600_000  # atoms of V times atoms of the sum
_QUICK_ENUMERATION = 20_000  # the same where a coarse answer will do
_COARSE = 1e-3
_MAX_FREQUENCIES = 1 << 20
_MAX_WORK = 600_000_000  # frequencies times atoms
_BOX_DEPTHS = (700.0, 70.0)  # count ranges tried: outside, probability e^-depth is charged
_FEW = 32  # sums of so few rarely blur: there a shallow box, often of rare values, is tried too
_SHALLOW = 36.0
_MAX_ROUNDS = 6
_BLOCK = 1 << 16
_NORMAL_AT_ZERO = 0.3989  # at most 1 / sqrt(2 pi)
_FLOOR = 1e-300  # absolute resolution, in units of max |V|
_LOG_FLOOR = -692.0  # e^-692 < _FLOOR / 2


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
        error = max(error, 1.01 * defect) + _WEIGHT_ERROR + (float(copies.max()) - 1) * _U
        object.__setattr__(self, "weight_error", error)


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
        unit_law = _Part(np.ldexp(law.values, -exponent), law.weights, 0.0, law.weight_error)
        found = _enclose(unit_law, int(n), width)
    return Enclosure(_ldexp(found.lower, exponent, 0.0), _ldexp(found.upper, exponent, math.inf))


@dataclass(frozen=True)
class _Part:
    """A law without the mass `lost`; true weights are w (1 +- rho) and sum to 1 - lost."""

    v: Array
    w: Array
    lost: float
    rho: float

    def log_mgf(self, theta: float) -> tuple[float, float]:
        """log E[e^(theta V)] and a bound on its error; accurate near 0, where n multiplies it."""
        (value,), (error,) = self._log_mgfs(np.array([theta]), exact=True)
        return float(value), float(error)

    def log_mgfs(self, thetas: Array) -> tuple[Array, Array]:
        """The same at several places, cheaper and less accurate."""
        rows = max(_BLOCK // self.v.size, 1)
        parts = [thetas[i : i + rows] for i in range(0, thetas.size, rows)]
        values, errors = zip(*(self._log_mgfs(part, exact=False) for part in parts), strict=True)
        return np.concatenate(values), np.concatenate(errors)

    def _log_mgfs(self, thetas: Array, exact: bool) -> tuple[Array, Array]:
        x = np.multiply.outer(thetas, self.v)
        moved = self.w * np.expm1(x)
        tilted = self.w * np.exp(x)
        if exact:
            drift = np.array([math.fsum([*row, -self.lost]) for row in moved.tolist()])
        else:
            drift = moved.sum(axis=1) - self.lost
        near = drift > -0.5  # else the total itself is the accurate one
        rounding = self.rho + 12 * _U + np.where(near & exact, 0.0, (self.v.size + 1) * _U)
        total = np.where(near, 1 + drift, tilted.sum(axis=1))
        value = np.where(near, np.log1p(np.maximum(drift, -0.5)), np.log(total))
        size = np.where(near, np.abs(moved).sum(axis=1) + self.lost, total)
        slack = rounding * size + 3 * _U * np.einsum("ij,ij->i", np.abs(x), tilted)  # rounding of x
        return value, 1.01 * slack / total + 16 * _U * np.abs(value)


def _ldexp(x: float, exponent: int, towards: float) -> float:
    """x * 2^exponent, rounded in one direction where the result is subnormal."""
    y = math.ldexp(x, exponent)
    return y if math.ldexp(y, -exponent) == x else math.nextafter(y, towards)


def _enclose(part: _Part, n: int, width: float) -> Enclosure:
    """The enclosure for a whole law with max |V| in [1/2, 1] and max V > 0."""
    terms = part.w * part.v
    slack = (part.rho + 4 * _U) * math.fsum(np.abs(terms).tolist()) + _FLOOR
    below, jump = _peel_jumps(part, n, width)
    if below.v.size == 0 or below.v[-1] <= _FLOOR:  # the mean is at most max V
        rest = Enclosure(0.0, 0.0)
    else:
        rest = _remainder(_Tilted(below, n), width, jump.lower)
    lower = (jump.lower + rest.lower) * (1 - 4 * _U) - _FLOOR
    upper = (jump.upper + rest.upper) * (1 + 4 * _U) + _FLOOR
    jensen = math.fsum(terms.tolist()) - slack
    subadditive = math.fsum(np.maximum(terms, 0.0).tolist()) + slack
    return Enclosure(max(lower, jensen, 0.0), min(upper, subadditive))


def _peel_jumps(part: _Part, n: int, width: float) -> tuple[_Part, Enclosure]:
    """Split off the values so large that one of them makes the whole sum positive.

    With J = {some V_i >= cut}: E[S+; J] = E[S; J] + E[S-; J]; the first is explicit and the
    second at most n Pr[V >= cut] E(cut + S_(n-1))-, a Chernoff bound.
    Returns the law below the cut and an enclosure of (1/n) E[S+; J].
    """
    v, w = part.v, part.w
    mean = float(v @ w)
    if v[-1] < -(n - 1) * mean:
        return part, Enclosure(0.0, 0.0)
    first = int(np.searchsorted(v, max((n - 1) * -float(v[0]) * (1 + 4 * _U), 0.0), "right"))
    log_deficit = -math.inf
    if v[0] < 0 and n > 1:
        grid = np.geomspace(1 / n, _MAX_EXPONENT / max(-float(v[0]), 1e-100), 48)
        values, errors = part.log_mgfs(-grid)
        offsets = (n - 1) * (values + errors) - np.log(grid) - 1
        offsets += 16 * _U * np.abs(offsets)
        candidates = v[:first][v[:first] > 0]
        reach = np.multiply.outer(grid * (1 - 16 * _U), candidates)
        deficits = np.min(offsets[:, None] - reach, axis=0)
        good = np.flatnonzero(deficits <= np.log(candidates) + math.log(1e-3 * width))
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
    error = (4 * part.rho + 64 * _U) * spread
    value = jumps + others * kept
    deficit = lost * math.exp(log_deficit) * (1 + 1e-6)
    rest = _Part(v[:first], w[:first], lost, part.rho)
    return rest, Enclosure(max(value - error, 0.0), value + error + deficit)


def _remainder(tilted: _Tilted, width: float, known: float) -> Enclosure:
    """(1/n) E[S+] for what is left after the peeling, whose share `known` it will be added to."""
    n, part = tilted.n, tilted.part
    log_bound = n * (tilted.log_m + tilted.log_m_error) - math.log(n * tilted.theta)
    if log_bound < _LOG_FLOOR:  # E S+ <= M(theta)^n / (e theta)
        return Enclosure(0.0, 0.0)
    found = Enclosure(0.0, math.inf)
    most = _MAX_ENUMERATION if width < _COARSE or n <= _FEW else _QUICK_ENUMERATION
    if part.v.size <= 100 and n < 2**31:
        multisets = math.comb(n + part.v.size - 1, n) if min(n, part.v.size) <= 20 else math.inf
        for depth in (*_BOX_DEPTHS, _SHALLOW) if n <= _FEW else _BOX_DEPTHS:
            if min(tilted.least_box(depth), multisets) * part.v.size > most:
                continue
            box = tilted.count_ranges(depth)
            size = math.prod(sorted(high - low + 1 for low, high in box)[:-1])
            if min(size, multisets) * part.v.size <= most:
                found = _enumerate(tilted, box, depth)
                break
    if found.upper - found.lower > width * (found.lower + known):
        other = _by_frequencies(tilted, width, known)
        found = Enclosure(max(found.lower, other.lower), min(found.upper, other.upper))
    return found


def _enumerate(tilted: _Tilted, box: list[tuple[int, int]], depth: float) -> Enclosure:
    """(1/n) E[S+] over the multisets of n values whose counts lie in the box of that depth."""
    n, part = tilted.n, tilted.part
    order = np.argsort(tilted.p)  # the likeliest value comes last and takes what is left
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
            repeats = np.maximum(np.minimum(left, high) - low + 1, 0)
            starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
            count = np.arange(starts.size) - starts + low
            left, log_p, s_head, s_tail, blur = (
                np.repeat(a, repeats) for a in (left, log_p, s_head, s_tail, blur)
            )
        left = left - count
        log_p = log_p + count * log_w[i] - _log_factorial(count)
        s_head, s_tail = s_head + count * head[i], s_tail + count * tail[i]
        blur = blur + count * ((v.size + 3) * _U * abs(tail[i]))
    s = s_head + s_tail
    keep = s + blur > 0
    s, log_p, blur = s[keep], log_p[keep], blur[keep]
    top = float(log_p.max(initial=_LOG_FLOOR))
    p = np.exp(log_p - top)
    size = 2 * math.lgamma(n + 1.0) - n * float(log_w.min())
    error = 1.01 * n * part.rho + (16 * (v.size + 4) * (size + 8) + 2 * s.size) * _U
    low_sum = float(p @ np.maximum(s - blur, 0.0)) * math.exp(-error) / n
    high_sum = float(p @ np.maximum(s + blur, 0.0)) * math.exp(error) / n + 1e-300
    # Outside the box: tilted probability < 2 v.size e^-depth, and S+ e^(-theta S) <= 1/theta.
    log_m = tilted.log_m + tilted.log_m_error
    missed = _scaled(2 * v.size / (tilted.theta * n), n * log_m - depth, 1)
    return Enclosure(_scaled(low_sum, top, -1), _scaled(high_sum, top, 1) + missed)


def _log_factorial(k: NDArray[np.int64]) -> Array:
    """log k!, from a table over the range of k."""
    if k.size == 0:
        return np.zeros(0)
    first = int(k.min())
    table = [math.lgamma(j + 1.0) for j in range(first, int(k.max()) + 1)]
    return np.array(table)[k - first]


def _scaled(x: float, log_factor: float, sign: int) -> float:
    """x e^log_factor rounded in the direction of `sign`; 0 if x <= 0 or the result < _FLOOR."""
    if x <= 0:
        return 0.0
    y = math.log(x) + log_factor
    if y < _LOG_FLOOR:
        return 0.0
    return math.exp(y + sign * 8 * _U * (1 + abs(y) + abs(log_factor)))


def _by_frequencies(tilted: _Tilted, width: float, known: float) -> Enclosure:
    """(1/n) E[S+] by the module's formula; b and P adapt until the aimed width is reached."""
    n, theta = tilted.n, tilted.theta
    # Everything is in units of M(theta)^n from here; the saddle point gives a first estimate.
    estimate = 1 / (theta * math.sqrt(2 * math.pi * (2 + (theta * tilted.sd) ** 2)))
    offset = known * n * math.exp(min(-n * tilted.log_m, 600.0))
    limit = min(_MAX_FREQUENCIES, _MAX_WORK // tilted.p.size)
    b = math.sqrt(0.7 * width) / theta
    best = Enclosure(0.0, 1 / (math.e * theta) * (1 + 4 * _U))
    for _ in range(_MAX_ROUNDS if theta < 1e60 else 0):  # beyond, omega^4 may overflow
        step, alias = tilted.window(0.02 * width * (estimate + offset))
        exhausted = b * step * limit < _GAUSS_CUT
        if exhausted:
            b = _GAUSS_CUT / (step * limit)
        if b * theta > 10:
            break
        found = tilted.frequency_sum(step, b)
        best = Enclosure(max(best.lower, found.lower - alias), min(best.upper, found.upper))
        got = (best.upper - best.lower) / (best.upper + offset)
        if got <= width or exhausted:
            break
        estimate = max(best.lower, 1e-3 * best.upper)
        b *= min(max(0.7 * width / got, 0.01), 0.5)
    slack = n * tilted.log_m_error
    return Enclosure(
        _scaled(best.lower / n, n * tilted.log_m - slack, -1),
        _scaled(best.upper / n, n * tilted.log_m + slack, 1),
    )


class _Tilted:
    """The law p = w e^(theta v) / M(theta), its n-fold sum S, and the sums over frequencies."""

    def __init__(self, part: _Part, n: int) -> None:
        self.part, self.n = part, n
        v = part.v
        # Roughly the theta that minimises M(theta)^n / theta^2; any theta > 0 is valid.
        low, high = math.log(0.5 / n), math.log(_MAX_EXPONENT / float(v[-1]))
        while high - low > 0.02:
            middle = (low + high) / 2
            q = part.w * np.exp(math.exp(middle) * v)
            if n * math.exp(middle) * float(v @ q) > 2 * float(q.sum()):
                high = middle
            else:
                low = middle
        self.theta = math.exp(low)
        self.log_m, self.log_m_error = part.log_mgf(self.theta)
        log_w = np.log(part.w)
        self.p = np.exp(self.theta * v + log_w - self.log_m)
        centred = v - float(self.p @ v)
        self.variance = float(self.p @ centred**2)  # of one V
        self.fourth = 2 * float(self.p @ centred**4) + 6 * self.variance**2  # E (V - V')^4
        self.sd = math.sqrt(n * self.variance)  # of S
        # The computed characteristic function at omega is off by at most slope * omega.
        relative = (6 * v.size + 200 + 4 * abs(self.log_m)) * _U + part.rho + self.log_m_error
        each = relative + 12 * _U * (np.abs(self.theta * v) + np.abs(log_w))
        self.slope = 1.01 * float((self.p * each) @ np.abs(v))

    def least_box(self, depth: float) -> float:
        """About what the product of the ranges below, without the longest, is at least."""
        mean = self.n * self.p
        below = np.log1p(np.minimum(mean, np.sqrt(2 * depth * mean)))
        return math.exp(min(float(below.sum() - below.max()), 700.0)) * (1 - 1e-3)

    def count_ranges(self, depth: float) -> list[tuple[int, int]]:
        """For each value, a range its count leaves with probability < 2 e^-depth."""
        ranges = []
        for mean in (self.n * self.p * (1 + 1e-6)).tolist():
            low = max(0, math.floor(mean * (1 - 2e-6) - math.sqrt(2 * depth * mean)))
            # Poisson bound: Pr[count >= c] <= exp(-c log(c / mean) + c - mean) for c > mean.
            below, above = math.floor(mean), math.ceil(2 * mean + 2 * depth)
            while above - below > 1:
                c = (below + above) // 2
                enough = mean == 0 or c * math.log(c / mean) - c + mean > depth
                below, above = (below, c) if enough else (c, above)
            ranges.append((low, min(above - 1, self.n)))
        return ranges

    def window(self, target: float) -> tuple[float, float]:
        """Frequency step 2 pi / P, and a bound (about `target`) on the share of kP, k != 0."""
        n, theta, part = self.n, self.theta, self.part
        log_target = math.log(target)
        value, error = part.log_mgf(0.0)
        log_mass = n * (value + error - self.log_m + self.log_m_error)
        left = 1 / theta  # k >= 1: e^(-theta k P) E(S + kP)+
        for _ in range(4):
            left = max(log_mass + math.log(4 * left) - log_target, 4.0) / theta
        # k <= -1: e^(theta |k| P) E(S - |k|P)+, none beyond the range of S, else Chernoff.
        right, best_gap, best_log = 1.01 * n * float(part.v[-1]), math.inf, 0.0
        gaps = np.geomspace(0.1, 100, 16) / max(self.sd, 1e-3 / theta)
        gaps = gaps[(theta + gaps) * part.v[-1] <= 1.1 * _MAX_EXPONENT]
        if gaps.size:
            values, errors = part.log_mgfs(theta + gaps)
            log_bounds = n * (values + errors - self.log_m + self.log_m_error)
            log_bounds -= np.log(theta + gaps) + 1
            lengths = np.maximum(log_bounds - log_target + 1, 1.0) / gaps
            best = int(np.argmin(lengths))
            if lengths[best] < right:
                right, best_gap, best_log = (float(a[best]) for a in (lengths, gaps, log_bounds))
        period = max(left, right)
        q, r = math.exp(-theta * period), math.exp(-best_gap * period)
        alias = q / (1 - q) / (math.e * theta)
        alias += math.exp(log_mass - theta * period) * period / (1 - q) ** 2
        alias += math.exp(best_log - best_gap * period) / (1 - r)
        return 2 * math.pi / period, 1.01 * alias

    def frequency_sum(self, step: float, b: float) -> Enclosure:
        """Enclosure of sum_k e^(-theta k P) E F(S + kP) above and of the same for G below."""
        n, theta = self.n, self.theta
        # Where the variance bound makes |phi|^n < e^-_SKIP_LOG nothing is evaluated.
        last = math.ceil(_GAUSS_CUT / (b * step))
        skip_from, skip_to = last + 1, last
        need = -math.expm1(-2 * _SKIP_LOG / n)
        variance = self.variance * (1 - 1e-6) - (2 * (self.p.size + 100) * _U) ** 2
        quartic = self.fourth * (1 + 1e-6) / 24
        root = variance**2 - 4 * quartic * need
        if variance > 0 and root > 0:
            top = variance + math.sqrt(root)
            skip_from = min(math.ceil(math.sqrt(2 * need / top) / step) + 1, last + 1)
            skip_to = min(math.floor(math.sqrt(top / (2 * quartic)) / step) - 1, last)
        sums = np.zeros(4)
        for start, stop in ((1, skip_from), (max(skip_to + 1, skip_from), last + 1)):
            for block in range(start, stop, _BLOCK):
                sums += self._terms(step, b, block, min(_BLOCK, stop - block))
        smooth, kernel, absolute, error = sums.tolist()
        error += (last + 100) * _U * (absolute + 1 / theta**2 + b * b)
        cut = last * step
        error += math.exp(-((b * cut) ** 2) / 2) * (1 / (b * b * cut**3) + 1 / cut) / step
        if skip_from <= skip_to:
            error += math.exp(-_SKIP_LOG) * (1 / ((skip_from - 1) * step) + 1.26 * b) / step
        factor = math.exp((b * theta) ** 2 / 2) * step / (2 * math.pi)
        centre = 1 / theta**2
        return Enclosure(
            factor * (centre - b * b + 2 * (smooth - kernel - error)),
            factor * (centre + 2 * (smooth + error)) - self._mass_at_zero() * b * _NORMAL_AT_ZERO,
        )

    def _terms(self, step: float, b: float, start: int, count: int) -> Array:
        """Sums over one block of frequencies: for F, for F - G, of moduli, of error bounds."""
        n, theta = self.n, self.theta
        omega = np.arange(start, start + count) * step
        x, y = characteristic(self.part.v, self.p, step, start, count)
        excess = 2 * x + x * x + y * y  # |phi|^2 - 1
        excess_error = 4 * _U * (2 * np.abs(x) + x * x + y * y)
        log_modulus = 0.5 * np.log1p(np.maximum(excess, _U - 1))
        argument = np.arctan2(y, 1 + x)
        gauss = np.exp(-0.5 * (b * omega) ** 2)
        modulus = np.exp(n * log_modulus) * gauss
        phase = n * argument + b * b * theta * omega
        norm = theta * theta + omega * omega
        re, im = modulus * np.cos(phase), modulus * np.sin(phase)
        smooth = (re * (theta - omega) * (theta + omega) + im * (2 * theta * omega)) / norm**2
        # |a^n - b^n| <= n |a - b| max(|a|, |b|)^(n-1), here with a power that suits n = 2 too.
        shift = self.slope * omega
        largest = np.log1p(np.maximum(excess + 3 * shift + excess_error, _U - 1))
        power = np.exp((0.5 * n - 1) * largest) * gauss
        size = 1 / norm + b * b
        angles = n * np.abs(argument) + b * b * (theta + omega) * omega
        relative = 64 * _U * (1 + angles + n * np.abs(log_modulus))
        shift_error = n * (shift * (1.01 + 3 * shift) + excess_error) * power
        error = 1.01 * float((shift_error + relative * modulus) @ size)
        return np.array([smooth.sum(), b * b * re.sum(), modulus @ size, error])

    def _mass_at_zero(self) -> float:
        """At most Pr[all V_i = 0] / M(theta)^n: there F is too large by F(0) for sure."""
        zero = self.part.w[self.part.v == 0]
        if zero.size == 0:
            return 0.0
        log_w = math.log(float(zero[0]))
        slack = self.part.rho + 4 * _U * (1 + abs(log_w)) + self.log_m_error
        return math.exp(self.n * (min(log_w, 0.0) - self.log_m - slack))
