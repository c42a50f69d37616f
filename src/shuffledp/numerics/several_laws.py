"""Certified upper bound on E[(Y + W_1 + ... + W_m)+ e^(-lam (g_1 + ... + g_m))] over several laws.

The m users are of one or more classes, m_k of class k. Each (W_j, g_j) independently follows any
one of finitely many laws of its class, which may differ from j to j; Y is independent of them.
Adding independent normal noise to a W can only raise the expectation, so with any variances
v_x >= 0 and any theta > 0 (docs/proofs/swap.md, section 3)

    E(...) <= (1/pi) int_0^inf
        E e^(theta Y) prod_k sup_x |N_x(theta + it)|^(m_k) / (theta^2 + t^2) dt,

N_x(z) = E e^(z W - lam g) e^(v_x z^2 / 2) under law x. The noise makes the laws of a class spread
alike, so that little is lost by the supremum. On a cell of width h of t the share
|N_x|^2 / N_x(theta)^2 lies at most h^2 (var_x + v_x) / 4 above its chord, var_x the variance of W
tilted by theta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.numerics.rounding import Array, all_orders, down, roundings, up

_CUT = 9.0
"""Frequencies beyond _CUT / s are charged, not summed."""
_MOST_EXPONENT = 300.0
_STEPS = 80
_SUMMED = 1e-9
"""More than the roundings of sums of positive numbers here."""
_POWER = 1.7
"""Of theta: the best for a normal sum around 0, where it matters."""
_BLOCK = 1 << 19
_WIDEST = 0.2
"""Cells at most so wide, in units of the largest deviation of one W."""
_MOST_CELLS = 600
"""Of the widest; where more would be needed, more is smoothed."""
_FARTHEST = 1e12
_SEVERAL = 64
"""Edges equally far apart that are worth taking together."""


_Values = TypeVar("_Values", NDArray[np.float64], NDArray[np.intp])


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums Y + W_1 + ... + W_m, a row each; each class of laws is part of one of them.

    ``users``: how many of each class, a column a class; Y = ``first`` with probability ``chance``.
    """

    users: Array
    lam: Array
    first: Array
    chance: Array

    @classmethod
    def one(cls, counts: Sequence[int], lam: float, first: Array, chance: Array) -> Sums:
        """A single sum, of all classes."""
        users = np.array([counts], dtype=np.float64)
        return cls(users, np.array([lam]), first[None], chance[None])

    @cached_property
    def owners(self) -> NDArray[np.intp]:
        """The sum that each class is part of."""
        found: NDArray[np.intp] = self.users.argmax(axis=0)
        return found


@dataclass(frozen=True, eq=False)
class SeveralLaws:
    """Row x: the weights, values W and decays g >= 0 of one law; missing atoms have weight 0.

    Each row of true weights sums to 1, and each stored weight is within ``error`` of its true
    value, relatively. Values may only be too large, decays only too small.

    ``starts``: the first row of every class; the rows of a class follow each other.
    """

    weights: Array
    values: Array
    decays: Array
    error: float
    starts: tuple[int, ...] = (0,)

    def _largest(self, rows: Array) -> Array:
        """Of each class, along the first axis."""
        found: Array = np.maximum.reduceat(rows, self.starts, axis=0)
        return found

    def _rows(self, classes: _Values) -> _Values:
        """What holds of a class, for each of its rows."""
        return np.repeat(classes, np.diff([*self.starts, len(self.weights)]))

    def _of_sums(self, sums: Sums, rows: Array) -> Array:
        """The largest of these numbers >= 0 among the laws of each sum."""
        found: Array = np.where(sums.users > 0.0, self._largest(rows), 0.0).max(axis=1)
        return found

    def _log_mgf(self, theta: float | Array, lam: float | Array) -> tuple[Array, Array, Array]:
        """log M_x(theta), a bound on its error, and the exponents; theta and lam may be columns."""
        x = theta * self.values - lam * self.decays
        moved, tilted = self.weights * np.expm1(x), self.weights * np.exp(x)
        drift = moved.sum(axis=1)
        near = drift > -0.5  # else the total itself is the accurate one
        total = np.where(near, 1.0 + drift, tilted.sum(axis=1))
        size = np.where(near, np.abs(moved).sum(axis=1), total)
        blur = roundings(4.0) * (theta * np.abs(self.values) + lam * self.decays)
        slack = (self.error + roundings(self.weights.shape[1] + 16.0)) * size
        slack += (blur * tilted).sum(axis=1)
        log_m = np.where(near, np.log1p(np.maximum(drift, -0.5)), np.log(total))
        return log_m, all_orders(slack / total) + roundings(4.0) * np.abs(log_m), x

    def best_theta(self, counts: Sequence[int], lam: float, first: Array, chance: Array) -> float:
        """For one sum, as ``log_excess`` has them."""
        return float(self._best_thetas(Sums.one(counts, lam, first, chance), None)[0])

    def _best_thetas(self, sums: Sums, start: Array | None) -> Array:
        """About the minimisers of E e^(theta Y) prod sup M^(m_k) / theta^_POWER;
        any theta > 0 is valid."""
        users, first = sums.users, sums.first
        reach = self._of_sums(sums, np.abs(self.values).max(axis=1))
        top = np.maximum(np.maximum(reach, np.abs(first).max(axis=1)), 1e-300)
        high = most = np.log(_MOST_EXPONENT / top)
        low = np.log(0.1 / (users.sum(axis=1) + 1.0) / top)
        owner = self._rows(sums.owners)
        quiet = np.exp(-sums.lam[owner, None] * self.decays) * self.weights
        moved = first - first.max(axis=1, keepdims=True)
        ends = [*self.starts[1:], len(self.weights)]
        u = 0.5 * (low + high) if start is None else np.minimum(np.log(start), most)
        for _ in range(_STEPS):
            theta = np.exp(u)
            tilted = quiet * np.exp(theta[owner, None] * self.values)
            totals = tilted.sum(axis=1)
            at = [i + int(totals[i:j].argmax()) for i, j in zip(self.starts, ends, strict=True)]
            p, values = tilted[at] / totals[at, None], self.values[at]
            means = (p * values).sum(axis=1)
            y = sums.chance * np.exp(theta[:, None] * moved)
            slope = users @ means + (y * first).sum(axis=1) / y.sum(axis=1)
            slope = theta * slope - _POWER
            falls = slope > 0.0
            high, low = np.where(falls, u, high), np.where(falls, low, u)
            variances = (p * (values - means[:, None]) ** 2).sum(axis=1)
            spread = theta * theta * (users @ variances)
            step = u - slope / (spread + np.abs(slope + _POWER) + 1.0)
            new = np.where((low < step) & (step < high), step, 0.5 * (low + high))
            if ((np.abs(new - u) < 0.01) | (high - low < 0.01)).all():
                u = np.minimum(new, most)
                break
            u = new
        found: Array = np.exp(u)
        return found

    def log_excess(
        self,
        counts: Sequence[int],
        lam: float,
        first: Array,
        chance: Array,
        width: float,
        start: float | None = None,
    ) -> tuple[float, float]:
        """log of the bound for so many users of each class, and the theta used.

        Y = ``first`` with probability ``chance``.
        """
        begin = None if start is None else np.array([start])
        logs, thetas = self.log_excesses(Sums.one(counts, lam, first, chance), width, begin)
        return float(logs[0]), float(thetas[0])

    def log_excesses(
        self, sums: Sums, width: float, start: Array | None = None
    ) -> tuple[Array, Array]:
        """For each of several sums log of the bound, and the theta used."""
        users, owner = sums.users, self._rows(sums.owners)
        m = users.sum(axis=1)
        thetas = self._best_thetas(sums, start)
        theta = thetas[owner]
        log_m, log_error, x = self._log_mgf(theta[:, None], sums.lam[owner, None])
        p = self.weights * np.exp(x - log_m[:, None])
        centred = self.values - (p * self.values).sum(axis=1)[:, None]
        variance = up((p * centred**2).sum(axis=1), _SUMMED)
        highest = self._rows(self._largest(log_m))
        sd = np.sqrt(users @ self._largest(np.where(log_m == highest, variance, 0.0)))
        sd = np.where(sd > 0.0, sd, 1.0 / thetas)
        widest = np.sqrt(self._of_sums(sums, variance))
        cells, smooth = Cells.of(thetas, sd, np.where(widest > 0.0, widest, thetas), width)
        edges, places = cells.edges, cells.edges[owner]
        noise = 2.0 * (highest - log_m) / theta**2 + (smooth * smooth / m)[owner]
        height = log_m + log_error + up(0.5 * noise * theta**2, roundings(4.0))
        heights = users * self._largest(height)
        # the computed characteristic function at t is off by at most slope * t
        relative = (
            self.error + log_error + roundings(4.0 * (np.abs(x).max(axis=1) + 8.0 + p.shape[1]))
        )
        slope = all_orders(relative * (p * np.abs(centred)).sum(axis=1))
        decay = noise[:, None] * places**2
        lack = self._modulus(p, centred, cells.rows(owner)) * np.exp(-decay) + np.expm1(-decay)
        lack += 3.0 * slope[:, None] * places + roundings(8.0) * np.abs(lack)
        lack[:, cells.head :] += 3.0 * relative[:, None]
        rise = (variance + noise)[:, None] * np.diff(places) ** 2 / 4.0
        left, right = _shares(lack, rise, m[owner, None])
        level = np.exp(_ends(self._largest(left), self._largest(right), users))
        total = (level * _weights(edges, thetas[:, None])).sum(axis=(0, 2))
        total += np.exp(-0.5 * (smooth * edges[:, -1]) ** 2) / edges[:, -1]
        peak = thetas * sums.first.max(axis=1)
        moment = (sums.chance * np.exp(thetas[:, None] * sums.first - peak[:, None])).sum(axis=1)
        result = np.log(total / math.pi) + heights.sum(axis=1) + peak + np.log(moment)
        size = np.abs(heights).sum(axis=1) + np.abs(peak)
        return result + 1e-11 + roundings(16.0 + users.shape[1]) * size, thetas

    def _modulus(self, p: Array, centred: Array, cells: Cells) -> Array:
        """|E e^(itW)|^2 - 1 at the edges of each row, under the tilted laws p."""
        if cells.edges.shape[1] - cells.head < _SEVERAL:
            return _moduli(p, centred, cells.edges)
        first = _moduli(p, centred, cells.edges[:, : cells.head])
        return np.concatenate([first, _even_moduli(p, centred, cells)], axis=1)


def _moduli(p: Array, centred: Array, edges: Array) -> Array:
    """Accurate near 0, too."""
    rows, atoms = p.shape
    found = np.empty_like(edges)
    block = max(_BLOCK // (rows * atoms), 1)
    for i in range(0, edges.shape[1], block):
        angle = centred[:, :, None] * edges[:, None, i : i + block]
        half = np.sin(0.5 * angle)
        re = -2.0 * np.einsum("xv,xvt->xt", p, half * half)
        im = np.einsum("xv,xvt->xt", p, np.sin(angle))
        found[:, i : i + block] = down(2.0 * re + re * re + im * im, roundings(8.0))
    return found


def _even_moduli(p: Array, centred: Array, cells: Cells) -> Array:
    """At the edges that are equally far apart: each is one of few places and one of few steps, so
    that products of few exponentials do (docs/proofs/swap.md, section 3)."""
    count, step = cells.edges.shape[1] - cells.head, cells.step[:, None]
    few = math.isqrt(count - 1) + 1
    places = cells.edges[:, cells.head, None] + np.arange(-(-count // few)) * (few * step)
    steps = np.arange(few) * step
    found = np.empty((len(p), count))
    block = max(_BLOCK // (p.shape[1] * 2 * few), 1)
    for rows in (slice(i, i + block) for i in range(0, len(p), block)):
        far, near = (
            np.exp(1j * (centred[rows, :, None] * x[rows, None, :])) for x in (places, steps)
        )
        mean = np.einsum("xva,xvb->xab", p[rows, :, None] * far, near)
        square = mean.real**2 + mean.imag**2
        found[rows] = square.reshape(len(square), -1)[:, :count] - 1.0
    found += roundings(4.0 * (40.0 + p.shape[1]))
    return found


def _shares(lack: Array, rise: Array, m: float | Array) -> tuple[Array, Array]:
    """At both ends of each cell, less 1: a linear bound on |N_x / N_x(theta)|^2 between them.

    Where it would exceed 1 at an end, it is the larger end, at most 1, on the whole cell.
    """
    left, right = lack[:, :-1] + rise, lack[:, 1:] + rise
    most = np.maximum(left, right)
    flat = (most > np.maximum(1.0 / m, 1e-15)) | np.less_equal(m, 1.0)
    most = np.minimum(most, 0.0)
    least = -1.0 + 1e-15
    return np.maximum(np.where(flat, most, left), least), np.maximum(
        np.where(flat, most, right), least
    )


def _ends(left: Array, right: Array, counts: Array) -> Array:
    """At both ends of each cell, ln of a bound with chord above prod_k (1 + f_k)^(m_k / 2).

    ``counts``: the m_k, or a row of them for each of several sums. f_k is at most convex between
    ``left`` and ``right``. With u_k = (1 + f_k) / (1 + left_k) the weighted mean of the u_k is
    above their geometric mean, and its power m / 2 >= 1 is convex; or each f_k is at most its
    larger end.
    """
    m = counts.sum(axis=-1, keepdims=True)
    powers = 0.5 * counts

    def log_product(x: Array) -> Array:
        logs: Array = powers @ down(np.log1p(x), roundings(8.0))
        return logs + roundings(16.0) * (powers @ np.maximum(x, 0.0))

    begin, flat = log_product(left), log_product(np.maximum(left, right))
    moved = (right - left) / (1.0 + left)
    share = counts / m
    growth = share @ moved + roundings(32.0 + counts.shape[-1]) * (share @ np.abs(moved))
    change = np.log1p(np.maximum(growth, -1.0 + 1e-15))
    end = begin + 0.5 * m * (change + roundings(8.0) * np.abs(change))
    bounded = (end > flat + 1e-6) | (m < 2.0)
    return np.stack([np.where(bounded, flat, begin), np.where(bounded, flat, end)])


def _weights(edges: Array, theta: float | Array) -> Array:
    """int f(t) / (theta^2 + t^2) dt over each cell, f linear, from f at its left and right end."""
    step = np.diff(edges)
    low, high = edges[..., :-1], edges[..., 1:]
    arc = np.arctan2(step * theta, theta * theta + low * high) / theta
    first = 0.5 * np.log1p(step * (low + high) / (theta * theta + low * low))
    slack = roundings(16.0) * (high * arc + first)
    return np.stack([high * arc - first + slack, first - low * arc + slack]) / step


@dataclass(frozen=True)
class Cells:
    """Edges of cells of t, a row for each sum; from number ``head`` on they are ``step`` apart."""

    edges: Array
    head: int
    step: Array

    @classmethod
    def of(cls, theta: Array, sd: Array, deviation: Array, width: float) -> tuple[Cells, Array]:
        """For each sum cells of its own, as many for all, and its smoothing."""
        each = zip(theta.tolist(), sd.tolist(), deviation.tolist(), strict=True)
        firsts, steps, counts, smooth = zip(*(_edges(*one, width) for one in each), strict=True)
        found = np.empty((len(firsts), max(counts)))
        for row, first, step in zip(found, firsts, steps, strict=True):
            head = first.size - 1
            row[:head] = first[:head]
            row[head:] = first[head] + step * np.arange(row.size - head)
        return cls(found, max(map(len, firsts)) - 1, np.array(steps)), np.array(smooth)

    def rows(self, owner: NDArray[np.intp]) -> Cells:
        """The same, a row for each law."""
        return Cells(self.edges[owner], self.head, self.step[owner])


def _edges(
    theta: float, sd: float, deviation: float, width: float
) -> tuple[Array, float, int, float]:
    """Cells of t, fine where the integrand is large: the first edges, the step from the last of
    these to all others, how many there are; and the smoothing. In units of 1 / sd first."""
    depth = max(theta * sd, 1.0)
    widest = max(_WIDEST * sd / deviation, 1e-3)
    smooth = max(math.sqrt(0.6 * width) / depth, _CUT / (_MOST_CELLS * widest))
    free, last = _places(math.sqrt(2.4 * width)), _CUT / smooth
    head = int(np.searchsorted(np.diff(free), widest, "right"))
    if free[head] < last:
        count = head + math.ceil((last - free[head]) / widest) + 1
    else:
        count = int(np.searchsorted(free, last)) + 1
        head = count - 2
        widest = float(free[head + 1] - free[head])
    return free[: head + 1] / sd, widest / sd, count, smooth * sd


@lru_cache(maxsize=16)
def _places(finest: float) -> Array:
    """Ends of cells that grow with the distance from 0, as far as anybody looks."""
    places = [0.0]
    while places[-1] < _FARTHEST:
        tau = places[-1]
        step = finest * math.exp(min(tau * tau / 8.0, 50.0))
        places.append(tau + min(step, max(finest, 0.12 * tau)))
    return np.array(places)
