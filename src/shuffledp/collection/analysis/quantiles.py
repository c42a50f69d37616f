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

    left: Array = field(default_factory=lambda: np.zeros((2, 1)))
    """At most the share of users below each cell, estimated, and its standard deviation."""
    right: Array = field(default_factory=lambda: np.array([[1.0], [0.0]]))
    """At least the share below its right edge, the same way."""
    low: float = 0.0
    high: float = 1.0

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Confidence limits of this level, each for itself: edges of cells.

        A cell is left out if it lies surely too far left (less than the share is below its right
        edge) or too far right (more than the share is below its left edge), each with half the
        error: the cell of the true quantile is judged at its own two edges, so no band has to hold
        everywhere. Where users lie inside a cell is not known.
        """
        reach = quantile(level)
        least, most = self.left[0] - reach * self.left[1], self.right[0] + reach * self.right[1]
        limits = []
        for share, value in zip(self.names, self.values, strict=True):
            kept = np.flatnonzero((least < share) & (most >= share))
            if not kept.size:  # noise says no to all: where the estimate is
                kept = np.array([self._cell(value)])
            limits.append((kept[0], kept[-1] + 1))
        first, last = self.low + (self.high - self.low) * np.array(limits).T / least.size
        return first, last

    def _cell(self, value: float) -> int:
        share, cells = (value - self.low) / (self.high - self.low), self.left.shape[1]
        return int(min(max(share * cells, 0), cells - 1))

    def with_typical_errors(self) -> Quantiles:
        """Errors as those of intervals that were as long either side."""
        low, high = self.interval()
        return replace(self, variances=((high - low) / (2.0 * quantile(0.95))) ** 2)

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
    never_less = np.clip(rising(below), 0.0, 1.0)
    never_less[0], never_less[-1] = 0.0, 1.0
    values = np.array([crossing(never_less, share) for share in shares])
    found = Quantiles(
        "quantile",
        tuple(shares),
        values,
        np.zeros(len(shares)),
        tally.reports,
        left=np.stack([never_less[:-1], deviations[:-1]]),
        right=np.stack([never_less[1:], deviations[1:]]),
    ).with_typical_errors()
    low, high = found.interval(level)
    note = f"limits are edges of cells (1/{k} of the range)"
    if np.max(high - low) < 2.5 / k:
        note += ": more cells would narrow them"
    return replace(found, note=note), low, high


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


def rising(values: Array) -> Array:
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


def crossing(never_less: Array, share: float) -> float:
    """Where a rising function first reaches the share, linear inside a cell."""
    after = max(int(np.searchsorted(never_less, share, side="left")), 1)
    before, step = never_less[after - 1], never_less[after] - never_less[after - 1]
    part = (share - before) / step if step > 0.0 else 1.0
    return float((after - 1 + part) / (never_less.size - 1))
