"""Quantiles of a number, from the frequencies of the cells of its range."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shuffledp import checks
from shuffledp.analysis.estimate import Estimate, quantile
from shuffledp.analysis.frequencies import Frequencies, set_variance


def quantiles(
    tally: Frequencies, shares: Sequence[float], level: float = 0.95
) -> tuple[Estimate, np.ndarray, np.ndarray]:
    """Positions in [0, 1] below which these shares of the users lie, and confidence limits.

    The k values are equal cells of the range, in order. The distribution function is estimated
    without bias at each edge; a quantile is read off its rising envelope, linear inside a cell;
    the limits are the edges of the cells where the function's own confidence band crosses the share.
    """
    found = tally.estimate()
    k = tally.k
    edges = np.arange(k + 1) / k
    below = np.concatenate([[0.0], np.cumsum(found.values)])
    deviations = np.zeros(k + 1)
    for size in range(1, k):
        variance = set_variance(tally.support, size, float(below[size]), tally.reports)
        deviations[size] = np.sqrt(variance)
    below[-1] = 1.0
    rising = np.clip(np.maximum.accumulate(below), 0.0, 1.0)
    reach = quantile(level) * deviations
    upper = np.maximum.accumulate(np.clip(below + reach, 0.0, 1.0))
    lower = np.minimum.accumulate(np.clip(below - reach, 0.0, 1.0)[::-1])[::-1]
    upper[-1] = lower[-1] = 1.0
    shares = [checks.probability("shares", share) for share in shares]
    values = np.array([_crossing(rising, edges, share) for share in shares])
    # where users lie inside a cell is not known: limits end at edges
    low = np.floor(np.array([_crossing(upper, edges, share) for share in shares]) * k - 1e-9) / k
    high = np.ceil(np.array([_crossing(lower, edges, share) for share in shares]) * k + 1e-9) / k
    low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    variances = (np.maximum(high - values, values - low) / quantile(level)) ** 2
    note = f"limits from the confidence band of the distribution function, no finer than a cell (1/{k})"
    estimate = Estimate("quantile", tuple(shares), values, variances, tally.reports, note=note)
    return estimate, low, high


def _crossing(function: np.ndarray, edges: np.ndarray, share: float) -> float:
    """Where a rising function first reaches the share."""
    place = int(np.searchsorted(function, share, side="left"))
    if place == 0:
        return float(edges[0])
    before, after = function[place - 1], function[place]
    part = (share - before) / (after - before) if after > before else 1.0
    return float(edges[place - 1] + part * (edges[place] - edges[place - 1]))
