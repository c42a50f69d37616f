"""Certified upper bound on E[(Y + W_1 + ... + W_m)+ e^(-lam (g_1 + ... + g_m))] over several laws.

Each (W_j, g_j) independently follows any one of finitely many laws, which may differ from j to j;
Y is independent of them. Adding independent normal noise to a W can only raise the expectation, so
with any variances v_x >= 0 and any theta > 0 (docs/proofs/swap.md, section 3)

    E(...) <= (1/pi) int_0^inf E e^(theta Y) sup_x |N_x(theta + it)|^m / (theta^2 + t^2) dt,

N_x(z) = E e^(z W - lam g) e^(v_x z^2 / 2) under law x. The noise makes all laws spread alike, so that
little is lost by the supremum. On a cell of width h of t the share |N_x|^2 / N_x(theta)^2 lies at
most h^2 (var_x + v_x) / 4 above its chord, var_x the variance of W tilted by theta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

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


@dataclass(frozen=True, eq=False)
class SeveralLaws:
    """Row x: the weights, values W and decays g >= 0 of one law; missing atoms have weight 0.

    Each row of true weights sums to 1, and each stored weight is within ``error`` of its true
    value, relatively. Values may only be too large, decays only too small.
    """

    weights: Array
    values: Array
    decays: Array
    error: float

    def _log_mgf(self, theta: float, lam: float) -> tuple[Array, Array, Array]:
        """log M_x(theta), a bound on its error, and the exponents."""
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

    def _theta(self, m: int, lam: float, first: Array, chance: Array, start: float | None) -> float:
        """About the minimiser of E e^(theta Y) sup M^m / theta^_POWER; any theta > 0 is valid."""
        reach = float(np.abs(self.values).max())
        top = max(reach, float(np.abs(first).max()), 1e-300)
        most = math.log(_MOST_EXPONENT / top)
        low, high = math.log(0.1 / (m + 1.0) / top), most
        u = 0.5 * (low + high) if start is None else math.log(start)
        for _ in range(_STEPS):
            theta = math.exp(u)
            x = theta * self.values - lam * self.decays
            tilted = self.weights * np.exp(x)
            totals = tilted.sum(axis=1)
            at = int(np.argmax(totals))
            p = tilted[at] / totals[at]
            mean = float(p @ self.values[at])
            y = chance * np.exp(theta * (first - first.max()))
            slope = theta * (m * mean + float(y @ first) / float(y.sum())) - _POWER
            if slope > 0.0:
                high = u
            else:
                low = u
            spread = theta * theta * m * float(p @ (self.values[at] - mean) ** 2)
            step = u - slope / (spread + abs(slope + _POWER) + 1.0)
            new = step if low < step < high else 0.5 * (low + high)
            if abs(new - u) < 0.01 or high - low < 0.01:
                return math.exp(min(new, most))
            u = new
        return math.exp(u)

    def log_excess(
        self,
        m: int,
        lam: float,
        first: Array,
        chance: Array,
        width: float,
        start: float | None = None,
    ) -> tuple[float, float]:
        """log of the bound, Y = ``first`` with probability ``chance``; and the theta used."""
        theta = self._theta(m, lam, first, chance, start)
        log_m, log_error, x = self._log_mgf(theta, lam)
        p = self.weights * np.exp(x - log_m[:, None])
        centred = self.values - (p * self.values).sum(axis=1)[:, None]
        variance = up((p * centred**2).sum(axis=1), _SUMMED)
        sd = math.sqrt(m * float(variance[int(np.argmax(log_m))])) or 1.0 / theta
        edges, smooth = _edges(theta, sd, math.sqrt(float(variance.max())) or theta, width)
        noise = 2.0 * (log_m.max() - log_m) / theta**2 + smooth * smooth / m
        height = m * (log_m + log_error + up(0.5 * noise * theta**2, roundings(4.0)))
        top = float(height.max())
        # the computed characteristic function at t is off by at most slope * t
        relative = (
            self.error + log_error + roundings(4.0 * (float(np.abs(x).max()) + 8.0 + p.shape[1]))
        )
        slope = all_orders(relative * (p * np.abs(centred)).sum(axis=1))
        decay = np.multiply.outer(noise, edges * edges)
        lack = self._modulus(p, centred, edges) * np.exp(-decay) + np.expm1(-decay)
        lack += 3.0 * slope[:, None] * edges + roundings(8.0) * np.abs(lack)
        level = _ends(lack, (variance + noise)[:, None] * np.diff(edges) ** 2 / 4.0, m)
        level = np.exp((level + (height - top)[:, None]).max(axis=1))
        total = float((level * _weights(edges, theta)).sum())
        total += math.exp(-0.5 * (smooth * edges[-1]) ** 2) / edges[-1]
        peak = theta * float(first.max())
        moment = float(chance @ np.exp(theta * first - peak))
        result = math.log(total / math.pi) + top + peak + math.log(moment)
        return result + 1e-11 + roundings(16.0) * (abs(top) + abs(peak)), theta

    def _modulus(self, p: Array, centred: Array, edges: Array) -> Array:
        """|E e^(itW)|^2 - 1 at the edges, under each row of the tilted laws p."""
        rows, atoms = p.shape
        found = np.empty((rows, edges.size))
        block = max(_BLOCK // (rows * atoms), 1)
        for i in range(0, edges.size, block):
            angle = centred[:, :, None] * edges[i : i + block]
            half = np.sin(0.5 * angle)
            re = -2.0 * np.einsum("xv,xvt->xt", p, half * half)
            im = np.einsum("xv,xvt->xt", p, np.sin(angle))
            found[:, i : i + block] = down(2.0 * re + re * re + im * im, roundings(8.0))
        return found


def _ends(lack: Array, rise: Array, m: int) -> Array:
    """At both ends of each cell, the log of a bound whose chord lies above |N_x / N_x(theta)|^m.

    (chord + rise)^(m/2) is convex for m >= 2; where it would exceed 1 at an end, the bound is 1.
    """
    ends = np.stack([lack[:, :-1] + rise, lack[:, 1:] + rise])
    flat = ends.max(axis=0) > np.maximum(1.0 / m, 1e-15) if m > 1 else np.ones_like(rise, np.bool_)
    ends = np.where(flat, np.minimum(ends.max(axis=0), 0.0), ends)
    logs: Array = 0.5 * m * down(np.log1p(np.maximum(ends, -1.0 + 1e-15)), roundings(8.0))
    return logs + roundings(16.0) * m * np.maximum(ends, 0.0)


def _weights(edges: Array, theta: float) -> Array:
    """int f(t) / (theta^2 + t^2) dt over each cell = left f(its left end) + right f(its right end), f linear."""
    step = np.diff(edges)
    low, high = edges[:-1], edges[1:]
    arc = np.arctan2(step * theta, theta * theta + low * high) / theta
    first = 0.5 * np.log1p(step * (low + high) / (theta * theta + low * low))
    slack = roundings(16.0) * (high * arc + first)
    return np.stack([high * arc - first + slack, first - low * arc + slack]) / step


def _edges(theta: float, sd: float, deviation: float, width: float) -> tuple[Array, float]:
    """Cells of t, fine where the integrand is large, and the smoothing s; in units of 1 / sd first."""
    depth = max(theta * sd, 1.0)
    widest = max(_WIDEST * sd / deviation, 1e-3)
    smooth = max(math.sqrt(0.6 * width) / depth, _CUT / (_MOST_CELLS * widest))
    free, last = _places(math.sqrt(2.4 * width)), _CUT / smooth
    kept = int(np.searchsorted(np.diff(free), widest, "right"))
    if free[kept] >= last:
        places = free[: int(np.searchsorted(free, last)) + 1]
    else:
        more = np.arange(math.ceil((last - free[kept]) / widest) + 1)
        places = np.concatenate([free[:kept], free[kept] + widest * more])
    return places / sd, smooth * sd


@lru_cache(maxsize=16)
def _places(finest: float) -> Array:
    """Ends of cells that grow with the distance from 0, as far as anybody looks."""
    places = [0.0]
    while places[-1] < _FARTHEST:
        tau = places[-1]
        step = finest * math.exp(min(tau * tau / 8.0, 50.0))
        places.append(tau + min(step, max(finest, 0.12 * tau)))
    return np.array(places)
