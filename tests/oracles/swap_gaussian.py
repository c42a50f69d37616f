"""Shuffled Gaussian reports, slowly: any data set by simulation, and the swap bound in plain floating point."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MISSED = 4.5
"""Standard errors below a simulated mean: a normal one is larger than that once in 300,000."""


def permanents(density: Array) -> Array:
    """Of each sample's matrix: density[s, i, j] of report i at value j."""
    samples, n, _ = density.shape
    found = {0: np.ones(samples)}
    for i in range(n):
        larger: dict[int, Array] = {}
        for taken, value in found.items():
            for j in range(n):
                if not taken >> j & 1:
                    key = taken | 1 << j
                    larger[key] = larger.get(key, 0.0) + value * density[:, i, j]
        found = larger
    return found[(1 << n) - 1]


def delta_below(
    first: Array,
    second: Array,
    others: Array,
    epsilon: float,
    rng: np.random.Generator,
    samples: int,
    *,
    rate: float = 1.0,
    drawn: int | None = None,
    deviations: Array | None = None,
) -> float:
    """Below delta(epsilon) of first against second, but for one in 300,000 times.

    Noise of deviation 1, or of each user's own, the victim's first. Users check in at a rate, or so
    many of them are drawn: the slots of the others hold a symbol that is as likely for everybody.
    """
    points = np.vstack([first, others])
    n = len(points)
    scale = np.ones(n) if deviations is None else deviations
    z = points + scale[:, None] * rng.standard_normal((samples, *points.shape))
    silent = rng.random((samples, n)) >= rate
    if drawn is not None:
        silent = np.argsort(np.argsort(rng.random((samples, n)), axis=1), axis=1) >= drawn

    def density(values: Array) -> Array:
        away = ((z[:, :, None, :] - values[None, None, :, :]) ** 2).sum(axis=3)
        spoken = rate * np.exp(-0.5 * away / scale**2) / scale ** values.shape[1]
        return permanents(np.where(silent[:, :, None], 1.0, spoken))

    ratio = density(np.vstack([second, others])) / density(points)
    lost = np.maximum(1.0 - math.exp(epsilon) * ratio, 0.0)
    return float(lost.mean() - MISSED * lost.std() / math.sqrt(samples))


def _plane(
    along: float, across: float, half: float, step: float = 0.2
) -> tuple[Array, Array, Array]:
    """Weights, a / r and b / r on a grid of the plane."""
    x = np.arange(-8.0, 8.0 + 2.0 * (abs(along) + half), step)
    y = np.arange(-8.0, 8.0 + 2.0 * across, step) if across > 0.0 else np.zeros(1)
    s, t = along + half, along - half
    if s < 0.0:
        s, t = -s, -t
    x = x + min(0.0, 2.0 * t)
    wx, wy = np.exp(-0.5 * x**2), np.exp(-0.5 * y**2)
    c = np.exp(across * y - 0.5 * across**2)
    weights = np.multiply.outer(wx / wx.sum(), wy / wy.sum())
    a = np.multiply.outer(np.exp(s * x - 0.5 * s * s), c)
    b = np.multiply.outer(np.exp(t * x - 0.5 * t * t), c)
    return weights.ravel(), a.ravel(), b.ravel()


def float_delta(diameter: float, n: int, epsilon: float, missed: float) -> float:
    """The swap bound where the victim's values are a diameter of a ball apart, ``missed`` charged for rare reports.

    Trapezoids, a grid of angles, nothing rounded: about what a certified bound must reach.
    """
    radius, e, m = 0.5 * diameter, math.exp(epsilon), n - 1
    depth = math.sqrt(-2.0 * math.log(missed))
    cap = math.exp(radius * depth + 1.5 * radius**2)
    least = n - cap - depth * math.sqrt(m * math.expm1(radius**2))
    k = 2.0 / math.sqrt(27.0) * math.exp(0.5 * radius**2 - 0.5 * epsilon) / (least - cap)
    laws = []
    for angle in (0.0, 0.5 * math.pi, math.pi):
        laws.append(_plane(radius * math.cos(angle), radius * abs(math.sin(angle)), radius))
    sd = math.sqrt(m * math.expm1(diameter**2))
    highest = 14.0 * sd / (1.0 + epsilon * math.sqrt(n / math.expm1(diameter**2)))
    total = 2.0 * missed
    edges = np.array([-9.0, 2.0, 3.5, 5.0, 8.0])
    for z in edges[1:].tolist():
        chance = 0.5 * (
            math.erf(z / math.sqrt(2.0)) - math.erf(edges[edges < z].max() / math.sqrt(2.0))
        )
        ratio = math.exp(max(0.0, radius * z + 0.5 * radius**2)) / least
        share = ratio / (1.0 + ratio)
        own = math.exp(-0.5 * radius**2) * (math.exp(radius * z) - e * math.exp(-radius * z))
        values = []
        for weights, a, b in laws:
            v = a - e * b
            w = np.where(v > 0.0, v, (1.0 - share) * v) + k * a * a
            values.append((weights, np.minimum(w, highest)))
        best = math.inf
        for theta in np.geomspace(2.0, 8.0, 7) / sd:
            t = np.linspace(0.0, 7.0 / sd, 29)
            size = np.zeros_like(t)
            for weights, w in values:
                tilted = weights * np.exp(theta * w)
                size = np.maximum(size, np.abs(np.exp(1j * np.multiply.outer(t, w)) @ tilted))
            inside = np.exp(np.minimum(m * np.log(size), 300.0)) / (theta**2 + t**2)
            best = min(best, float(np.trapezoid(inside, t)) / math.pi * math.exp(theta * own))
        total += chance * best / least
    return total
