"""Mean, quantiles and shares of cells from one report per user: windows over a uniform floor.

Reports up to a place count the mean of the distribution function over the window that ends there
(docs/proofs/plateau.md): for a true quantile the mean before it is at most, and after it at least,
the share. All of it is post-processing of the same reports, which cost privacy once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch

import numpy as np

from shuffledp import checks
from shuffledp.collection.analysis.estimate import Array, Estimate, quantile
from shuffledp.collection.analysis.means import Means
from shuffledp.collection.analysis.quantiles import Quantiles, crossing, rising
from shuffledp.collection.devices import Device
from shuffledp.collection.devices.device import Reports
from shuffledp.collection.devices.dyadic import ONE
from shuffledp.collection.devices.numeric import PiecewiseDevice, RoundingDevice
from shuffledp.errors import ParameterError


@dataclass(frozen=True)
class Floor:
    """Places of reports: a value begins at one of steps + 1, its window is as many as ``window``.

    ``likelihood`` is what every place has for all values, ``mass`` their sum.
    """

    steps: int
    window: int
    likelihood: float

    @property
    def places(self) -> int:
        return self.steps + self.window

    @property
    def mass(self) -> float:
        return self.likelihood * self.places

    def deviation(self, n: int) -> float:
        """Of the mean distribution function near the middle of n users."""
        noise = 0.25 * self.mass * (2.0 - self.mass)
        return math.sqrt(noise / n) / (1.0 - self.mass)

    def reach(self, n: int, within: float, level: float = 0.95) -> float:
        """Half of an interval for the median of n users spread evenly within a share of the range.

        Noise, and half of a window and a step.
        """
        blind = 0.5 * (self.window + 1) / self.steps
        return within * quantile(level) * self.deviation(n) + blind


@singledispatch
def floor(device: Device) -> Floor:
    """Of a device whose windows slide over a uniform floor."""
    raise ParameterError("device", "a plateau, piecewise or rounding", device.randomizer)


@floor.register
def _(device: PiecewiseDevice) -> Floor:
    return Floor(device.levels, device.window, device.outside / ONE / device.levels)


@floor.register
def _(device: RoundingDevice) -> Floor:
    k = device.response.k
    return Floor(k - 1, 1, device.response.replaced / k)


class Distribution(Means):
    """Counts of the places of reports; parts are added.

    Parameters
    ----------
    device
        What the users ran.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp import Plateau
    >>> from shuffledp.collection.devices import device, simulation
    >>> machine = device(Plateau(0.05, eps0=8.0))
    >>> tally = Distribution(machine)
    >>> tally.add(machine.encode(np.linspace(0.0, 1.0, 10_000), simulation(1)))
    >>> np.round(tally.quantiles([0.25, 0.5]).values, 1).tolist()
    [0.2, 0.5]
    """

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.floor = floor(device.speaking)
        self.counts = np.zeros(self.floor.places, np.int64)

    def add(self, reports: Reports) -> None:
        """Count a block of reports."""
        super().add(reports)
        self.counts += np.bincount(reports[:, 0], minlength=self.floor.places)

    def merge(self, other: Means) -> None:
        """Add what another counted."""
        assert isinstance(other, Distribution)
        super().merge(other)
        self.counts += other.counts

    def _before(self) -> tuple[Array, Array, Array]:
        """Of the window that ends before each place, and after the last: raw, rising, deviation."""
        if self.reports < 2:
            raise ParameterError("users", "at least two to estimate from", self.reports)
        floor, n = self.floor, self.reports
        edges = np.arange(floor.places + 1)
        below = np.concatenate([[0], np.cumsum(self.counts)]) / n
        told = 1.0 - floor.mass
        raw = (below - floor.likelihood * edges) / told
        raw[0], raw[-1] = 0.0, 1.0
        mean = np.clip(rising(raw), 0.0, 1.0)
        alone = floor.likelihood * edges
        # users before the window count wholly, those after it not at all, the others in part
        before = np.concatenate([np.zeros(floor.window), mean[: -floor.window]])
        up_to = np.concatenate([mean[floor.window :], np.ones(floor.window)])
        part = mean - before
        whole = before + part**2 / np.maximum(up_to - before, 1e-300)
        chance = alone + told * mean
        squares = alone**2 + 2.0 * alone * told * mean + told**2 * whole
        variances = np.maximum(chance - squares, 0.0) / (n * told**2)
        # those who stayed silent are missing from the sample
        variances += (1.0 - self._asked) * mean * (1.0 - mean) / n
        return raw, mean, np.sqrt(variances)

    def quantiles(self, shares: Sequence[float]) -> Quantiles:
        """Positions in [0, 1] below which these shares of the users lie, with limits."""
        shares = [checks.probability("shares", share) for share in shares]
        raw, mean, deviations = self._before()
        steps, window = self.floor.steps, self.floor.window
        first, last = np.arange(steps), np.arange(steps) + 1 + window
        values = [(crossing(mean, share) * (mean.size - 1) - 0.5 * window) for share in shares]
        found = Quantiles(
            "quantile",
            tuple(shares),
            np.clip(np.array(values) / steps, 0.0, 1.0),
            np.zeros(len(shares)),
            self.reports,
            left=np.stack([raw[first], deviations[first]]),
            right=np.stack([raw[last], deviations[last]]),
        )
        return found.with_typical_errors()

    def histogram(self, bins: int) -> Shares:
        """The share of the users in each of so many equal cells of the range."""
        steps, window = self.floor.steps, self.floor.window
        edges = np.linspace(0.0, float(steps), checks.whole("bins", bins, 2) + 1)
        raw, mean, _ = self._before()
        places = np.arange(raw.size)

        def at(places_of: Array, of: Array) -> Array:
            return np.interp(places_of, places, of)

        def share(left: Array, right: Array) -> Array:
            return at(right, raw) - at(left, raw)

        # all users are in the range: the outermost cells reach as far as reports do
        before, after = edges.copy(), edges + window
        before[-1], after[0] = float(raw.size - 1), 0.0
        middle = edges + 0.5 * window
        middle[0], middle[-1] = 0.0, float(raw.size - 1)
        values = share(middle[:-1], middle[1:])
        least, most = share(after[:-1], before[1:]), share(before[:-1], after[1:])
        told, likely = 1.0 - self.floor.mass, self.floor.likelihood
        wide = likely * (after[1:] - before[:-1])
        inside = np.clip(at(after[1:], mean) - at(before[:-1], mean), 0.0, 1.0)
        surely = np.clip(at(before[1:], mean) - at(after[:-1], mean), 0.0, inside)
        squares = wide**2 + 2.0 * wide * told * inside + told**2 * surely
        noise = np.maximum(wide + told * inside - squares, 0.0) / (self.reports * told**2)
        noise += (1.0 - self._asked) * inside * (1.0 - inside) / self.reports
        names = tuple(zip(edges[:-1] / steps, edges[1:] / steps, strict=True))
        return Shares("frequency", names, values, noise, self.reports, least=least, most=most)


@dataclass(frozen=True, eq=False)
class Shares(Estimate):
    """Shares of cells: what lies between two windows may be on either side of an edge."""

    least: Array = field(default_factory=lambda: np.zeros(0))
    most: Array = field(default_factory=lambda: np.zeros(0))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        reach = quantile(level) * np.sqrt(self.variances)
        low, high = np.minimum(self.least, self._unmoved), np.maximum(self.most, self._unmoved)
        return low - reach, high + reach

    def scaled(self, low: float, high: float) -> Shares:
        """Of the same cells, named by the numbers of that range."""
        span = high - low
        names = tuple(f"{low + span * a:.6g} to {low + span * b:.6g}" for a, b in self.names)
        return replace(self, names=names)


@dataclass(frozen=True, eq=False)
class Together(Estimate):
    """Several estimates from the same reports, each with intervals of its own."""

    parts: tuple[Estimate, ...] = ()

    @classmethod
    def of(cls, quantity: str, parts: Sequence[Estimate]) -> Together:
        """One table of all of them."""
        names = [_named(part, name) for part in parts for name in part.names]
        values, variances = (
            np.concatenate([getattr(part, what) for part in parts])
            for what in ("values", "variances")
        )
        return cls(
            quantity,
            tuple(names),
            values,
            variances,
            parts[0].reports,
            note="; ".join(filter(None, (part.note for part in parts))),
            parts=tuple(parts),
        )

    @property
    def has_frequencies(self) -> bool:
        return any(part.has_frequencies for part in self.parts)

    def on_simplex(self) -> Together:
        return self._each(Estimate.on_simplex)

    def non_negative(self) -> Together:
        return self._each(Estimate.non_negative)

    def _each(self, move: Callable[[Estimate], Estimate]) -> Together:
        parts = [move(part) if part.has_frequencies else part for part in self.parts]
        values = np.concatenate([part.values for part in parts])
        return replace(self, values=values, projected=True, raw=self._unmoved, parts=tuple(parts))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        low, high = zip(*(part.interval(level) for part in self.parts), strict=True)
        return np.concatenate(low), np.concatenate(high)


def _named(part: Estimate, name: object) -> str:
    if part.quantity == "frequency":
        return f"share of {name}"
    return f"{part.quantity} {name}" if part.quantity == "quantile" else part.quantity
