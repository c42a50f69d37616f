"""The two methods that Figure 1b of Liew, Takahashi 2023 compares with, as the paper says it.

Both come from Liew, Hasegawa, Takahashi 2022 (arXiv 2206.03151), which we do not hold. Each report
is taken as (eps0, delta0)-LDP, clones and check-in amplify it (gaussian-approximate, which is
proven and minimised over delta0); then either (epsilon, delta) of a round is composed ("Baseline"),
or all of delta(epsilon) is turned into Rényi divergences and those are added up ("generic bound").
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from shuffledp.accounting.bounds.gaussian_proven import gaussian_approximate
from shuffledp.accounting.curves import OrderTable
from shuffledp.accounting.randomizers import CheckIn, Gaussian
from shuffledp.numerics.composition import composed_epsilon
from shuffledp.numerics.enclosure import QUICK
from shuffledp.numerics.rounding import SUMS, Array, up

_SHARES = (0.3, 0.5, 0.7, 0.9)
"""Of delta, for the rounds' own deltas."""
_ORDERS = 64
_LEAST, _AMPLIFIED, _MOST, _CELLS = 1e-5, 3.0, 100.0, 300
"""Epsilons at which delta(epsilon) of a round is asked; from the second on without amplification.
Beyond the last one e^(64 epsilon) delta(epsilon) is below 1e-300 if sensitivity <= sigma / 2."""


def baseline(report: CheckIn, n: int, rounds: int, delta: float) -> float:
    """epsilon of (epsilon, delta)-DP rounds, composed as well as that allows."""
    curve = gaussian_approximate.curve(report, n)
    return min(
        composed_epsilon(
            curve.epsilon(share * delta / rounds), rounds, up(1.0 - share, SUMS) * delta
        )
        for share in _SHARES
    )


def generic(report: CheckIn, n: int, rounds: int, delta: float) -> float:
    """epsilon of Rényi divergences that follow from all of delta(epsilon) of a round."""
    logs = _log_moments(report, n)
    orders = np.arange(float(_ORDERS + 1))
    divergences = np.zeros(_ORDERS + 1)
    divergences[2:] = rounds * logs[2:] / (orders[2:] - 1.0)
    return OrderTable(lambda top: divergences[: top + 1], _ORDERS).epsilon(delta)


@lru_cache(maxsize=4)
def _log_moments(report: CheckIn, n: int) -> Array:
    """log of E (dP/dQ)^L for L = 0.., from above: 1 + L (L-1) times the integral over epsilon > 0
    of (e^((L-1) epsilon) + e^(-L epsilon)) delta(epsilon), which falls; in logs throughout."""
    edges = np.append(0.0, np.geomspace(_LEAST, _MOST, _CELLS))
    amplified = gaussian_approximate.curve(report, n)
    asked = [amplified.enclose(x, QUICK).upper for x in edges[edges < _AMPLIFIED].tolist()]
    log_delta = _log_unshuffled(report, edges[:-1])
    log_delta[: len(asked)] = np.minimum(log_delta[: len(asked)], np.log(asked))
    order = np.arange(2.0, _ORDERS + 1.0)[:, None]
    widths = np.diff(edges)
    rising = (order - 1.0) * edges[1:] + np.log(-np.expm1(-(order - 1.0) * widths) / (order - 1.0))
    falling = -order * edges[:-1] + np.log(-np.expm1(-order * widths) / order)
    cells = np.logaddexp(rising, falling) + log_delta
    inside = np.logaddexp.reduce(cells, axis=1) + np.log(order * (order - 1.0))[:, 0]
    return np.append(np.zeros(2), np.logaddexp(0.0, inside) * (1.0 + SUMS))


def _log_unshuffled(report: CheckIn, epsilon: Array) -> Array:
    """log of at least delta(epsilon) if the victim's own report is known: rate times a normal
    tail."""
    gaussian = report.randomizer
    assert isinstance(gaussian, Gaussian)
    mu = gaussian.sensitivity / gaussian.sigma
    depth = np.maximum(epsilon / mu - 0.5 * mu, 0.0)
    return np.asarray(np.log(report.rate) - 0.5 * depth**2)
