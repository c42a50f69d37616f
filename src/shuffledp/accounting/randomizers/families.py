"""Families of randomizers: one mechanism, a budget of one's own for every user.

A family says how strong a user's report is, which common law omega the reports of others contain
(R_i(x) >= gamma_i omega for every value x), and what one class of users leaks against it. The
larger the strength the weaker the privacy: eps for pure mechanisms, 1/sigma for Gaussian noise.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks
from shuffledp.accounting.randomizers.base import Randomizer, VictimPair
from shuffledp.accounting.randomizers.cells import gaussian_cells, laplace_cells
from shuffledp.accounting.randomizers.channel import Channel
from shuffledp.accounting.randomizers.continuous import Gaussian, Laplace
from shuffledp.accounting.randomizers.finite import KRR
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.accounting.randomizers.swaps import Swap, class_swap, response_swap
from shuffledp.errors import ParameterError
from shuffledp.numerics.normal import cell_masses, erfc
from shuffledp.numerics.rounding import FORMULA, SUMS, Array, down, roundings, up


class Family(ABC):
    """What the personalized accountant asks of a mechanism."""

    name: ClassVar[str]
    pure: ClassVar[bool] = True
    groups: ClassVar[bool] = True
    """Whether neighbouring budgets may be treated together (docs/proofs/personalized.md, 3)."""
    bounded: ClassVar[bool] = True
    """Whether reports of different strengths have bounded likelihood ratios."""
    nested: ClassVar[bool] = False
    """Whether each report is a mixture of reports of any larger strength, of other values."""
    convolved: ClassVar[bool] = False
    """Whether each report is one of any larger strength with more noise added, of any strength."""

    def strengths(self, budgets: Array, deltas: Array | None) -> Array:
        """Strength of each user's report."""
        if deltas is not None:
            raise ParameterError(
                "deltas", f"left out for {self.name}: its budgets are pure", float(deltas[0])
            )
        return budgets

    def pure_epsilon(self, strength: float) -> float:
        """From this epsilon on the user's own randomizer leaks nothing (infinite: never)."""
        return strength

    @abstractmethod
    def member(self, strength: float) -> Randomizer:
        """The randomizer of one user."""

    @abstractmethod
    def references(self, strength: float, others: Array) -> list[float]:
        """Candidate references omega for a victim of this strength."""

    @abstractmethod
    def weights(self, reference: float, others: Array, low: float, high: float) -> Array:
        """gamma_i, rounded down, for victims of strength low to high (equal: one class)."""

    @abstractmethod
    def pairs(self, strength: float, reference: float) -> list[VictimPair]:
        """Candidate worst pairs of a victim against omega."""

    @abstractmethod
    def datasets(self, strength: float, other: float) -> list[VictimPair]:
        """Concrete data sets: all others of one strength and at one value."""

    @abstractmethod
    def reports(self, strengths: Array, place: int) -> Array:
        """Masses of a common set of outcomes for the value at a place: 0, 1 the victim's two,
        2 another."""

    def swaps(self, strengths: Sequence[float], own: int) -> list[Swap]:
        """What the swap bound needs of classes of these strengths, the victim's number ``own``."""
        return []

    places: ClassVar[tuple[str, ...]] = ("all at x", "all at x'", "all at a third value")


def _below(budgets: Array, limit: float) -> Array:
    """The budgets, all below what the masses of reports allow."""
    if float(budgets.max(initial=0.0)) >= limit:
        row = int(np.argmax(budgets))
        condition = f"below {limit:g} (user {row + 1})"
        raise ParameterError("budgets", condition, float(budgets[row]))
    return budgets


def _quantiles(others: Array, most: int) -> list[float]:
    """A few values spread over the others' strengths."""
    if others.size <= most:
        return [float(x) for x in others]
    return [float(x) for x in np.quantile(others, np.linspace(0.0, 1.0, most), method="nearest")]


@dataclass(frozen=True)
class LaplaceFamily(Family):
    """Laplace noise of scale 1 / eps_i on values in [0, 1].

    Examples
    --------
    >>> from shuffledp import LaplaceFamily
    >>> LaplaceFamily().member(0.5).eps0
    0.5
    """

    name: ClassVar[str] = "Laplace noise on [0, 1]"
    bounded: ClassVar[bool] = False
    places: ClassVar[tuple[str, ...]] = ("all at 0", "all at 1", "all at 1/2")
    _points: ClassVar[tuple[float, ...]] = (0.0, 1.0, 0.5)

    def strengths(self, budgets: Array, deltas: Array | None) -> Array:
        return super().strengths(_below(budgets, 100.0), deltas)

    def member(self, strength: float) -> Randomizer:
        return Laplace(eps0=strength)

    def references(self, strength: float, others: Array) -> list[float]:
        # far above the victim's own rate the ratio to omega grows too fast to be of use
        near = others[others <= 1.25 * strength]
        return sorted({strength, 1.1 * strength, 1.25 * strength, *_quantiles(near, 9)})

    def weights(self, reference: float, others: Array, low: float, high: float) -> Array:
        share = others / reference * np.exp(-0.5 * others)
        if low < high:
            near, far = low**-2.0, high**-2.0
            spread = others**-2.0
            with np.errstate(divide="ignore", invalid="ignore"):
                share = share * np.where(others < low, (spread - near) / (spread - far), 0.0)
        return np.where(others <= reference, down(np.clip(share, 0.0, 1.0), FORMULA), 0.0)

    def pairs(self, strength: float, reference: float) -> list[VictimPair]:
        outcomes = laplace_cells(strength, reference, 0.5)
        return [VictimPair("0 against 1", "common blanket", outcomes, symmetric=True)]

    def datasets(self, strength: float, other: float) -> list[VictimPair]:
        return [
            VictimPair("0 against 1", words, laplace_cells(strength, other, point), point == 0.5)
            for words, point in zip(self.places, self._points, strict=True)
            if point != 1.0  # mirrors "all at 0"
        ]

    def reports(self, strengths: Array, place: int) -> Array:
        edges = np.concatenate([np.linspace(-3.0, 0.0, 13), np.linspace(0.0, 1.0, 25)[1:-1]])
        edges = np.concatenate([edges, np.linspace(1.0, 4.0, 13)])
        offset = np.multiply.outer(strengths, edges - self._points[place])
        below = np.where(offset < 0.0, 0.5 * np.exp(-np.abs(offset)), 0.0)
        above = np.where(offset >= 0.0, 0.5 * np.exp(-np.abs(offset)), 0.0)
        left, right = offset[:, :-1], offset[:, 1:]
        inner = np.where(
            right <= 0.0,
            0.5 * np.exp(np.minimum(right, 0.0)) * -np.expm1(left - right),
            0.5 * np.exp(-np.maximum(left, 0.0)) * -np.expm1(left - right),
        )
        straddle = (left < 0.0) & (right > 0.0)
        inner = np.where(straddle, 1.0 - 0.5 * np.exp(left) - 0.5 * np.exp(-right), inner)
        return np.concatenate([below[:, :1], inner, above[:, -1:]], axis=1)


@dataclass(frozen=True)
class KRRFamily(Family):
    """k-ary randomized response: the true value with probability E_i / (E_i + k - 1).

    Parameters
    ----------
    k
        Number of values.

    Examples
    --------
    >>> from shuffledp import KRRFamily
    >>> KRRFamily(4).member(0.5).eps0
    0.5
    """

    k: int
    name: ClassVar[str] = "k-ary randomized response"
    nested: ClassVar[bool] = True

    def __post_init__(self) -> None:
        KRR(self.k, eps0=1.0)

    def strengths(self, budgets: Array, deltas: Array | None) -> Array:
        return super().strengths(_below(budgets, 300.0), deltas)

    def member(self, strength: float) -> Randomizer:
        return KRR(self.k, eps0=strength)

    def references(self, strength: float, others: Array) -> list[float]:
        return [0.0]

    def weights(self, reference: float, others: Array, low: float, high: float) -> Array:
        return down(self.k / (np.exp(others) + (self.k - 1.0)), FORMULA)

    def swaps(self, strengths: Sequence[float], own: int) -> list[Swap]:
        return [response_swap(self.k, strengths, own)]

    def _law(self, strength: float, place: int | None) -> list[float]:
        """Masses of x, x', a third value and the rest."""
        sizes = [1.0, 1.0, 1.0, self.k - 3.0] if self.k > 2 else [1.0, 1.0, 0.0, 0.0]
        if place is None:
            return [size / self.k for size in sizes]
        unit = 1.0 / (math.exp(strength) + self.k - 1.0)
        masses = [size * unit for size in sizes]
        masses[place] *= math.exp(strength)
        return masses

    def pairs(self, strength: float, reference: float) -> list[VictimPair]:
        first, second, omega = (self._law(strength, place) for place in (0, 1, None))
        outcomes = Outcomes.discrete(first, second, omega)
        return [VictimPair("x against x'", "common blanket", outcomes, symmetric=True)]

    def datasets(self, strength: float, other: float) -> list[VictimPair]:
        first, second = self._law(strength, 0), self._law(strength, 1)
        return [
            VictimPair(
                "x against x'",
                self.places[place],
                Outcomes.discrete(first, second, self._law(other, place)),
                symmetric=place == 2,
            )
            for place in ((1, 2) if self.k > 2 else (1,))
        ]

    def reports(self, strengths: Array, place: int) -> Array:
        rows = np.array([self._law(float(s), place) for s in strengths]).reshape(-1, 4)
        return rows[:, :2] if self.k == 2 else rows


@dataclass(frozen=True)
class GaussianFamily(Family):
    """Normal noise on [0, 1], sigma_i = sqrt(2 ln(1.25 / delta_i)) / eps_i.

    The references are at least as noisy as the victim: for those the worst pair is proven.

    Examples
    --------
    >>> from shuffledp import GaussianFamily
    >>> GaussianFamily().name
    'Gaussian noise on [0, 1]'
    """

    name: ClassVar[str] = "Gaussian noise on [0, 1]"
    bounded: ClassVar[bool] = False
    pure: ClassVar[bool] = False
    convolved: ClassVar[bool] = True
    places: ClassVar[tuple[str, ...]] = ("all at 0", "all at 1", "all at 1/2")
    _points: ClassVar[tuple[float, ...]] = (0.0, 1.0, 0.5)

    def strengths(self, budgets: Array, deltas: Array | None) -> Array:
        if deltas is None:
            raise ParameterError("deltas", "given for Gaussian noise (one, or one per user)", None)
        strength = budgets / np.sqrt(2.0 * np.log(1.25 / deltas))
        bad = np.flatnonzero((strength > 30.0) | (strength < 1e-6))
        if bad.size:
            condition = f"such that 1e-6 <= 1/sigma <= 30 (user {bad[0] + 1})"
            raise ParameterError("budgets", condition, float(budgets[bad[0]]))
        return strength

    def pure_epsilon(self, strength: float) -> float:
        return math.inf

    def member(self, strength: float) -> Randomizer:
        return Gaussian(1.0 / strength, 1.0, scalar=True)

    def references(self, strength: float, others: Array) -> list[float]:
        below = others[others < strength]
        return sorted({strength, *_quantiles(below, 9)})

    def weights(self, reference: float, others: Array, low: float, high: float) -> Array:
        tau2 = reference**-2.0
        gamma = math.erfc(0.5 * reference / math.sqrt(2.0))

        def share(variance: Array) -> Array:
            value = np.sqrt(tau2 / variance) * np.exp(0.125 * (1.0 / tau2 - 1.0 / variance))
            return np.where(variance >= tau2, down(gamma * value, FORMULA), 0.0)

        variance = others**-2.0
        least = share(np.maximum(variance - (low**-2.0 - high**-2.0), 1e-300))
        return np.clip(np.minimum(share(up(variance, roundings(90))), least), 0.0, 1.0)

    def pairs(self, strength: float, reference: float) -> list[VictimPair]:
        outcomes = gaussian_cells(1.0 / strength, 1.0 / reference, None)
        return [VictimPair("0 against 1", "common blanket", outcomes, symmetric=True)]

    def datasets(self, strength: float, other: float) -> list[VictimPair]:
        return [
            VictimPair("0 against 1", words, gaussian_cells(1.0 / strength, 1.0 / other, point))
            for words, point in zip(self.places, self._points, strict=True)
            if point != 1.0
        ]

    def reports(self, strengths: Array, place: int) -> Array:
        # one set of outcomes for everybody, whatever the deviation
        half = np.geomspace(0.02, 2000.0, 60)
        edges = 0.5 + np.concatenate([-half[::-1], [0.0], half])
        scaled = np.multiply.outer(strengths, edges - self._points[place]) / math.sqrt(2.0)
        width = np.multiply.outer(strengths, np.diff(edges)) / math.sqrt(2.0)
        inner = cell_masses(scaled[:, :-1], scaled[:, 1:], width)
        ends = 0.5 * erfc(np.stack([-scaled[:, 0], scaled[:, -1]]))
        return np.concatenate([ends[0][:, None], inner, ends[1][:, None]], axis=1)


@dataclass(frozen=True, eq=False)
class ChannelFamily(Family):
    """Any finite mechanism: ``matrix(eps)`` has the law of the report of value x in row x.

    Parameters
    ----------
    matrix
        From a budget to the matrix of the channel.

    Examples
    --------
    >>> import math
    >>> from shuffledp import ChannelFamily
    >>> def response(eps):
    ...     keep = 1.0 / (1.0 + math.exp(-eps))
    ...     return [[keep, 1.0 - keep], [1.0 - keep, keep]]
    >>> family = ChannelFamily(response)
    >>> round(family.member(0.5).eps0, 6)
    0.5
    """

    matrix: Callable[[float], ArrayLike]
    name: ClassVar[str] = "finite channel"
    groups: ClassVar[bool] = False

    def member(self, strength: float) -> Channel:
        channel = Channel(np.asarray(self.matrix(strength), dtype=np.float64))
        if channel.eps0 > up(strength, SUMS):
            raise ParameterError("matrix", f"{strength:g}-LDP at eps = {strength:g}", channel.eps0)
        return channel

    def pure_epsilon(self, strength: float) -> float:
        return max(strength, self.member(strength).eps0)

    def swaps(self, strengths: Sequence[float], own: int) -> list[Swap]:
        channels = [self.member(strength).matrix for strength in strengths]
        if any(float(rows.min()) <= 0.0 for rows in channels):
            return []
        pairs = itertools.combinations(range(len(channels[own])), 2)
        return [class_swap(channels, own, x, y) for x, y in pairs]

    def _floor(self, strength: float) -> Array:
        return np.asarray(self.member(strength).matrix.min(axis=0))

    def references(self, strength: float, others: Array) -> list[float]:
        return sorted({strength, *_quantiles(others, 9)})

    def weights(self, reference: float, others: Array, low: float, high: float) -> Array:
        floor = self._floor(reference)
        omega = floor / floor.sum()
        seen = omega > 0.0
        ratios = [float((self._floor(float(s))[seen] / omega[seen]).min()) for s in others]
        return np.clip(down(np.array(ratios), FORMULA), 0.0, 1.0)

    def pairs(self, strength: float, reference: float) -> list[VictimPair]:
        floor, rows = self._floor(reference), self.member(strength).matrix
        omega = floor / floor.sum()
        return [
            VictimPair(
                f"{x + 1} against {y + 1}",
                "common blanket",
                Outcomes.discrete(rows[x], rows[y], omega),
            )
            for x in range(len(rows))
            for y in range(x + 1, len(rows))
        ]

    def datasets(self, strength: float, other: float) -> list[VictimPair]:
        rows, laws = self.member(strength).matrix, self.member(other).matrix
        return [
            VictimPair(
                f"{x + 1} against {y + 1}",
                f"all at {z + 1}",
                Outcomes.discrete(rows[x], rows[y], law),
            )
            for x in range(len(rows))
            for y in range(x + 1, len(rows))
            for z, law in enumerate(laws)
        ]

    def reports(self, strengths: Array, place: int) -> Array:
        rows = [self.member(float(s)).matrix for s in strengths]
        return np.array([matrix[min(place, len(matrix) - 1)] for matrix in rows])


def family(mechanism: str, k: int | None = None) -> Family:
    """The family of that name, as the command line knows it."""
    if k is not None and mechanism != "krr":
        raise ParameterError("k", f"left out for mechanism {mechanism!r}", k)
    if mechanism == "laplace":
        return LaplaceFamily()
    if mechanism == "gaussian":
        return GaussianFamily()
    if mechanism == "rr":
        return KRRFamily(2)
    if mechanism == "krr":
        if k is None:
            raise ParameterError("k", "given for mechanism 'krr'", None)
        return KRRFamily(checks.count("k", k))
    raise ParameterError(
        "mechanism", "one of laplace, gaussian, rr, krr with a budget per user", mechanism
    )
