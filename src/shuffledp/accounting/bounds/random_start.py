"""One step of noisy gradient descent from a random start (Wang et al. 2023, Theorem 5.1).

theta = I - g(I, D) + N(0, sigma^2), I drawn from the initial law. Given I the two outputs are
normal and |mu(I)| apart, mu(I) = (g(I, D_1) - g(I, D_0)) / sigma, so revealing I leaves the mixture
over I of G_|mu(I)|: a lower bound on the trade-off function of theta.

The mixture has privacy profile E_I[delta_|mu(I)|(eps)], which rises with every |mu|. The line is
cut into cells; the largest |mu| of each cell gives a function below the mixture's, the smallest one
above.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shuffledp import checks
from shuffledp.accounting.bounds.claims import TradeoffClaim
from shuffledp.accounting.bounds.mixtures import THEOREMS, claim
from shuffledp.accounting.curves.tradeoff import TradeoffFunction
from shuffledp.accounting.curves.tradeoff.hull import lower_hull
from shuffledp.errors import ParameterError
from shuffledp.labels import Direction, Status
from shuffledp.numerics import normal
from shuffledp.numerics.rounding import FORMULA, Array, up

Shift = Callable[[Array], Array]
"""I -> mu(I), vectorised."""

_DEEP = 8.0


@dataclass(frozen=True)
class NormalStart:
    """I ~ N(mean, sd^2)."""

    mean: float = 0.0
    sd: float = 1.0
    bounded: ClassVar[bool] = False

    def cells(self, count: int) -> tuple[Array, Array]:
        """Edges and the probabilities between them; what lies outside is missing."""
        checks.positive("sd", self.sd)
        z = np.linspace(-_DEEP, _DEEP, count + 1)
        # differences of the nearer tail keep their digits
        tail = normal.cdf(-np.abs(z))
        mass = np.where(z[1:] <= 0.0, np.diff(tail), -np.diff(tail))
        across = (z[:-1] < 0.0) & (z[1:] > 0.0)
        mass[across] = 1.0 - tail[:-1][across] - tail[1:][across]
        return self.mean + self.sd * z, mass

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        """Independent starts, for simulations."""
        return self.mean + self.sd * generator.standard_normal(count)


@dataclass(frozen=True)
class UniformStart:
    """I uniform on [low, high]."""

    low: float
    high: float
    bounded: ClassVar[bool] = True

    def cells(self, count: int) -> tuple[Array, Array]:
        """Edges and the probabilities between them."""
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ParameterError("low", "finite and below high", (self.low, self.high))
        return np.linspace(self.low, self.high, count + 1), np.full(count, 1.0 / count)

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        """Independent starts, for simulations."""
        return generator.uniform(self.low, self.high, count)


@dataclass(frozen=True)
class CellStart:
    """Any law given by its probabilities in consecutive cells; missing mass counts as revealing."""

    edges: Sequence[float]
    probabilities: Sequence[float]
    bounded: ClassVar[bool] = True

    def cells(self, count: int) -> tuple[Array, Array]:
        """As given: how a cell's mass is spread is unknown, so |mu| ranges over all of it."""
        edges, mass = np.asarray(self.edges, float), np.asarray(self.probabilities, float)
        if edges.ndim != 1 or len(edges) != len(mass) + 1 or np.any(np.diff(edges) <= 0.0):
            raise ParameterError("edges", "increasing, one more than probabilities", edges.shape)
        if np.any(~(mass >= 0.0)) or float(mass.sum()) > 1.0 + 1e-9:
            raise ParameterError("probabilities", ">= 0, summing to at most 1", float(mass.sum()))
        return edges, mass


Start = NormalStart | UniformStart | CellStart


@dataclass(frozen=True, eq=False)
class RandomStart:
    """Theorem 5.1 for one mu(I) and one initial law.

    ``monotone_between`` lists where |mu| turns, so that it is monotone in between; inside a cell
    its extremes are then at the ends (or at a turn). Or give ``lipschitz``, a Lipschitz constant of
    mu: each cell's extremes are widened by half its width times as much. With neither, mu is only
    sampled at the cells' edges and the claim is HEURISTIC. ``largest`` bounds |mu| over all starts;
    without it starts beyond the cells count as revealing. ``worst_case`` says that mu(I) bounds
    every pair of neighbours, not one pair only.
    """

    mu: Shift
    start: Start = field(default_factory=NormalStart)
    monotone_between: Sequence[float] | None = None
    lipschitz: float | None = None
    largest: float | None = None
    worst_case: bool = False
    cells: int = 16384
    _levels: int = 2048

    def laws(self) -> tuple[Array, Array, float]:
        """Smallest and largest |mu| per cell with its probability, merged; and the missing mass."""
        edges, mass = self.start.cells(checks.count("cells", self.cells))
        edges, mass = np.asarray(edges), np.asarray(mass)
        at_edges = self._size(edges)
        low = np.minimum(at_edges[:-1], at_edges[1:])
        high = np.maximum(at_edges[:-1], at_edges[1:])
        if self.lipschitz is not None:
            # |mu| at any point of the cell is within L times the distance to the nearer end
            reach = 0.5 * checks.non_negative("lipschitz", self.lipschitz) * np.diff(edges)
            low, high = np.maximum(low - reach, 0.0), high + reach
        for turn in self.monotone_between or ():
            here = (edges[:-1] <= turn) & (turn <= edges[1:])
            value = float(self._size(np.array([float(turn)]))[0])
            low, high = (
                np.where(here, np.minimum(low, value), low),
                np.where(here, np.maximum(high, value), high),
            )
        if self.largest is not None:
            limit = checks.non_negative("largest", self.largest)
            if float(at_edges.max()) > up(limit, FORMULA):
                raise ParameterError("largest", "at least |mu| everywhere", float(at_edges.max()))
            high = np.minimum(high, limit)
        return low, high, max(1.0 - math.fsum(mass.tolist()), 0.0)

    def _size(self, at: Array) -> Array:
        values = np.abs(np.asarray(self.mu(at), dtype=np.float64))
        if values.shape != at.shape or not np.all(np.isfinite(values)):
            bad = at[~np.isfinite(values)] if values.shape == at.shape else at
            raise ParameterError("mu", "a finite number for every start", f"at I = {bad[:1]}")
        return values

    def _levelled(self, values: Array, up: bool) -> tuple[Array, Array]:
        """The law of the cells' |mu|, rounded up or down to few levels."""
        mass = np.asarray(self.start.cells(self.cells)[1])
        top = float(values.max())
        if top <= 0.0:
            return np.zeros(1), np.array([float(mass.sum())])
        step = top / self._levels
        index = (np.ceil if up else np.floor)(values / step).astype(np.intp)
        weights = np.bincount(index, mass).astype(np.float64)
        used = np.flatnonzero(weights)
        # keep levels that are exact, such as a clipping threshold, exact
        levels = np.minimum(used * step, top) if up else used * step
        return np.asarray(levels, dtype=np.float64), weights[used]

    def claim(self, lines: int = 400) -> TradeoffClaim:
        """Theorem 5.1's function, from below: FIXED_PAIR, or PROVEN where ``worst_case``."""
        _, high, missing = self.laws()
        levels, weights = self._levelled(high, up=True)
        losses = _losses(float(levels.max()), checks.count("lines", lines))
        deltas = up(profile(levels, weights, losses), FORMULA) + missing + FORMULA
        function = TradeoffFunction.from_profile(np.exp(losses), np.minimum(deltas, 1.0))
        name = "wang-2023-theorem-5.1" + ("-worst" if self.worst_case else "")
        if self.monotone_between is not None or self.lipschitz is not None:
            return claim(name, function)
        note = "mu was only sampled: state where it turns, or a Lipschitz constant"
        sampled = THEOREMS[name].weakened(note, Status.HEURISTIC, Direction.ESTIMATE)
        return TradeoffClaim(function, sampled)

    def above(self, points: int = 400) -> TradeoffFunction:
        """A function above Theorem 5.1's: how much the cells cost. Not a bound on theta."""
        low, _, missing = self.laws()
        levels, weights = self._levelled(low, up=False)
        losses = _losses(float(levels.max()), checks.count("points", points))
        both = np.union1d(-losses, losses)
        alphas, betas = errors(levels, weights, both)
        # missing starts tell nothing here: mixed in as perfectly private
        alphas = np.concatenate([[0.0], alphas[::-1] + missing + FORMULA, [1.0]])
        betas = np.concatenate([[1.0], betas[::-1] + missing + FORMULA, [0.0]])
        keep = np.append((np.diff(alphas) > 0.0) & (alphas[:-1] < 1.0), True)
        x, y = alphas[keep], betas[keep]
        return TradeoffFunction(*lower_hull(x, np.minimum(y, 1.0 - x)), Direction.LOWER)

    def renyi(self, order: float) -> float:
        """Upper bound of the Rényi divergence with I revealed, ln E exp(L (L-1) mu^2 / 2) / (L-1).

        Infinite where starts beyond the cells have no ``largest`` |mu|: a few extreme starts are
        enough (see ``unclipped_renyi``).
        """
        power = checks.order("order", order)
        _, high, missing = self.laws()
        mass = np.asarray(self.start.cells(self.cells)[1])
        if self.largest is None and not (self.start.bounded and missing <= 1e-12):
            return math.inf
        sizes = np.append(high, self.largest or 0.0)
        mass = up(np.append(mass, missing), FORMULA)
        used = mass > 0.0
        exponents = 0.5 * power * (power - 1.0) * sizes[used] ** 2
        return float(np.logaddexp.reduce(np.log(mass[used]) + exponents)) / (power - 1.0)


def unclipped_renyi(a: float, order: float) -> float:
    """The same for mu(I) = a - I, I ~ N(0, 1), in closed form: infinite from (1 + sqrt(5))/2 on.

    With k = L (L-1): E exp(k mu^2 / 2) = exp(k a^2 / (2 (1-k))) / sqrt(1-k) for k < 1.
    """
    power = checks.order("order", order)
    centre = checks.real("a", a, "a finite number", -math.inf, math.inf)
    k = power * (power - 1.0)
    if k >= 1.0:
        return math.inf
    return (0.5 * k * centre**2 / (1.0 - k) - 0.5 * math.log1p(-k)) / (power - 1.0)


def profile(levels: Array, weights: Array, losses: Array) -> Array:
    """sum of weight * delta_level(eps) at every loss eps >= 0; level 0 gives 0."""
    used = levels > 0.0
    mu, w = levels[used], weights[used]
    total = np.zeros(len(losses))
    for i, eps in enumerate(losses.tolist()):
        upper = eps / mu - 0.5 * mu
        near = upper < 40.0  # beyond, both terms are below 1e-300
        part = normal.cdf(-upper[near]) - math.exp(eps) * normal.cdf(-upper[near] - mu[near])
        total[i] = float(np.sum(w[near] * np.maximum(part, 0.0)))
    return total


def errors(levels: Array, weights: Array, losses: Array) -> tuple[Array, Array]:
    """(alpha, beta) of the test that rejects where ln(q/p) > loss, a coin where it equals it."""
    used = levels > 0.0
    mu, w = levels[used], weights[used]
    idle = float(weights[~used].sum())
    alphas, betas = np.zeros(len(losses)), np.zeros(len(losses))
    for i, loss in enumerate(losses.tolist()):
        threshold = loss / mu + 0.5 * mu
        coin = 0.5 if loss == 0.0 else float(loss < 0.0)
        alphas[i] = float(np.sum(w * normal.cdf(-threshold))) + coin * idle
        betas[i] = float(np.sum(w * normal.cdf(threshold - mu))) + (1.0 - coin) * idle
    return alphas, betas


def _losses(top: float, count: int) -> Array:
    """Losses eps >= 0 that cover the steep half of G_mu, for every mu <= top: denser near 0."""
    if top <= 0.0:
        return np.zeros(1)
    reach = min(top * (0.5 * top + _DEEP), 690.0)
    return reach * np.linspace(0.0, 1.0, count) ** 2


def clipped_linear(a: float, c: float, sigma: float = 1.0, cells: int = 16384) -> RandomStart:
    """The paper's example: y_i = a x_i, x_i^2 = 1, one element removed, gradients clipped to c.

    mu(I) = clip(a - I, -c, c) / sigma, I ~ N(0, 1): one stated pair of data sets, so FIXED_PAIR.
    """
    centre = checks.real("a", a, "a finite number", -math.inf, math.inf)
    limit, noise = checks.positive("c", c), checks.positive("sigma", sigma)
    return RandomStart(
        lambda start: np.clip(centre - start, -limit, limit) / noise,
        monotone_between=(centre,),
        largest=limit / noise,
        cells=cells,
    )


def clipped_linear_worst_case(
    bound: float, c: float, sigma: float = 1.0, relation: str = "remove", cells: int = 16384
) -> RandomStart:
    """Every data set with |x_i| <= 1, |y_i| <= bound: mu(I) = min(bound + |I|, c) / sigma.

    A gradient -(y - I x) x is at most bound + |I| in size and reaches it. ``relation`` "remove"
    drops one element, "replace" changes it, which doubles mu. Without a bound on the data mu = c
    for every start: c-GDP, and random initialisation gains nothing.
    """
    reach = checks.non_negative("bound", bound)
    limit, noise = checks.positive("c", c), checks.positive("sigma", sigma)
    if relation not in ("remove", "replace"):
        raise ParameterError("relation", "'remove' or 'replace'", relation)
    factor = (2.0 if relation == "replace" else 1.0) / noise
    return RandomStart(
        lambda start: factor * np.minimum(reach + np.abs(start), limit),
        monotone_between=(0.0,),
        largest=factor * limit,
        worst_case=True,
        cells=cells,
    )
