"""Certified Rényi moments of the two-sided trinomial pair, at any real order > 1.

With c informative reports and y the mean of c fair signs, the two likelihoods relative to the
common base law are B + s y and B - s y, B = base + base_fixed (n - c) / c. So, with the tangent
plane taken off (its mean is 1),

    exp((order - 1) D) - 1 = E[ psi(B, s y) ],
    psi(B, v) = (B + v)^order (B - v)^(1 - order) - order (B + v) - (1 - order)(B - v) >= 0.

psi is convex in v and falls with B, and more signs are less spread: groups of counts are bounded
from their ends, groups of y by the chord (upper) and by their mean (lower), so every truncation
and every rounding is inside the enclosure, and nothing cancels however small the divergence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.numerics.binomial import half_tail, log_mass_half
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.logs import log, log1p_exp, log_convex_gap
from shuffledp.numerics.rounding import BELOW_ONE, Array, down, roundings, up
from shuffledp.numerics.search import bisect_each
from shuffledp.numerics.window import chernoff, first_groups, group_masses, quantile

_EXACT_N = 600
_FIRST_GROUPS = 48
_MOST_GROUPS = 400
_GROUPED_WIDTH = 1e-4
_SUMMED_SIGNS = 512
_SPACING = 0.1
_DEEPEST = 650.0
_SQUARE_UNDERFLOWS = 1e-150
_BLOCK = 64
_SUMS = 1e-13
"""Granted to ln(1 + moment), its sum of up to _MOST_GROUPS terms included (numerics.md,
"Rounding by name")."""


@dataclass(frozen=True)
class TwoSidedRenyi:
    """Parameters above; ``gap`` = base - slope without cancellation, ``eps0`` bounds |ln ratio|."""

    n: int
    p: float
    q: float
    base: float
    slope: float
    gap: float
    eps0: float
    base_fixed: float = 0.0

    @property
    def _count(self) -> tuple[float, float, float]:
        """Law of the number of informative reports besides the victim's (none if p underflows)."""
        return (self.n - 1.0, self.p, self.q) if self.p > 0.0 else (0.0, 0.5, 0.5)

    def divergence(self, order: float) -> Enclosure:
        """Enclosure of the Rényi divergence of the given order (> 1)."""
        if self.eps0 < _SQUARE_UNDERFLOWS:  # at most order eps0^2 / 2 (Bun, Steinke 2016, 3.3)
            most = up(0.5 * order * self.eps0 * self.eps0, roundings(8))
            return Enclosure(0.0, min(math.nextafter(most, 1.0), self.eps0))
        log_lower, log_upper = self._log_moment(order)
        margin = _SUMS + roundings(256.0 * order) / (order - 1.0)
        lower = down(log1p_exp(log_lower) / (order - 1.0), margin)
        upper = up(log1p_exp(log_upper) / (order - 1.0), margin)
        lower, upper = math.nextafter(lower, -math.inf), math.nextafter(upper, math.inf)
        return Enclosure(min(max(lower, 0.0), self.eps0), min(upper, self.eps0))

    def _log_moment(self, order: float) -> tuple[float, float]:
        """ln of a lower and an upper bound of E[psi]."""
        count = self._count
        cap = (order - 1.0) * self.eps0
        centre = np.array([math.floor(count[0] * self.p) + 1.0])
        seen = max(float(self._log_rows(centre, centre, order)[0][0]), -700.0)
        reach = min(36.0 + cap - seen, _DEEPEST)
        first = quantile(reach, -1, *count) + 1.0
        last = quantile(reach if self.base_fixed else 36.0, 1, *count) + 1.0
        if self.n <= _EXACT_N:
            starts = ends = np.arange(first, last + 1.0)
        else:
            starts, ends = self._groups(first, last, order)
        low, high = self._log_rows(starts, ends, order)
        mass_low, mass_high = group_masses(starts - 1.0, ends - 1.0, *count)
        top = float(high.max())
        lower = float(np.sum(mass_low * np.exp(low - top)))
        upper = float(np.sum(mass_high * np.exp(high - top)))
        log_upper = top + math.log(upper)
        if first > 1.0:
            log_upper = np.logaddexp(log_upper, self._log_below(first, order))
        if last <= count[0]:  # without base_fixed E[psi | c] falls with c
            ceiling = cap if self.base_fixed else float(high[-1])
            log_upper = np.logaddexp(log_upper, ceiling - chernoff(last, *count))
        return (math.log(lower) if lower > 0.0 else -math.inf) + top, float(log_upper)

    def _log_below(self, first: float, order: float) -> float:
        """ln of an upper bound of the part with fewer than ``first`` informative reports."""
        steps = 1 + int(math.log(first) / 0.2)
        cuts = np.unique(np.floor(np.geomspace(1.0, first, steps + 1)))
        rows = self._log_rows(cuts[:-1], cuts[1:] - 1.0, order)[1]
        exponents = [chernoff(cut - 2.0, *self._count) for cut in cuts[1:]]
        return float(np.logaddexp.reduce(rows - np.array(exponents)))

    def _groups(self, first: float, last: float, order: float) -> tuple[Array, Array]:
        """Cut first..last where it matters: split the groups whose counts differ most."""
        starts, ends = first_groups(first, last, _FIRST_GROUPS)
        rows = self._row_ends(starts, ends, order)
        while len(starts) < _MOST_GROUPS:
            mass = group_masses(starts - 1.0, ends - 1.0, *self._count)[1]
            most = log(mass) + rows[1]
            spread = np.exp(most - most.max()) * -np.expm1(np.minimum(rows[0] - rows[1], 0.0))
            goal = _GROUPED_WIDTH * float(np.exp(most - most.max()).sum())
            split = (spread > goal / len(spread)) & (ends > starts)
            if spread[ends > starts].sum() <= goal or not np.any(split):
                break
            pieces = [
                first_groups(a, b, 4) for a, b in zip(starts[split], ends[split], strict=True)
            ]
            new_starts = np.concatenate([piece[0] for piece in pieces])
            new_ends = np.concatenate([piece[1] for piece in pieces])
            rows = np.append(rows[:, ~split], self._row_ends(new_starts, new_ends, order), axis=1)
            starts = np.append(starts[~split], new_starts)
            ends = np.append(ends[~split], new_ends)
            rank = np.argsort(starts)
            starts, ends, rows = starts[rank], ends[rank], rows[:, rank]
        return starts, ends

    def _row_ends(self, starts: Array, ends: Array, order: float) -> Array:
        """ln of upper bounds of E[psi | c] at the last and at the first count of each group."""
        blocks = [slice(i, i + _BLOCK) for i in range(0, len(starts), _BLOCK)]
        return np.array(
            [
                np.concatenate(
                    [self._log_mean_psi(c[k], self._extra(other[k]), order)[1] for k in blocks]
                )
                for c, other in ((ends, starts), (starts, ends))
            ]
        )

    def _extra(self, c: Array) -> Array:
        """What the fixed part adds to the base at count c; kept apart, for it may be tiny."""
        return np.asarray(self.base_fixed * (self.n - c) / c)

    def _log_rows(self, starts: Array, ends: Array, order: float) -> tuple[Array, Array]:
        """ln of lower and upper bounds of E[psi | c] for every c in each group."""
        rows: list[tuple[Array, Array]] = []
        for i in range(0, len(starts), _BLOCK):
            a, b = starts[i : i + _BLOCK], ends[i : i + _BLOCK]
            low = self._log_mean_psi(b, self._extra(a), order)
            high = low if starts is ends else self._log_mean_psi(a, self._extra(b), order)
            rows.append((low[0], high[1]))
        return np.concatenate([r[0] for r in rows]), np.concatenate([r[1] for r in rows])

    def _log_psi(self, y: Array, extra: Array, order: float) -> Array:
        """ln of psi(base + extra, slope*y) + psi(base + extra, -slope*y) for 0 <= y <= 1."""
        small = extra + self.gap + self.slope * (1.0 - y)
        large = self.base + extra + self.slope * y
        log_ratio = np.log1p(2.0 * self.slope * y / small)
        up = np.log(small) + log_convex_gap(log_ratio, order)
        down = np.log(large) + log_convex_gap(-log_ratio, order)
        return np.logaddexp(up, down)

    def _log_mean_psi(self, signs: Array, extra: Array, order: float) -> tuple[Array, Array]:
        """ln of lower and upper bounds of E[psi(base + extra, slope*y)],
        y the mean of ``signs`` signs."""
        if self.n <= _EXACT_N or float(signs.max()) <= _SUMMED_SIGNS:
            return self._summed(signs, extra, order)
        few = signs <= _SUMMED_SIGNS
        if not np.any(few):
            return self._grouped(signs, extra, order)
        low, high = np.empty_like(signs), np.empty_like(signs)
        low[few], high[few] = self._summed(signs[few], extra[few], order)
        low[~few], high[~few] = self._grouped(signs[~few], extra[~few], order)
        return low, high

    def _summed(self, signs: Array, extra: Array, order: float) -> tuple[Array, Array]:
        m, b = signs[:, None], extra[:, None]
        k = np.ceil((m + 1.0) / 2.0) + np.arange(math.floor(float(signs.max()) / 2.0) + 1.0)
        y = np.minimum((2.0 * k - m) / m, 1.0)
        inside = np.clip(k, 1.0, np.maximum(m - 1.0, 1.0))
        log_mass = np.where(
            k >= m, -m * math.log(2.0), log_mass_half(inside, np.maximum(m, inside + 1.0))[0]
        )
        terms = np.where(k <= m, log_mass + self._log_psi(y, b, order), -math.inf)
        top = terms.max(axis=1)
        total = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
        error = roundings(600.0 + 64.0 * (np.abs(top) + signs))
        return total - error, total + error

    def _grouped(self, signs: Array, extra: Array, order: float) -> tuple[Array, Array]:
        m, b = signs[:, None], extra[:, None]
        edges = self._edges(signs, extra, order)
        t = edges - 1.0
        tail, moment, log_scale = (
            part.reshape(t.shape)
            for part in half_tail(t.ravel(), np.broadcast_to(m, t.shape).ravel())
        )
        scale = np.exp(np.clip(log_scale[:, 1:] - log_scale[:, :-1], -745.0, 0.0))
        after = np.append(tail[:, 1:] * scale, np.zeros_like(m), axis=1)
        moment_after = np.append(moment[:, 1:] * scale, np.zeros_like(m), axis=1)
        relative = roundings(400.0 + 64.0 * np.abs(log_scale))
        mass, slack = tail - after, relative * (tail + after)
        log_low = log_scale + log(np.maximum(mass - slack, 0.0))
        log_high = log_scale + log(np.where(mass > 0.0, mass + slack, 0.0))
        left = edges - 0.5 * m
        right = np.append(edges[:, 1:] - 0.5 * m, 0.5 * m, axis=1)
        safe = np.where(mass > slack, mass, 1.0)
        mean = np.clip((moment - moment_after) / safe, left, right)
        wobble = np.where(mass > slack, 4.0 * slack / safe, 1.0)
        mean_low = np.maximum(down(mean, wobble), left)
        mean_high = np.minimum(up(mean, wobble), right)
        share = np.where(
            right > left, (mean_high - left) / np.where(right > left, right - left, 1.0), 0.0
        )
        at_edges = self._log_rest(np.append(left, 0.5 * m, axis=1) / (0.5 * m), b, order)
        chord = np.logaddexp(at_edges[:, :-1] + log(1.0 - share), at_edges[:, 1:] + log(share))
        lower = log_low + self._log_rest(mean_low / (0.5 * m), b, order)
        upper = log_high + chord
        top = upper.max(axis=1)
        error = roundings(2000.0 + 64.0 * np.abs(top))
        square = np.log(2.0 * order * (order - 1.0) * self.slope**2 / ((self.base + extra) * signs))
        rest_low = top + log(np.exp(lower - top[:, None]).sum(axis=1)) - error
        rest_high = top + np.log(np.exp(upper - top[:, None]).sum(axis=1)) + error
        return (
            np.logaddexp(square - roundings(16), rest_low),
            np.logaddexp(square + roundings(16), rest_high),
        )

    def _log_rest(self, y: Array, extra: Array, order: float) -> Array:
        """As _log_psi, less its part in y^2; still convex, since every power left has a positive
        coefficient (docs/proofs/numerics.md)."""
        base = self.base + extra
        x = self.slope * y / base
        near = order * x < 0.3
        small = np.where(near, x, 0.0) ** 2
        series = np.zeros_like(small)
        for coefficient in reversed(_even_coefficients(order)[2:]):
            series = series * small + coefficient
        by_series = log(series) + 2.0 * log(small) + np.log(2.0 * base)
        psi = np.exp(np.minimum(self._log_psi(y, extra, order), 700.0))
        square = 4.0 * order * (order - 1.0) * x * x * base
        direct = np.where(
            psi < 1e300, log(np.maximum(psi - square, 0.0)), self._log_psi(y, extra, order)
        )
        return np.where(near, by_series, direct)

    def _edges(self, signs: Array, extra: Array, order: float) -> Array:
        """Group edges: fine near y = 0 and near the peak of mass * psi, coarse elsewhere."""
        root = np.sqrt(signs)
        lean = np.minimum(self.slope / (self.base + extra), BELOW_ONE)
        # peak: signs * atanh(y) = 2 order lean / (1 - (lean y)^2)
        low, _ = bisect_each(
            lambda y: signs * np.arctanh(y) < 2.0 * order * lean / (1.0 - (lean * y) ** 2),
            np.zeros_like(signs),
            np.ones_like(signs),
            halvings=40,
        )
        peak = (low * root)[:, None]
        near = np.arange(0.0, 10.0, _SPACING)
        far = np.geomspace(
            10.0, np.maximum(root, 10.0), 1 + int(math.log(float(root.max())) / 0.25)
        ).T
        parts = [np.broadcast_to(near, (len(signs), len(near))), far]
        if np.any(peak > 1.0):
            parts.append(peak + np.arange(-9.0, 9.0, _SPACING))
        units = np.concatenate(parts, axis=1)
        half = np.ceil((signs[:, None] + 1.0) / 2.0)
        k = half + np.floor(np.clip(units, 0.0, None) * root[:, None] / 2.0)
        return np.sort(np.minimum(k, signs[:, None]), axis=1)


def _even_coefficients(order: float) -> list[float]:
    """Coefficients of x^0, x^2, ... in the even part of (1+x)^order (1-x)^(1-order), to x^28.

    They are differences of g_k, ((1+x)/(1-x))^order = sum g_k x^k, all non-negative.
    """
    g = [1.0, 2.0 * order]
    for k in range(1, 28):
        g.append((2.0 * order * g[k] + (k - 1.0) * g[k - 1]) / (k + 1.0))
    return [1.0] + [g[2 * k] - g[2 * k - 1] for k in range(1, 15)]
