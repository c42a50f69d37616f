"""Randomizers of a real value: noise added to a number in an interval.

Between their kinks all log-likelihood ratios are linear in the report, so the real line is cut
into cells whose masses are exact and inside which every ratio lies between its values at the ends.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shuffledp import checks
from shuffledp.accounting.randomizers.base import Randomizer, VictimPair
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.errors import ParameterError, RegimeError
from shuffledp.labels import in_full
from shuffledp.numerics.normal import cell_masses
from shuffledp.numerics.rounding import FORMULA, Array, down, roundings, up

_DEFAULT_SHARES = (0.0, 0.5)
"""Others at 1 mirror others at 0: exchanging the victim's values covers them."""
_CELL = 0.02
"""Change of a log-likelihood ratio across a cell."""
_MOST_CELLS = 4000
_REACH = 13.5
"""Normal tails are cut into cells as far as 1e-41 of them."""
_LEAST_SCALE = 0.05
"""Deviation of normal noise, in lengths of the interval, below which ratios overflow."""


def _cut(kinks: Sequence[float], rate: float) -> Array:
    """Edges between the outermost kinks; no log ratio of slope <= rate moves by more than _CELL."""
    step = max(_CELL / rate, (max(kinks) - min(kinks)) / _MOST_CELLS)
    places = sorted(set(kinks))
    parts = [
        np.linspace(a, b, max(2, 1 + math.ceil((b - a) / step)))[:-1]
        for a, b in itertools.pairwise(places)
    ]
    return np.append(np.concatenate(parts), places[-1])


class AdditiveNoise(Randomizer):
    """Shared by the mechanisms below: inputs are in [0, span]."""

    @property
    def span(self) -> float:
        """Length of the interval of inputs."""
        return 1.0

    @property
    def domain(self) -> tuple[float, float] | None:
        return 0.0, self.span

    @abstractmethod
    def _outcomes(self, others: float | None) -> Outcomes:
        """Victim at the two ends; all others at a share of the interval, or the blanket."""

    def blankets(self) -> list[VictimPair]:
        ends = f"0 against {self.span:g}"
        return [VictimPair(ends, "blanket", self._outcomes(None), symmetric=True)]

    def datasets(self, points: Sequence[float] = ()) -> list[VictimPair]:
        found = []
        for point in points or [share * self.span for share in _DEFAULT_SHARES]:
            if not 0.0 <= point <= self.span:
                raise ParameterError("points", f"numbers in [0, {self.span:g}]", point)
            share = self._placed(point) / self.span
            found.append(
                VictimPair(
                    f"0 against {self.span:g}",
                    f"all at {share * self.span:g}",
                    self._outcomes(share),
                    symmetric=share == 0.5,
                )
            )
        return found

    def _placed(self, point: float) -> float:
        """The input nearest to a point."""
        return point


@dataclass(frozen=True)
class Laplace(AdditiveNoise):
    """A value in [0, 1] plus Laplace noise of scale 1 / eps0.

    Parameters
    ----------
    eps0
        Local budget.

    Examples
    --------
    >>> from shuffledp import Laplace, Shuffled
    >>> round(Shuffled(Laplace(eps0=1.0), n=1000).bound("blanket", delta=1e-6).value, 3)
    0.13
    """

    eps0: float
    pair_argument: ClassVar[str] = "0 against 1 is the worst pair (docs/proofs/laplace_pair.md)"

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "eps0", checks.real("eps0", self.eps0, "a number in (0, 100)", 0.0, 100.0)
        )

    def __str__(self) -> str:
        return f"Laplace noise on [0, 1], eps0 = {self.eps0:g}"

    def _outcomes(self, others: float | None) -> Outcomes:
        rate = self.eps0
        slack = roundings(64.0 + 32.0 * rate)
        edges = _cut([0.0, 1.0, 0.5 if others is None else others], 2.0 * rate)
        centres: list[Callable[[Array], Array]] = [lambda z: np.abs(z), lambda z: np.abs(1.0 - z)]
        if others is None:
            centres.append(lambda z: np.maximum(np.abs(z), np.abs(1.0 - z)))
        else:
            centres.append(lambda z: np.abs(z - others))
        masses, logs = [], []
        for distance in centres:
            log = -rate * distance(edges)
            peak = np.maximum(log[:-1], log[1:])
            inner = np.exp(peak) * -np.expm1(-rate * np.diff(edges)) / 2.0
            masses.append(np.concatenate([[np.exp(log[0]) / 2.0], inner, [np.exp(log[-1]) / 2.0]]))
            logs.append(log)
        low, high = [], []
        for log in logs[:2]:
            ratio = np.exp(log - logs[2])
            ends = np.concatenate([ratio[:1], ratio, ratio[-1:]])
            low.append(np.minimum(ends[:-1], ends[1:]) * (1.0 - slack))
            high.append(np.maximum(ends[:-1], ends[1:]) * (1.0 + slack))
        return Outcomes(
            masses[0],
            masses[1],
            masses[2],
            (low[0], low[1]),
            (high[0], high[1]),
            precision=slack,
            rest=-math.expm1(-0.5 * rate) if others is None else 0.0,
        )


@dataclass(frozen=True)
class TruncatedLaplace(Laplace):
    """Laplace noise on [0, 1], the report clamped to [0, 1].

    For 0 against 1 nothing is lost by clamping, because all ratios are constant outside [0, 1];
    for other pairs clamping is post-processing.

    Parameters
    ----------
    eps0
        Local budget.

    Examples
    --------
    >>> from shuffledp import TruncatedLaplace
    >>> print(TruncatedLaplace(eps0=1.0))
    Laplace noise clamped to [0, 1], eps0 = 1
    """

    def __str__(self) -> str:
        return f"Laplace noise clamped to [0, 1], eps0 = {self.eps0:g}"


@dataclass(frozen=True)
class DiscreteLaplace(AdditiveNoise):
    """A value in {0, 1, ..., levels} plus two-sided geometric noise of ratio exp(-eps0 / levels).

    Parameters
    ----------
    levels
        Largest value.
    eps0
        Local budget.

    Examples
    --------
    >>> from shuffledp import DiscreteLaplace
    >>> print(DiscreteLaplace(8, eps0=1.0))
    discrete Laplace noise on 0..8, eps0 = 1
    """

    levels: int
    eps0: float = field(kw_only=True)
    pair_argument: ClassVar[str] = (
        "0 against the top is the worst pair (docs/proofs/laplace_pair.md)"
    )

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "eps0", checks.real("eps0", self.eps0, "a number in (0, 100)", 0.0, 100.0)
        )
        if checks.store_size(self, "levels", 1) > 20000:
            raise ParameterError("levels", "an integer from 1 to 20000", self.levels)

    def __str__(self) -> str:
        return f"discrete Laplace noise on 0..{self.levels}, eps0 = {self.eps0:g}"

    @property
    def span(self) -> float:
        return float(self.levels)

    def _placed(self, point: float) -> float:
        return float(round(point))

    def _outcomes(self, others: float | None) -> Outcomes:
        z = np.arange(self.levels + 1.0)
        rate = self.eps0 / self.levels
        distances = [z, self.levels - z]
        if others is None:
            distances.append(np.maximum(z, self.levels - z))
        else:
            distances.append(np.abs(z - round(others * self.levels)))
        outside = -1.0 / math.expm1(-rate)  # the end cells hold all reports beyond them
        weight = np.full_like(z, -math.expm1(-rate) / (1.0 + math.exp(-rate)))
        weight[0] *= outside
        weight[-1] *= outside
        first, second, base = (weight * np.exp(-rate * distance) for distance in distances)
        rest = 0.0
        if others is None:  # the sum of first - base
            rest = math.fsum(first * -np.expm1(-rate * (distances[2] - distances[0])))
        return Outcomes(
            first, second, base, precision=roundings(64.0 + 32.0 * self.eps0), rest=rest
        )


@dataclass(frozen=True)
class Gaussian(AdditiveNoise):
    """A value plus normal noise. There is no pure local budget.

    Parameters
    ----------
    sigma
        Deviation of the noise.
    sensitivity
        Largest distance of two values. If nothing else is said, values are points of any dimension
        of which no two are farther apart.
    scalar
        Whether values are numbers in an interval of that length.
    ball
        Whether values lie in a ball of that diameter, as vectors clipped to a norm do, which hides
        them better: the sensitivity is twice the norm, 2 for the unit ball.

    Examples
    --------
    >>> from shuffledp import Gaussian, Shuffled
    >>> protocol = Shuffled(Gaussian(sigma=2.0, ball=True), n=10_000)
    >>> print(protocol.epsilon(delta=1e-6))
    epsilon in [0.0458..., 0.0484...] (PROVEN by swap-gaussian; leaked by shuffle-gaussian)
    """

    sigma: float
    sensitivity: float = 2.0
    scalar: bool = False
    ball: bool = field(default=False, metadata={"described": "where it is true"})
    pair_argument: ClassVar[str] = (
        "on a line the two ends are the worst pair (docs/proofs/gaussian_pair.md)"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", checks.positive("sigma", self.sigma))
        object.__setattr__(self, "sensitivity", checks.positive("sensitivity", self.sensitivity))
        if not 1e-4 <= self.sigma / self.sensitivity <= 1e6:
            raise ParameterError("sigma", "between 1e-4 and 1e6 times the sensitivity", self.sigma)
        if self.scalar and self.ball:
            raise ParameterError("ball", "left out for numbers (scalar)", self.ball)

    @property
    def eps0(self) -> float:  # type: ignore[override]
        return math.inf

    @property
    def space(self) -> str:
        """Where values lie: in a "set" of that diameter, in a "ball" or on a "line"."""
        return "line" if self.scalar else "ball" if self.ball else "set"

    def __str__(self) -> str:
        noise = f"Gaussian noise, sigma = {in_full(self.sigma)}, sensitivity {self.sensitivity:g}"
        return noise + {"set": "", "ball": ", in a ball", "line": ", on a line"}[self.space]

    def blankets(self) -> list[VictimPair]:
        if not self.scalar:
            raise RegimeError("numbers in an interval (scalar=True)", str(self))
        return super().blankets()

    @property
    def span(self) -> float:
        return self.sensitivity

    def _outcomes(self, others: float | None) -> Outcomes:
        scale = self.sigma / self.sensitivity
        if scale < _LEAST_SCALE:
            if others is None:
                raise RegimeError("sigma >= 0.05 times the sensitivity", self.sigma)
            scale = _LEAST_SCALE  # adding noise to each report is post-processing: it leaks less
        reach = _REACH * scale
        edges = _cut([-reach, 0.0, 0.5, 1.0, 1.0 + reach], _gaussian_rate(scale))

        def masses(centre: Array | float) -> Array:
            left, right, width = (
                x / scale / math.sqrt(2.0)
                for x in (edges[:-1] - centre, edges[1:] - centre, np.diff(edges))
            )
            inner = cell_masses(left, right, width)
            ends = [
                0.5 * math.erfc((c - x) / scale / math.sqrt(2.0)) for c, x in _outer(edges, centre)
            ]
            return np.concatenate([ends[:1], inner, ends[1:]])

        middle = 0.5 * (edges[:-1] + edges[1:])
        if others is None:
            base = masses(np.where(middle < 0.5, 1.0, 0.0))
            base_log = -(np.maximum(np.abs(edges), np.abs(1.0 - edges)) ** 2)
        else:
            base, base_log = masses(others), -((edges - others) ** 2)
        low, high = [], []
        for centre in (0.0, 1.0):
            ratio = np.exp((-((edges - centre) ** 2) - base_log) / (2.0 * scale**2))
            low.append(
                np.concatenate([[0.0], down(np.minimum(ratio[:-1], ratio[1:]), FORMULA), [0.0]])
            )
            top = up(np.maximum(ratio[:-1], ratio[1:]), FORMULA)
            high.append(np.concatenate([[math.inf], top, [math.inf]]))
        return Outcomes(
            masses(0.0),
            masses(1.0),
            base,
            (low[0], low[1]),
            (high[0], high[1]),
            precision=_cell_error(edges, scale),
            rest=math.erf(0.5 / scale / math.sqrt(2.0)) if others is None else 0.0,
        )


def _gaussian_rate(scale: float) -> float:
    """Slope of the log ratios, or more: cells shorter than the noise, too, as they add variance."""
    return max(1.0 / scale**2, _CELL / (0.05 * scale))


def _outer(edges: Array, centre: Array | float) -> list[tuple[float, float]]:
    """(centre, edge) of the two end cells, mirrored so that both are upper tails."""
    left = float(np.asarray(centre).flat[0])
    right = float(np.asarray(centre).flat[-1])
    return [(left, float(edges[0])), (-right, -float(edges[-1]))]


def _cell_error(edges: Array, scale: float) -> float:
    """Relative error of the cell masses: what a difference of two tails loses."""
    return FORMULA + roundings(512.0 * scale) / float(np.diff(edges).min())
