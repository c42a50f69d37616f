"""Discrete laws above those of differences of Gaussian likelihood ratios, on one grid.

Under N(0, I) in the plane let A = exp(s x - s^2/2), B = exp(t x - t^2/2), c = exp(u y - u^2/2),
s >= 0. A law of finitely many atoms is found that is above V + k F, V = c (A - e B), in the
increasing convex order, up to a known mean excess: masses of cells are spread to the ends of
an interval that holds the cell's values, keeping the mean or raising it; F is ``quadratic``
(docs/proofs/swap_gaussian.md, section 4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shuffledp.numerics.normal import CELL_ERROR, cell_masses
from shuffledp.numerics.rounding import FORMULA, Array, down, roundings, up

_ROOT = math.sqrt(2.0)
_SIDE, _GROWTH = 3.0, 1.2
"""Beyond so many deviations from what matters cells grow, by this factor."""
_MOVED = 1e-10
"""Relative: values are raised by it before they are split; means and roundings are off by less."""
_LARGEST = up(2.0 / math.sqrt(27.0), FORMULA)
"""Of (1 - x) sqrt(x)."""
MASS_ERROR = 10.0 * CELL_ERROR
"""Relative error of the weights of all laws."""


def tail(z: float) -> float:
    """At least Pr[Z > z]."""
    return up(0.5 * math.erfc(z / _ROOT), FORMULA)


def cell_edges(low: float, high: float, bottom: float, top: float, step: float) -> Array:
    """Steps of one size from low to high, growing ones down to bottom and up to top."""
    inner = np.linspace(low, high, 2 + math.ceil((high - low) / step))
    below: list[float] = []
    above: list[float] = []
    size = step
    while (below[-1] if below else low) > bottom or (above[-1] if above else high) < top:
        size *= _GROWTH
        below.append((below[-1] if below else low) - size)
        above.append((above[-1] if above else high) + size)
    found = np.concatenate([below[::-1], inner, above])
    first = max(int(np.searchsorted(found, bottom, "right")) - 1, 0)
    last = int(np.searchsorted(found, top))
    return found[first : last + 1]


def _masses(edges: Array, centre: float) -> Array:
    """Pr[a normal variable around the centre is in each cell]."""
    left, right = (edges[:-1] - centre) / _ROOT, (edges[1:] - centre) / _ROOT
    return cell_masses(left, right, np.diff(edges) / _ROOT)


def whole_line(edges: Array, centre: float) -> Array:
    """As ``_masses``, with the two tails."""
    below, above = (0.5 * math.erfc(x / _ROOT) for x in (centre - edges[0], edges[-1] - centre))
    return np.concatenate([[below], _masses(edges, centre), [above]])


@dataclass(frozen=True, eq=False)
class Ratios:
    """Cells of x with the ends of A and B, their masses under three laws; atoms of c."""

    first: Array
    second: Array
    masses: Array
    """Rows: under N(0, 1), N(s, 1), N(t, 1)."""
    ends: tuple[float, float]
    """Masses under N(0, 1) below and above the cells."""
    factors: Array
    chances: Array
    excess: float
    """At least E of what is above the cells: A c there."""
    square: float
    """At least E (A c)^2 there."""
    falls: bool
    """B falls (or stays) as x rises."""

    @classmethod
    def of(cls, s: float, t: float, u: float, reach: float, step: float) -> Ratios:
        """Cells of that size, for so many deviations beyond what matters."""
        if s < 0.0:  # x mirrored
            s, t = -s, -t
        low, high = min(0.0, 2.0 * t) - _SIDE, max(2.0 * s, 2.0 * t) + _SIDE
        edges = cell_edges(low, high, min(0.0, t) - reach, max(s, t) + reach, step)
        factors, chances, over, square = _factors(u, reach, step)
        first, last = float(edges[0]), float(edges[-1])
        deep = math.exp(s * s + u * u) * tail(last - 2.0 * s)
        return cls(
            up(np.exp(s * edges - 0.5 * s * s), FORMULA),
            down(np.exp(t * edges - 0.5 * t * t), FORMULA),
            np.stack([_masses(edges, centre) for centre in (0.0, s, t)]),
            (tail(-first), tail(last)),
            factors,
            chances,
            up(tail(last - s) + over, FORMULA),
            up(deep + math.exp(s * s) * square, FORMULA),
            t <= 0.0,
        )

    def values(self, e: float) -> tuple[Array, Array, Array]:
        """Atoms above A - e B, their weights, and the largest A that goes with each."""
        a, b = self.first, self.second * e
        mass, first, second = self.masses[0], self.masses[1], self.masses[2] * e
        mean = first - second + 4.0 * CELL_ERROR * (first + second)
        mean = mean / np.maximum(mass, 1e-300)
        if self.falls:  # what is high in one cell is low in the following
            low, high, top = a[:-1] - b[:-1], a[1:] - b[1:], a[-1]
        else:
            low, high, top = a[:-1] - b[1:], a[1:] - b[:-1], a[-1] - b[-1]
        mean = mean + 4.0 * FORMULA * (a[1:] + np.maximum(b[1:], b[:-1]))  # values are off by less
        share = np.minimum(np.maximum((mean - low) / (high - low), 0.0), 1.0)
        raised, count = mass * share, mass.size
        # below the cells A - e B is at most A at their edge, less e B if that only grows outwards
        if self.falls:
            values, weights, largest = np.empty((3, count + 2))
            values[:-1], largest[:count], largest[count] = a - b, a[1:], a[-1]
            weights[:count], weights[count] = mass * (1.0 - share), 0.0
            weights[1:-1] += raised
            weights[0] += self.ends[0]
        else:
            values, weights, largest = np.empty((3, 2 * count + 2))
            inner, outer = slice(1, count + 1), slice(count + 1, -1)
            values[0], values[inner], values[outer] = a[0], low, high
            largest[0], largest[inner], largest[outer] = a[0], a[1:], a[1:]
            weights[0], weights[inner], weights[outer] = self.ends[0], mass * (1.0 - share), raised
        values[-1], weights[-1], largest[-1] = top, self.ends[1], a[-1]
        return values, weights, largest


def _factors(u: float, reach: float, step: float) -> tuple[Array, Array, float, float]:
    """Atoms of c and their chances: means kept; what is above them in the mean, of c and of c^2."""
    if u == 0.0:
        return np.ones(1), np.ones(1), 0.0, 0.0
    step = max(step, 0.8 * step / u)
    edges = cell_edges(-_SIDE, 2.0 * u + _SIDE, -reach, max(u + reach, 2.0 * u + _SIDE), step)
    c = np.exp(u * edges - 0.5 * u * u)
    mass, weight = _masses(edges, 0.0), _masses(edges, u)
    share = np.clip((weight / np.maximum(mass, 1e-300) - c[:-1]) / np.diff(c), 0.0, 1.0)
    chances = np.zeros(c.size + 1)
    chances[1:-1] = mass * (1.0 - share)
    chances[2:] += mass * share
    below = tail(-float(edges[0]))
    low = min(tail(u - float(edges[0])) / c[0], below)  # below the cells: 0 or the lowest edge
    chances[0] += max(below - low, 0.0)
    chances[1] += low
    chances[-1] += tail(float(edges[-1]))
    over, square = tail(float(edges[-1]) - u), math.exp(u * u) * tail(float(edges[-1]) - 2.0 * u)
    return np.append(0.0, c), chances, over, square


@dataclass(frozen=True)
class Grid:
    """Places scale * sinh(step * k): close together around 0, which is one of them."""

    scale: float
    step: float
    least: int
    most: int

    @cached_property
    def places(self) -> Array:
        """All of them."""
        found: Array = self.scale * np.sinh(self.step * np.arange(self.least, self.most + 1.0))
        return found

    def split(self, values: Array, weights: Array) -> Array:
        """Weights of the places: each value's to its two neighbours, the mean kept or raised."""
        places = self.places
        raised = values + _MOVED * np.abs(values)
        at = np.floor(np.arcsinh(raised / self.scale) / self.step).astype(np.intp) - self.least
        at = np.minimum(np.maximum(at, 0), places.size - 2)
        left = places[at]
        share = np.minimum(np.maximum((raised - left) / (places[at + 1] - left), 0.0), 1.0)
        upper = weights * share
        found: Array = np.bincount(at, weights * (1.0 - share), places.size).astype(np.float64)
        found[1:] += np.bincount(at, upper, places.size - 1)
        return found


def combined(ratios: Ratios, e: float, k: float, v: float, scale: float) -> tuple[Array, Array]:
    """Atoms of scale (V + k F) and their weights; F = quadratic(A, V, v)."""
    values, weights, largest = ratios.values(e)
    term = k * quadratic(largest, values, v)
    c = ratios.factors[:, None]
    total = scale * c * (values + c * term)
    total = total + roundings(16.0) * scale * c * (np.abs(values) + largest + c * term)
    return total.ravel(), (ratios.chances[:, None] * weights).ravel()


def quadratic(a: Array, value: Array, v: float) -> Array:
    """Convex, and above value+ sqrt(a b e) where value = a - e b, for any v > 0, inf included."""
    if math.isinf(v):
        return _LARGEST * a * a
    return (v * a + np.maximum(value, 0.0)) ** 2 / (4.0 * v)
