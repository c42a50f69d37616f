"""What normal laws around all values of a range, of all deviations of a range, have in common.

Reports have a first coordinate in which others' laws are N(-m, k^2), m in ``places`` and k in
``deviations``, and a second one in which they are N(0, 1). The victim's are a = N((s, t), I) and
b = N(-(s, t), I); rho = N(0, I). On each cell of the first coordinate a share of one normal density
lies below all laws of the range: u, 0 outside the cells (docs/proofs/swap_gaussian.md, section 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shuffledp.numerics.normal import CELL_ERROR, cell_masses
from shuffledp.numerics.rounding import FORMULA, Array, down, up

_ROOT, _LOG_ROOT = math.sqrt(2.0), 0.5 * math.log(2.0 * math.pi)
_LEFT = 1e-4
"""Share of each law that belongs to no common part: so much is then surely left over."""
_PARTS = 4
"""Of a cell, where the mean of rho / u is bounded."""


@dataclass(frozen=True)
class Range:
    """Values and deviations of others, in units of the victim's noise."""

    places: tuple[float, float]
    deviations: tuple[float, float]

    @property
    def corners(self) -> list[tuple[float, float]]:
        """Where the least density is, wherever one looks: it has one peak in m, and one in k."""
        return [(-m, k) for m in self.places for k in self.deviations]


@dataclass(frozen=True, eq=False)
class Cells:
    """Of one coordinate in which the victim's values are at +-``victim``: masses of rho, a and b;
    a / rho and b / rho at the edges."""

    edges: Array
    masses: tuple[Array, Array, Array]
    ratios: tuple[Array, Array]

    @classmethod
    def of(cls, victim: float, reach: float, step: float) -> Cells:
        """So many deviations beyond the victim's values."""
        most = victim + reach
        edges = np.linspace(-most, most, 2 + math.ceil(2.0 * most / step))
        rho, a, b = (normal_masses(edges[:-1], edges[1:], x, 1.0) for x in (0.0, victim, -victim))
        first, second = (np.exp(x * edges - 0.5 * victim**2) for x in (victim, -victim))
        return cls(edges, (rho, a, b), (first, second))

    @cached_property
    def parts(self) -> tuple[Array, Array]:
        """Edges and masses, under rho, of smaller cells within each."""
        y = self.edges[:-1, None] + np.diff(self.edges)[:, None] * np.linspace(0, 1, _PARTS + 1)
        masses = normal_masses(y[:, :-1].ravel(), y[:, 1:].ravel(), 0.0, 1.0)
        return y, masses.reshape(-1, _PARTS)


class Plane:
    """Cells of both coordinates together: masses, and what of (a - e b) / rho at two corners."""

    def __init__(self, along: Cells, across: Cells, e: float) -> None:
        outer = np.multiply.outer
        self.across = across.masses[0]
        a, b = (outer(along.masses[i], across.masses[i]) for i in (1, 2))
        self.mean = a - e * b + 8.0 * CELL_ERROR * (a + e * b)  # under rho, not divided
        first, second = (outer(along.ratios[i], across.ratios[i]) for i in (0, 1))
        lost = FORMULA * (first + e * second)
        value = first - e * second  # rises in both coordinates
        self.low, self.high = (value - lost)[:-1, :-1], (value + lost)[1:, 1:]


@dataclass(frozen=True, eq=False)
class CommonPart:
    """Cell by cell of the first coordinate: mass of u, the least and the largest rho / u."""

    mass: Array
    swap: tuple[Array, Array]
    swap_mean: float
    """At least the mean of rho / u under rho, on the cells."""

    @classmethod
    def of(cls, laws: Range, cells: Cells) -> CommonPart:
        """On these cells."""
        edges = cells.edges
        corners = laws.corners
        logs = np.stack([log_density(edges, x, k) for x, k in corners])
        middle = 0.5 * (edges[1:] + edges[:-1])
        least = np.argmin(np.stack([log_density(middle, x, k) for x, k in corners]), axis=0)
        bends = np.array([k**-2.0 for _, k in corners])
        square = np.diff(edges) ** 2 / 8.0
        ends = [np.take_along_axis(x, least[None], 0)[0] for x in (logs[:, :-1], logs[:, 1:])]
        # logarithms are quadratic: a difference is at least its smaller end, less the bend
        gap = np.minimum(logs[:, :-1] - ends[0], logs[:, 1:] - ends[1])
        gap -= np.abs(bends[:, None] - bends[least]) * square
        share = np.exp(np.minimum(gap.min(axis=0), 0.0) + math.log1p(-_LEFT))
        bent = np.abs(1.0 - bends[least]) * square
        at = np.array([x for x, _ in corners])[least], np.array([k for _, k in corners])[least]
        mass = share * normal_masses(edges[:-1], edges[1:], *at)
        y, inside = cells.parts
        inner = log_density(y, 0.0, 1.0) - log_density(y, at[0][:, None], at[1][:, None])
        most = np.maximum(inner[:, :-1], inner[:, 1:]) + (bent / _PARTS**2)[:, None]
        most = np.exp(most) / share[:, None]
        lowest = np.exp(np.minimum(inner[:, 0], inner[:, -1]) - bent) / share
        mean = float((most * inside).sum())
        return cls(mass, (down(lowest, FORMULA), up(most.max(axis=1), FORMULA)), up(mean, 1e-10))

    def atoms(self, plane: Plane, window: float) -> tuple[Array, Array]:
        """Values and weights of a law above that of V, V+ divided by 1 - (rho / u) / window.

        V = (a - e b) / u where a report is of the common part, 0 elsewhere: what is left of the
        weights belongs to 0.
        """
        weight = np.multiply.outer(self.mass, plane.across)
        mean = plane.mean / np.maximum(weight, 1e-300)
        least, most = self.swap[0][:, None], self.swap[1][:, None]
        low = plane.low * np.where(plane.low > 0.0, least, most)
        high = plane.high * np.where(plane.high > 0.0, most, least)
        share = np.clip((mean - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
        raised = 1.0 / (1.0 - most / window)
        found = np.stack([low, high])
        found = np.where(found > 0.0, up(found, FORMULA) * raised, found)
        weights = np.stack([weight * (1.0 - share), weight * share])
        # less of what is below 0 is more: weights are off by less than this
        weights = np.where(found < 0.0, down(weights, 4.0 * CELL_ERROR), weights)
        return found.ravel(), weights.ravel()


def log_density(y: Array, centre: float | Array, deviation: float | Array) -> Array:
    """Of a normal law."""
    found: Array = -0.5 * ((y - centre) / deviation) ** 2 - np.log(deviation) - _LOG_ROOT
    return found


def normal_masses(
    left: Array, right: Array, centre: float | Array, deviation: float | Array
) -> Array:
    """Pr[left < a normal variable < right], cell by cell."""
    scale = _ROOT * deviation
    return cell_masses((left - centre) / scale, (right - centre) / scale, (right - left) / scale)
