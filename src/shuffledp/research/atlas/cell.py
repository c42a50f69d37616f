"""One cell: what every theorem claims at one place, against what a data set leaks there."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from shuffledp.accounting.bounds import Bound, all_bounds, get_theorem
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.protocols import Shuffled
from shuffledp.accounting.protocols.refute import DatasetSearch
from shuffledp.accounting.randomizers import LDP, Repeated, Subsampled
from shuffledp.errors import ConversionError, RegimeError
from shuffledp.labels import Direction, Status, Value
from shuffledp.research.atlas.grid import Point

_ORDER = 4.0
"""Asked of theorems about Rényi divergences only."""
"""Relative width asked of what a data set leaks."""


class Judgement(StrEnum):
    """What a cell says about a theorem."""

    HOLDS = "holds"
    """At least what the worst data set found leaks; this proves nothing."""
    VIOLATED = "violated"
    """Claimed for every data set, and a data set certainly leaks more."""
    ONE_PAIR = "one pair"
    """Speaks of one pair of data sets: nothing to violate in the worst case."""


@dataclass(frozen=True)
class ClaimedValue:
    """One theorem in one cell; ``at`` is the epsilon or the order asked about."""

    theorem: str
    question: str
    at: float
    claimed: float
    leaked: float
    """Certified lower end of what ``dataset`` leaks."""
    dataset: str
    verdict: Judgement

    @property
    def ratio(self) -> float:
        """Claimed over leaked: 1 is perfect, less is below the truth."""
        return self.claimed / self.leaked


@dataclass(frozen=True)
class Cell:
    """All claims at one point; theorems without one are silent there."""

    point: Point
    epsilon: float
    claims: tuple[ClaimedValue, ...]

    def rows(self) -> list[dict[str, Any]]:
        """Flat rows for CSV and JSON."""
        place = {
            "mechanism": self.point.family.title,
            "parameter": self.point.family.parameter,
            "value": self.point.value,
            "n": self.point.n,
        }
        rows = []
        for claim in self.claims:
            theorem = get_theorem(claim.theorem)
            labels = {"status": theorem.status.value, "direction": theorem.direction.value}
            rows.append({**place, **labels, **asdict(claim), "ratio": claim.ratio})
        return rows


def compute(point: Point) -> Cell:
    """Ask every theorem at this point."""
    protocol = point.protocol
    epsilon = _round_down(_leaked_epsilon(protocol, point.leak))
    values = _ask(protocol, all_bounds(), epsilon=epsilon)
    claims = _judge("epsilon", epsilon, values, *_worst_dataset(protocol, epsilon))
    if isinstance(protocol.randomizer, LDP):
        answered = {value.theorem for value in values}
        rest = [bound for bound in all_bounds() if bound.theorem.id not in answered]
        if others := _ask(protocol, rest, order=_ORDER):
            witnesses = _ask(protocol, list(protocol.candidates()[1]), order=_ORDER)
            worst = max(witnesses, key=lambda value: value.value)
            dataset = get_theorem(worst.theorem).statement
            claims += _judge("order", _ORDER, others, worst.value, dataset)
    return Cell(point, epsilon, tuple(claims))


def _ask(protocol: Shuffled, bounds: list[Bound[Curve]], **question: float) -> list[Value]:
    values = []
    for bound in bounds:
        try:
            value = protocol.bound(bound.theorem.id, **question)
        except (RegimeError, ConversionError):
            continue
        if math.isfinite(value.value):
            values.append(value)
    return values


def _worst_dataset(protocol: Shuffled, epsilon: float) -> tuple[float, str]:
    """What the worst of the randomizer's usual data sets leaks, and that data set in words."""
    if isinstance(protocol.randomizer, Repeated | Subsampled):
        return 0.0, ""  # only theorems speak of these
    search = DatasetSearch(protocol.crowd, epsilon)
    search.try_all(protocol.randomizer.datasets())
    return search.delta, search.dataset


def _judge(
    question: str, at: float, values: list[Value], leaked: float, dataset: str
) -> list[ClaimedValue]:
    """Compare all values with the best lower bound among them and the data set searched."""
    for value in values:
        if value.direction is Direction.LOWER and value.value > leaked:
            if value.value > leaked * 1.01:
                dataset = get_theorem(value.theorem).statement
            leaked = value.value
    proven = [value.value for value in values if _is_guarantee(value)]
    if leaked <= 0.0:
        return []
    return [
        ClaimedValue(
            value.theorem,
            question,
            at,
            value.value,
            leaked,
            dataset,
            _verdict(value, leaked, min(proven, default=math.inf)),
        )
        for value in values
    ]


def _is_guarantee(value: Value) -> bool:
    return value.status is Status.PROVEN and value.direction is Direction.UPPER


def _verdict(value: Value, leaked: float, guaranteed: float) -> Judgement:
    if value.direction is Direction.LOWER:
        return Judgement.VIOLATED if value.value > guaranteed else Judgement.HOLDS
    if value.status is Status.FIXED_PAIR:
        return Judgement.ONE_PAIR
    return Judgement.VIOLATED if value.value < leaked else Judgement.HOLDS


def _leaked_epsilon(protocol: Shuffled, delta: float) -> float:
    """The largest epsilon at which a data set is known to leak delta."""
    found = [0.0]
    for witness in protocol.candidates()[1]:
        try:
            found.append(protocol.bound(witness.theorem.id, delta=delta).value)
        except (RegimeError, ConversionError):
            continue
    return max(found)


def _round_down(epsilon: float) -> float:
    """To three digits, so that the epsilon can be read and typed."""
    if epsilon <= 0.0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    return float(f"{math.floor(epsilon / unit) * unit:.3g}")
