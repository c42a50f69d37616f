"""Closed-form trade-off functions, and piecewise-linear functions just below and above them.

Tangents of a convex function lie below it, chords above: ``below`` is the sound side (UPPER bound
on the privacy loss), ``above`` the other.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from shuffledp import checks
from shuffledp.accounting.curves.gdp import gaussian_delta, gaussian_tradeoff
from shuffledp.accounting.curves.tradeoff.function import TradeoffFunction
from shuffledp.accounting.curves.tradeoff.hull import lower_hull
from shuffledp.labels import Direction
from shuffledp.numerics import normal
from shuffledp.numerics.rounding import Array, up

_RELATIVE, _ABSOLUTE = 1e-12, 1e-15
"""What closed forms in doubles may be off by; tangents are lowered, chords raised by as much."""


def identity() -> TradeoffFunction:
    """Perfect privacy: 1 - alpha."""
    return TradeoffFunction(np.array([0.0, 1.0]), np.array([1.0, 0.0]))


def approximate(epsilon: float, delta: float = 0.0) -> TradeoffFunction:
    """f of (epsilon, delta)-DP: max(0, 1 - delta - e alpha, (1 - delta - alpha) / e).

    Examples
    --------
    >>> from shuffledp.accounting.curves.tradeoff import approximate
    >>> round(float(approximate(0.0, 0.25)(0.25)), 6)
    0.5
    """
    eps = checks.non_negative("epsilon", epsilon)
    d = checks.unit("delta", delta)
    shrink = math.exp(-eps)
    more, less = (1.0 - d) / (1.0 + shrink), (1.0 - d) * shrink / (1.0 + shrink)
    return TradeoffFunction.from_masses(
        np.array([0.0, less, more, d]), np.array([d, more, less, 0.0])
    )


class SmoothTradeoff(ABC):
    """A symmetric trade-off function in closed form."""

    @abstractmethod
    def __call__(self, alpha: float) -> float:
        """f(alpha)."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """delta at this epsilon."""

    @abstractmethod
    def renyi(self, order: float) -> float:
        """Rényi divergence of this order."""

    @abstractmethod
    def _losses(self, count: int) -> Array:
        """Increasing privacy losses eps >= 0 that cover the steep half of f."""

    @abstractmethod
    def _points(self, count: int) -> tuple[Array, Array]:
        """Increasing alphas and their values, ends excluded."""

    def inverse(self) -> SmoothTradeoff:
        """Symmetric: its own inverse."""
        return self

    def below(self, lines: int = 512) -> TradeoffFunction:
        """The upper envelope of this many tangents and their mirror images."""
        losses = self._losses(checks.count("lines", lines))
        deltas = np.array([self.delta(float(eps)) for eps in losses])
        raised = np.minimum(up(deltas, _RELATIVE) + _ABSOLUTE, 1.0)
        deltas = np.where(deltas > 0.0, raised, 0.0)
        return TradeoffFunction.from_profile(np.exp(losses), deltas)

    def above(self, points: int = 512) -> TradeoffFunction:
        """The chords through this many points."""
        x, y = self._points(checks.count("points", points))
        x = np.concatenate([[0.0], np.minimum(up(x, _RELATIVE), 1.0), [1.0]])
        y = np.concatenate([[1.0], up(y, _RELATIVE), [0.0]])
        rising = np.append(np.diff(x) > 0.0, True)
        x, y = x[rising], np.minimum(y[rising], 1.0 - x[rising])
        # all points lie above f, and so does their hull
        return TradeoffFunction(*lower_hull(x, y), Direction.LOWER)


@dataclass(frozen=True)
class Gaussian(SmoothTradeoff):
    """G_mu = T(N(0, 1), N(mu, 1))."""

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", checks.positive("mu", self.mu))

    def __call__(self, alpha: float) -> float:
        return gaussian_tradeoff(self.mu, checks.unit("alpha", alpha))

    def delta(self, epsilon: float) -> float:
        return gaussian_delta(self.mu, checks.non_negative("epsilon", epsilon))

    def renyi(self, order: float) -> float:
        return 0.5 * self.mu**2 * checks.order("order", order)

    def composed(self, copies: int) -> Gaussian:
        """Exact: G_mu tensor G_nu is G of the root of mu^2 + nu^2."""
        return Gaussian(self.mu * math.sqrt(checks.count("copies", copies)))

    def _losses(self, count: int) -> Array:
        # the test that rejects above x = mu/2 + z has threshold exp(mu z)
        reach = min(0.5 * self.mu + 8.5, 690.0 / self.mu)
        return np.linspace(0.0, self.mu * reach, count)

    def _points(self, count: int) -> tuple[Array, Array]:
        x = np.linspace(self.mu + 8.0, -8.0, count)
        return normal.cdf(-x), normal.cdf(x - self.mu)


@dataclass(frozen=True)
class Laplace(SmoothTradeoff):
    """T(Lap(0, 1), Lap(mu, 1)): noise of scale 1 on a value of sensitivity mu."""

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", checks.positive("mu", self.mu))

    def __call__(self, alpha: float) -> float:
        a = checks.unit("alpha", alpha)
        shrink = math.exp(-self.mu)
        if a < 0.5 * shrink:
            return 1.0 - a / shrink
        return 0.25 * shrink / a if a <= 0.5 else shrink * (1.0 - a)

    def delta(self, epsilon: float) -> float:
        return -math.expm1(0.5 * min(checks.non_negative("epsilon", epsilon) - self.mu, 0.0))

    def renyi(self, order: float) -> float:
        power = checks.order("order", order)
        # ln( L/(2L-1) e^((L-1) mu) + (L-1)/(2L-1) e^(-L mu) ) / (L-1)
        first = math.log(power / (2.0 * power - 1.0)) + (power - 1.0) * self.mu
        second = math.log((power - 1.0) / (2.0 * power - 1.0)) - power * self.mu
        return float(np.logaddexp(first, second)) / (power - 1.0)

    def _losses(self, count: int) -> Array:
        return np.linspace(0.0, self.mu, count)

    def _points(self, count: int) -> tuple[Array, Array]:
        # between the two straight pieces; those need their ends only
        x = np.geomspace(0.5 * math.exp(-self.mu), 0.5, count)
        return x, 0.25 * math.exp(-self.mu) / x
