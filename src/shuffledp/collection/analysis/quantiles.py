"""Quantiles of a number, from the frequencies of the cells of its range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shuffledp import checks
from shuffledp.collection.analysis.estimate import Array, Estimate, quantile
from shuffledp.collection.analysis.frequencies import Frequencies, set_variance
from shuffledp.collection.analysis.support import Support
from shuffledp.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Quantiles(Estimate):
    """Quantiles with limits either side, each of its own length."""

    below: Array = field(default_factory=lambda: np.array([0.0, 1.0]))
    """Estimated distribution function at the edges of the cells, rising."""
    deviations: Array = field(default_factory=lambda: np.zeros(2))
    """Its standard deviations."""
    low: float = 0.0
    high: float = 1.0

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Confidence limits of this level, each for itself: edges of cells.

        A cell is left out if it lies surely too far left (less than the share is below its right
        edge) or too far right (more than the share is below its left edge), each with half the
        error: the cell of the true quantile is judged at its own two edges, so no band has to hold
        everywhere. Where users lie inside a cell is not known.
        """
        reach = quantile(level) * self.deviations
        limits = []
        for share in self.names:
            right = self.below[1:] + reach[1:] >= share
            left = self.below[:-1] - reach[:-1] < share
            kept = np.flatnonzero(left & right)
            limits.append((kept[0], kept[-1] + 1))
        first, last = self.low + (self.high - self.low) * np.array(limits).T / (self.below.size - 1)
        return first, last

    def scaled(self, low: float, high: float) -> Quantiles:
        """Shares of a range as numbers of that range."""
        moved = super().scaled(low, high)
        assert isinstance(moved, Quantiles)
        return replace(moved, low=low, high=high)


def quantiles(
    tally: Frequencies, shares: Sequence[float], level: float = 0.95
) -> tuple[Quantiles, Array, Array]:
    """Positions in [0, 1] below which these shares of the users lie, and confidence limits.

    The k values are equal cells of the range, in order. The distribution function is estimated
    without bias at each edge, then made to rise by least squares; a quantile is where it reaches
    the share, linear inside a cell.

    Parameters
    ----------
    tally
        Counted reports of the cells.
    shares
        Such as ``[0.25, 0.5, 0.75]``.
    level
        Confidence of the limits.

    Returns
    -------
    tuple
        The quantiles, their lower and their upper limits.
    """
    k = tally.k
    shares = [checks.probability("shares", share) for share in shares]
    below, deviations = _distribution(tally)
    rising = np.clip(_rising(below), 0.0, 1.0)
    rising[0], rising[-1] = 0.0, 1.0
    values = np.array([_crossing(rising, share) for share in shares])
    found = Quantiles(
        "quantile",
        tuple(shares),
        values,
        np.zeros(len(shares)),
        tally.reports,
        below=rising,
        deviations=deviations,
    )
    low, high = found.interval(level)
    typical = np.subtract(*found.interval()[::-1]) / (2.0 * quantile(0.95))
    note = f"limits are edges of cells (1/{k} of the range)"
    if np.max(high - low) < 2.5 / k:
        note += ": more cells would narrow them"
    return replace(found, variances=typical**2, note=note), low, high


def _distribution(tally: Frequencies) -> tuple[Array, Array]:
    """Share of the users below each edge of a cell, and its standard deviation.

    The frequencies of all cells sum to 1: what their estimates miss of it tells about each part.
    """
    if not isinstance(tally.law, Support):
        raise ParameterError("device", "one that treats all values alike", tally.device.randomizer)
    found = tally.estimate().values
    k, n = tally.k, tally.reports
    sums = np.concatenate([[0.0], np.cumsum(found)])
    total = float(sums[-1])
    whole = set_variance(tally.law, k, 1.0, n)
    below, variances = np.zeros(k + 1), np.zeros(k + 1)
    for size in range(1, k):
        share = float(np.clip(sums[size] / max(total, 1e-9), 0.0, 1.0))
        part = set_variance(tally.law, size, share, n)
        rest = set_variance(tally.law, k - size, 1.0 - share, n)
        common = (part + whole - rest) / 2.0
        weight = common / whole if whole > 1e-9 * part else 0.0
        below[size] = sums[size] - weight * (total - 1.0)
        known = np.clip(below[size], 0.0, 1.0)
        # those who stayed silent are missing from the sample
        silent = (1.0 - tally.rate) * known * (1.0 - known) / n
        variances[size] = max(part - weight * common, 0.0) + silent
    below[-1] = 1.0
    return below, np.sqrt(variances)


def _rising(values: Array) -> Array:
    """The nearest non-decreasing sequence: falling neighbours are replaced by their mean."""
    means: list[float] = []
    sizes: list[int] = []
    for value in values.tolist():
        means.append(value)
        sizes.append(1)
        while len(means) > 1 and means[-2] >= means[-1]:
            size = sizes[-2] + sizes[-1]
            means[-2:] = [(means[-2] * sizes[-2] + means[-1] * sizes[-1]) / size]
            sizes[-2:] = [size]
    return np.repeat(means, sizes)


def _crossing(rising: Array, share: float) -> float:
    """Where a rising function first reaches the share, linear inside a cell."""
    after = max(int(np.searchsorted(rising, share, side="left")), 1)
    before, step = rising[after - 1], rising[after] - rising[after - 1]
    part = (share - before) / step if step > 0.0 else 1.0
    return float((after - 1 + part) / (rising.size - 1))
