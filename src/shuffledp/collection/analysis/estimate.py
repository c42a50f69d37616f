"""What an analyst learns: numbers with their errors, and the privacy they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp import checks
from shuffledp.errors import ParameterError
from shuffledp.labels import Interval
from shuffledp.shown import Drawn, Printed

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate(Printed, Drawn):
    """Estimates, one per name, with the variance that randomizing adds.

    Unbiased, but for quantiles, and for ``projected`` ones, which were moved to the nearest law
    (intervals as before).

    Parameters
    ----------
    quantity
        What is estimated, in a word.
    names, values, variances
        One entry each per estimate.
    reports
        How many were counted.
    guarantee, label, note
        What it cost, what is said of it, and what a reader should know besides.
    dropped
        Rows that could not be read.
    projected
        Whether values were moved to where they can be.
    raw
        The unbiased values, if they were.
    """

    quantity: str
    names: tuple[Any, ...]
    values: Array
    variances: Array
    reports: int
    guarantee: Interval | None = None
    """What holds for the release as a whole, if anything is known to."""
    label: str = ""
    """The same in words, and what is not covered."""
    note: str = ""
    dropped: int = 0
    """Rows that gave no report, for want of a declared value."""
    projected: bool = False
    raw: Array | None = None

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Confidence intervals of this level, each for itself."""
        reach = quantile(level) * np.sqrt(self.variances)
        return self._unmoved - reach, self._unmoved + reach

    def on_simplex(self) -> Estimate:
        """The nearest frequencies that are non-negative and sum to 1."""
        return self._moved(simplex(self._unmoved))

    def non_negative(self) -> Estimate:
        """No frequency below 0."""
        return self._moved(np.maximum(self._unmoved, 0.0))

    @property
    def _unmoved(self) -> Array:
        return self.values if self.raw is None else self.raw

    def _moved(self, values: Array) -> Estimate:
        return replace(self, values=values, projected=True, raw=self._unmoved)

    def scaled(self, low: float, high: float) -> Estimate:
        """Shares of a range as numbers of that range."""
        span = high - low
        return replace(self, values=low + span * self.values, variances=span**2 * self.variances)

    @property
    def has_frequencies(self) -> bool:
        """Whether there are shares that can be moved to where they can be."""
        return self.quantity == "frequency"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        low, high = self.interval()
        return {
            "quantity": self.quantity,
            "reports": self.reports,
            "privacy": None if self.guarantee is None else self.guarantee.to_dict(),
            "label": self.label,
            "projected": self.projected,
            "note": self.note,
            "dropped": self.dropped,
            "estimates": [
                {
                    "name": name,
                    "value": value,
                    "error": error,
                    "low": below,
                    "high": above,
                    "raw": raw,
                }
                for name, value, error, below, above, raw in zip(
                    self.names,
                    self.values.tolist(),
                    np.sqrt(self.variances).tolist(),
                    low.tolist(),
                    high.tolist(),
                    self._unmoved.tolist(),
                    strict=True,
                )
            ],
        }


def quantile(level: float) -> float:
    """Standard deviations either side that hold this share of a normal law."""
    return NormalDist().inv_cdf(0.5 + 0.5 * checks.probability("level", level))


def simplex(values: Array) -> Array:
    """The nearest point with non-negative coordinates that sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> simplex(np.array([0.5, 0.75, -0.25])).tolist()
    [0.375, 0.625, 0.0]
    """
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, values.size + 1)
    cut = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.maximum(values - cut, 0.0))


def combine(estimates: Sequence[Estimate]) -> Estimate:
    """Several estimates of the same numbers, weighted so that the variance is least.

    For classes of users with budgets of their own that may travel with the reports: the frequencies
    of each class are estimated by themselves. All are taken to be samples of one population.

    Parameters
    ----------
    estimates
        Of the same names, one per class of users.

    Returns
    -------
    Estimate
        Of the whole population.
    """
    if not estimates:
        raise ParameterError("estimates", "at least one", 0)
    first = estimates[0]
    if any(each.names != first.names or each.quantity != "frequency" for each in estimates):
        raise ParameterError(
            "estimates", "frequencies of the same values", [e.quantity for e in estimates]
        )
    values = np.array([each.values for each in estimates])
    reports = np.array([[float(each.reports)] for each in estimates])
    shares = np.clip((reports * values).sum(axis=0) / reports.sum(), 0.0, 1.0)
    # a class is a sample: of two users, however little noise they add, little is known
    sampled = np.maximum(shares * (1.0 - shares), 1.0 / reports.sum()) / reports
    weights = 1.0 / (np.array([each.variances for each in estimates]) + sampled)
    return replace(
        first,
        values=(weights * values).sum(axis=0) / weights.sum(axis=0),
        variances=1.0 / weights.sum(axis=0),
        reports=sum(each.reports for each in estimates),
        guarantee=None,
        note=f"{len(estimates)} classes as samples of one population,"
        " weighted by the inverse of their"
        " variance; errors include the sampling",
    )
